// SPDX-License-Identifier: Apache-2.0
// Slice handling of Agent: applies phases to the array, releases and sends slices, opens tasks.
#include <algorithm>
#include <cstring>

#include "frames/stream.h"
#include "hosts/agent.h"
#include "hosts/reduction/reduce.h"

namespace railyard::hosts {

namespace {

// Total size of all arrays above which they do not stay in the caches of a processor core.
constexpr std::size_t kCachedBytes = 16 << 20;

}  // namespace

// Apply a slice's next phases, in order, while all their contributions have arrived.
void Agent::settle(std::uint32_t index, Time now) {
    if (reducer_) return reducer_->settle(index, now);
    SliceState& slice = slices_[index];
    const auto& phases = plan_of(index).phases;
    while (slice.applied < phases.size()) {
        const Phase& phase = phases[slice.applied];
        std::uint32_t& link = held_.link_to(slice.held, slice.applied);
        if (link == 0 || held_.at(link).count < phase.sources.size()) return;
        if (progress_ && !progress_->open(phase.task)) {
            progress_->hold(phase.task, index);
            return;
        }
        if (slice.unsent > 0) {
            slice.blocked = true;
            return;
        }
        held_.take(link, [&](const std::vector<FrameHandle>& frames) { apply(index, phase, frames, now); });
    }
}

// Apply a phase to a slice; frames[i] is the contribution of phase.sources[i].
void Agent::apply(std::uint32_t index, const Phase& phase, std::span<const FrameHandle> frames, Time now) {
    const std::uint32_t size = table_.size[index];
    payloads_.keep(index);
    std::uint8_t* const own = payloads_.array() + table_.offset[index];
    if (phase.op == kCopy) {
        if (array_bytes.load(std::memory_order_relaxed) > kCachedBytes)
            frames::stream(own, content(*frames[0]), size);
        else std::memcpy(own, content(*frames[0]), size);
    } else {
        // Terms in rank order; this rank's own elements take the rank's position.
        terms_.clear();
        for (std::size_t i = 0; i < phase.sources.size(); ++i) {
            if (terms_.size() == i && phase.sources[i] > rank_->rank) terms_.push_back(own);
            terms_.push_back(content(*frames[i]));
        }
        if (terms_.size() == phase.sources.size()) terms_.push_back(own);
        combine_in_order(own, terms_, size, rank_->dtype, phase.op, room_);
    }
    finish(index, phase, now);
}

// Complete a phase whose result is in the array: release sends and count its task.
void Agent::finish(std::uint32_t index, const Phase& phase, Time now) {
    SliceState& slice = slices_[index];
    ASSERT(slice.unsent == 0 && open_ > 0);  // a phase overwrites the slice only after its sends have left
    ++slice.applied;
    ASSERT(slice.applied <= plan_of(index).phases.size());
    release(index, slice.applied);
    if (barrier_)
        for (const auto& [freed, send] : barrier_->arrived(phase.step)) enqueue(freed, send);
    if (progress_) progress_->slice_done(phase.task, now);
    if (--open_ == 0 && !computing()) finished_ = now;
}

void Agent::release(std::uint32_t index, std::uint32_t applied) {
    const std::vector<std::uint32_t>& sends = plan_of(index).releases[applied];
    slices_[index].unsent += static_cast<std::uint32_t>(sends.size());
    if (sends.empty() || !reducer_ || !reducer_->stages(index, applied)) release_by(index, sends);
}

void Agent::release_by(std::uint32_t index, const std::vector<std::uint32_t>& sends) {
    for (const std::uint32_t send : sends) {
        const std::uint32_t task = plan_.sends[send].task;
        if (progress_ && !progress_->open(task)) progress_->hold(task, index);
        else if (!barrier_ || !barrier_->hold(plan_.sends[send].step, {index, send})) enqueue(index, send);
    }
}

void Agent::enqueue(std::uint32_t index, std::uint32_t send) {
    SendQueue& queue = queues_[send];
    if (plan_.sends[send].peer == kNone) {
        local_.push_back({index, send});
        return;
    }
    Peer& peer = *peers_[plan_.sends[send].peer];
    if (queue.slices.empty()) peer.active.push_back(&queue);
    queue.slices.push_back(index);
    peer.add_ready(Bytes(kDataHeaderBytes + table_.size[index]));
    if (!peer.waiting && peer.pick() != nullptr) {
        peer.waiting = true;
        ready_.push_back(&peer);
    }
}

// Send ready slices and open due tasks until nothing more can be sent or opened.
void Agent::work(Time now, Actions& actions) {
    if (!progress_) {
        if (!ready_.empty()) pump(now, actions);
        return;
    }
    while (true) {
        while (const auto task = progress_->next_due(now)) {
            const std::uint32_t send = send_of_[*task];
            for (const std::uint32_t index : progress_->release(*task)) {
                if (send == kNone) settle(index, now);
                else enqueue(index, send);
            }
        }
        if (ready_.empty() && local_.empty()) break;
        pump(now, actions);
        while (!local_.empty()) {
            const auto [index, send] = local_.pop_front();
            copy(index, send, now, actions.pool);
        }
    }
    if (!finished_ && open_ == 0 && !computing()) finished_ = now;
    deadline_ = std::min(deadline_, progress_->deadline());
}

// Copy a slice to another offset of the array: a send of the rank to itself, without a network.
void Agent::copy(std::uint32_t index, std::uint32_t send, Time now, FramePool& pool) {
    const Send& what = plan_.sends[send];
    const std::uint64_t start = table_.offset[index];
    FrameHandle frame = pool.acquire(kDataHeaderBytes + table_.size[index]);
    std::memcpy(frame->data() + kDataHeaderBytes, payloads_.array() + start, table_.size[index]);
    const std::uint32_t target = table_.find(start + static_cast<std::uint64_t>(what.shift));
    const std::uint32_t place = plan_of(target).phase_at(what.step, slices_[target].applied);
    ASSERT(place != kNone);
    HeldPhase& waiting = held_.of(slices_[target].held, place, 1);
    waiting.frames[0] = std::move(frame);
    waiting.count = 1;
    --queues_[send].left;
    left(index, send, now);
    settle(target, now);
}

// Count a slice as sent; apply its next phases if they waited for this.
void Agent::left(std::uint32_t index, std::uint32_t send, Time now) {
    SliceState& slice = slices_[index];
    ASSERT(slice.unsent > 0);
    --slice.unsent;
    if (progress_) progress_->slice_done(plan_.sends[send].task, now);
    if (slice.unsent == 0 && slice.blocked) {
        slice.blocked = false;
        settle(index, now);
    }
}

// Send a frame to each peer in turn, until no peer has both a frame and room in its window. The queue with
// the fewest slices left goes first, so that short later steps, which other ranks wait for, pass the long
// first step, and equal steps of a ring go in order.
void Agent::pump(Time now, Actions& actions) {
    while (!ready_.empty()) {
        Peer& peer = *ready_.pop_front();
        Sender* const sender = peer.pick();
        if (sender == nullptr) {
            peer.waiting = false;
            continue;
        }
        const auto first =
            std::min_element(peer.active.begin(), peer.active.end(),
                             [](const SendQueue* a, const SendQueue* b) { return a->left < b->left; });
        SendQueue& queue = **first;
        const std::uint32_t index = queue.slices.pop_front();
        ASSERT(queue.left > 0 && peer.left > 0);
        --queue.left;
        --peer.left;
        peer.add_ready(-Bytes(kDataHeaderBytes + table_.size[index]));
        if (queue.slices.empty()) peer.active.erase(first);
        const Send& send = plan_.sends[queue.send];
        const auto start = static_cast<std::uint32_t>(table_.offset[index]);
        const Message message{.op = send.op,
                              .step = send.step,
                              .chunk = static_cast<std::uint16_t>(table_.cell[index]),
                              .offset = static_cast<std::uint32_t>(start + send.shift),
                              .size = table_.size[index]};
        sender->send(message, index, start, peer.left == 0, now, actions);
        peer.message_sent();
        if (reducer_) reducer_->sent(index);
        expect(peer, sender->due());
        if (!peer.active.empty()) ready_.push_back(&peer);
        else peer.waiting = false;
        left(index, queue.send, now);
    }
}

}  // namespace railyard::hosts
