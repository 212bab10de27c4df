// SPDX-License-Identifier: Apache-2.0
#include "hosts/agent.h"

#include <algorithm>
#include <cstring>

#include "hosts/reduce.h"

namespace railyard {

AgentStats& AgentStats::operator+=(const AgentStats& other) {
    sent += other.sent;
    retransmitted += other.retransmitted;
    received += other.received;
    duplicates += other.duplicates;
    acks_sent += other.acks_sent;
    acks_received += other.acks_received;
    rtt = std::max(rtt, other.rtt);
    for (const auto& [word, count] : other.junk) junk[word] += count;
    return *this;
}

Agent::Agent(std::shared_ptr<const Rank> rank, std::shared_ptr<Bytes> data, std::uint16_t job,
             const TransportParameters& parameters, std::shared_ptr<ReductionUnit> unit)
    : rank_(std::move(rank)),
      table_(*rank_->table),
      parameters_(parameters),
      payloads_(std::move(data), table_.offset.size()),
      job_(job),
      slices_(table_.offset.size()),
      unit_(std::move(unit)),
      open_(rank_->plan->phases) {
    const RankPlan& plan = *rank_->plan;
    if (unit_)
        reducer_.emplace(
            unit_,
            Reducer::Agent{
                .rank = rank_->rank,
                .dtype = rank_->dtype,
                .table = table_,
                .plan = plan,
                .payloads = payloads_,
                .slices = slices_,
                .finish = [this](std::uint32_t index, const Phase& phase,
                                 Time now) { finish(index, phase, now); },
                .leave = [this](std::uint32_t index) { leave_by(index, plan_of(index).releases[0]); }});
    const Peer::Pair own{rank_->address, rank_->rank, rank_->ranks, job, rank_->dtype};
    for (const PeerSpec& spec : rank_->peers) {
        peers_.push_back(std::make_unique<Peer>(spec, own, parameters_, trips_, payloads_));
        by_address_[spec.address] = peers_.back().get();
    }
    queues_.resize(plan.sends.size());
    for (std::size_t send = 0; send < queues_.size(); ++send) {
        queues_[send].send = static_cast<std::uint32_t>(send);
        queues_[send].left = plan.leaving[send];
        const std::uint32_t peer = plan.sends[send].peer;
        if (peer != kNone) peers_[peer]->left += plan.leaving[send];
    }
    if (rank_->tasks && !rank_->tasks->empty()) {
        progress_.emplace(rank_->tasks);
        send_of_.assign(rank_->tasks->size(), kNone);
        for (std::uint32_t send = 0; send < plan.sends.size(); ++send) send_of_[plan.sends[send].task] = send;
    }
    if (!rank_->overlap) gate_.emplace(plan.due);
    for (const std::uint32_t slice : table_.order) release(slice, 0);
    ready_.clear();
    for (const auto& peer : peers_)
        if (peer->waiting) ready_.push_back(peer.get());
}

const CellPlan& Agent::plan_of(std::uint32_t index) const {
    return rank_->plan->plans[rank_->plan->of_cell[table_.cell[index]]];
}

bool Agent::done() const {
    return finished_ && std::all_of(peers_.begin(), peers_.end(), [](const auto& peer) {
               return peer->left == 0 &&
                      std::all_of(peer->senders.begin(), peer->senders.end(),
                                  [](const auto& sender) { return sender->in_flight() == 0; });
           });
}

std::uint32_t Agent::longest() const {
    std::uint32_t most = 0;
    for (const auto& peer : peers_) most = std::max(most, peer->left);
    return most;
}

AgentStats Agent::stats() const {
    AgentStats stats;
    stats.junk = junk_;
    for (const auto& peer : peers_) {
        for (const auto& sender : peer->senders) {
            stats.sent += sender->sent;
            stats.retransmitted += sender->retransmitted;
            stats.acks_received += sender->acks;
            stats.rtt = std::max(stats.rtt, sender->rtt);
        }
        for (const Receiver& receiver : peer->receivers) {
            stats.received += receiver.received;
            stats.duplicates += receiver.duplicates;
            stats.acks_sent += receiver.acks;
        }
    }
    return stats;
}

void Agent::answer_deadline(Answer& answer) const {
    answer.deadline.reset();
    if (deadline_ != kNever) answer.deadline = deadline_;
}

void Agent::tell() {
    if (!on_done || !done()) return;
    const std::function<void()> call = std::exchange(on_done, nullptr);
    call();
}

// Frames that arrive before are taken and acknowledged, but no data leave.
void Agent::start(Time now, Answer& answer) {
    started_ = true;
    if (progress_) progress_->start(now);
    if (open_ == 0 && !computing()) finished_ = now;
    if (reducer_) {
        reducer_->begin(now, answer.pool);
        deadline_ = std::min(deadline_, reducer_->due());
    }
    work(now, answer);
    tell();
    answer_deadline(answer);
}

void Agent::ask(std::uint16_t address, BucketSet silent) const {
    if (silent != 0 && on_silence) on_silence(address, silent);
}

void Agent::leave() {
    on_done = nullptr;
    on_silence = nullptr;
    for (const auto& peer : peers_)
        for (const auto& sender : peer->senders) sender->leave();
    held_.clear();
    free_held_.clear();
    for (SliceState& slice : slices_) slice.held = 0;
    if (reducer_) reducer_->leave();
}

void Agent::on_frame(FrameHandle frame, Time now, Answer& answer) {
    answer.deadline.reset();
    if (failed_) return;
    Fields fields;
    if (const char* junk = scan(frame->data(), frame->length, fields); junk != nullptr) {
        ++junk_[junk];
        return answer_deadline(answer);
    }
    const auto entry = by_address_.find(fields.scna);
    Peer* const peer = entry == by_address_.end() || fields.dcna != rank_->address ? nullptr : entry->second;
    const auto number = peer == nullptr ? std::nullopt : peer->number(fields);
    if (!number) ++junk_["connection"];
    else if (fields.opcode == kOpcodeData) on_data(*peer, *number, fields, std::move(frame), now, answer);
    else on_ack(*peer, *number, fields, now, answer);
    if (started_) work(now, answer);
    if (reducer_) deadline_ = std::min(deadline_, reducer_->due());
    if (finished_) tell();
    answer_deadline(answer);
}

void Agent::on_ack(Peer& peer, std::size_t number, const Fields& fields, Time now, Answer& answer) {
    Sender& sender = *peer.senders[number];
    const bool measured = trips_.peak != 0;
    const bool moved = sender.on_ack(fields.psn, fields.sack, now, fields.flags);
    sender.resend_lost(now, answer);
    if (!measured && trips_.peak != 0) {
        // Timers that were set before the first measured round trip are too long.
        for (const auto& other : peers_)
            for (const auto& each : other->senders) {
                each->rearm(now);
                deadline_ = std::min(deadline_, each->timer);
            }
    }
    if (moved && !peer.active.empty() && !peer.waiting) {
        peer.waiting = true;
        ready_.push_back(&peer);
    }
    deadline_ = std::min(deadline_, sender.timer);  // the backoff has ended
}

void Agent::on_reroute(const Routes& routes, Time now, Answer& answer) {
    answer.deadline.reset();
    if (failed_) return;
    for (const auto& [address, buckets] : routes) {
        const auto entry = by_address_.find(address);
        if (entry == by_address_.end()) continue;
        for (const auto& sender : entry->second->senders) {
            sender->on_reroute(buckets, now, answer);
            deadline_ = std::min(deadline_, sender->timer);
        }
        for (Receiver& receiver : entry->second->receivers)
            if (receiver.last_by(buckets)) receiver.acknowledge(now, answer);
    }
    answer_deadline(answer);
}

void Agent::on_timer(Time now, Answer& answer) {
    answer.deadline.reset();
    if (failed_) return;
    const std::size_t before = answer.departures.size();
    Time deadline = kNever;
    if (reducer_) {
        reducer_->run(now, answer.pool);
        if (!ready_.empty() && started_) pump(now, answer);
        deadline = reducer_->due();
    }
    for (const auto& peer : peers_) {
        for (Receiver& receiver : peer->receivers) {
            if (receiver.ack_at <= now) receiver.acknowledge(now, answer);
            deadline = std::min(deadline, receiver.ack_at);
        }
        for (const auto& sender : peer->senders) {
            if (sender->timer <= now) {
                sender->on_timeout(now, answer);
                if (sender->failed_psn) {
                    failed_ = Failure{peer->rank(), *sender->failed_psn, now};
                    deadline_ = kNever;
                    answer.departures.resize(before);  // an agent that has failed sends nothing more
                    return;
                }
                ask(peer->address(), sender->silent_buckets());
            }
            deadline = std::min(deadline, sender->timer);
        }
    }
    deadline_ = deadline;
    if (progress_ && started_) work(now, answer);
    if ((progress_ || reducer_) && finished_) tell();
    answer_deadline(answer);
}

void Agent::on_data(Peer& peer, std::size_t number, const Fields& fields, FrameHandle frame, Time now,
                    Answer& answer) {
    if (fields.job != job_ || fields.dtype != rank_->dtype) {
        ++junk_["job"];
        return;
    }
    const auto entry = table_.at.find(fields.offset);
    if (entry == table_.at.end() || table_.size[entry->second] != fields.length) {
        ++junk_["range"];
        return;
    }
    const std::uint32_t index = entry->second;
    const auto& phases = plan_of(index).phases;
    const auto phase = std::lower_bound(phases.begin(), phases.end(), fields.step,
                                        [](const Phase& a, std::uint16_t step) { return a.step < step; });
    const bool expected = phase != phases.end() && phase->step == fields.step && phase->op == fields.op;
    const std::vector<std::uint32_t> none;
    const auto& sources = expected ? phase->sources : none;
    const auto source = std::lower_bound(sources.begin(), sources.end(), peer.rank());
    if (source == sources.end() || *source != peer.rank()) {
        ++junk_["unexpected"];
        return;
    }
    Receiver& receiver = peer.receivers[number];
    const Receiver::Accepted accepted = receiver.accept(fields.psn, fields.flags, now);
    if (accepted == Receiver::Accepted::Beyond) {
        ++junk_["psn"];
        return;
    }
    if (accepted == Receiver::Accepted::New) {
        const auto place = static_cast<std::uint32_t>(phase - phases.begin());
        const SliceState& slice = slices_[index];
        if (reducer_) {
            reducer_->take(index, place, static_cast<std::uint32_t>(source - sources.begin()),
                           std::move(frame), now, answer.pool);
        } else if (sources.size() == 1 && slice.applied == place && slice.unsent == 0 &&
                   (!progress_ || progress_->open(phase->task))) {
            apply(index, *phase, {&frame, 1}, now, answer.pool);
            settle(index, now, answer.pool);
        } else {
            HeldPhase& waiting = held(index, place, sources.size());
            FrameHandle& own = waiting.frames[static_cast<std::size_t>(source - sources.begin())];
            waiting.count += own == nullptr;
            own = std::move(frame);
            if (waiting.count == sources.size()) settle(index, now, answer.pool);
        }
    } else {
        ask(peer.address(), receiver.silent_buckets());
    }
    if (receiver.ack_at <= now) receiver.acknowledge(now, answer);
    else deadline_ = std::min(deadline_, receiver.ack_at);
}

Agent::HeldPhase& Agent::held(std::uint32_t index, std::uint32_t place, std::size_t sources) {
    for (std::uint32_t at = slices_[index].held; at != 0; at = held_[at - 1].next)
        if (held_[at - 1].place == place) return held_[at - 1];
    if (free_held_.empty()) {
        held_.emplace_back();
        free_held_.push_back(static_cast<std::uint32_t>(held_.size()));
    }
    const std::uint32_t at = free_held_.back();
    free_held_.pop_back();
    HeldPhase& phase = held_[at - 1];
    phase.place = place;
    phase.count = 0;
    phase.frames.resize(sources);
    phase.next = std::exchange(slices_[index].held, at);
    return phase;
}

// Apply a slice's next phases, in order, while all their contributions have arrived.
void Agent::settle(std::uint32_t index, Time now, FramePool& pool) {
    if (reducer_) return reducer_->settle(index, now, pool);
    SliceState& slice = slices_[index];
    const auto& phases = plan_of(index).phases;
    while (slice.applied < phases.size()) {
        const Phase& phase = phases[slice.applied];
        std::uint32_t* link = &slice.held;
        while (*link != 0 && held_[*link - 1].place != slice.applied) link = &held_[*link - 1].next;
        if (*link == 0 || held_[*link - 1].count < phase.sources.size()) return;
        if (progress_ && !progress_->open(phase.task)) {
            progress_->hold(phase.task, index);
            return;
        }
        if (slice.unsent > 0) {
            slice.blocked = true;
            return;
        }
        const std::uint32_t at = *link;
        *link = held_[at - 1].next;
        std::vector<FrameHandle> frames = std::move(held_[at - 1].frames);
        apply(index, phase, frames, now, pool);
        frames.clear();
        held_[at - 1].frames = std::move(frames);  // its memory is for reuse
        free_held_.push_back(at);
    }
}

// `frames` are the contributions, by place of their source.
void Agent::apply(std::uint32_t index, const Phase& phase, std::span<const FrameHandle> frames, Time now,
                  FramePool& pool) {
    const std::uint32_t size = table_.size[index];
    payloads_.keep(index, pool);
    std::uint8_t* const own = payloads_.array() + table_.offset[index];
    const auto payload = [](const FrameHandle& frame) { return frame->data() + kDataHeaderBytes; };
    if (phase.op == kCopy) {
        std::memcpy(own, payload(frames[0]), size);
    } else {
        // In rank order, with the own elements at the place of this rank.
        terms_.clear();
        for (std::size_t i = 0; i < phase.sources.size(); ++i) {
            if (terms_.size() == i && phase.sources[i] > rank_->rank) terms_.push_back(own);
            terms_.push_back(payload(frames[i]));
        }
        if (terms_.size() == phase.sources.size()) terms_.push_back(own);
        add_in_order(own, terms_, size, rank_->dtype, room_);
    }
    finish(index, phase, now);
}

// Go on after a phase whose result is in the array.
void Agent::finish(std::uint32_t index, const Phase& phase, Time now) {
    SliceState& slice = slices_[index];
    ++slice.applied;
    release(index, slice.applied);
    if (gate_)
        for (const auto& [freed, send] : gate_->arrived(phase.step)) enqueue(freed, send);
    if (progress_) progress_->slice_done(phase.task, now);
    if (--open_ == 0 && !computing()) finished_ = now;
}

void Agent::release(std::uint32_t index, std::uint32_t applied) {
    const std::vector<std::uint32_t>& sends = plan_of(index).releases[applied];
    slices_[index].unsent += static_cast<std::uint32_t>(sends.size());
    if (sends.empty() || !reducer_ || !reducer_->stages(index, applied)) leave_by(index, sends);
}

void Agent::leave_by(std::uint32_t index, const std::vector<std::uint32_t>& sends) {
    for (const std::uint32_t send : sends) {
        const std::uint32_t task = rank_->plan->sends[send].task;
        if (progress_ && !progress_->open(task)) progress_->hold(task, index);
        else if (!gate_ || !gate_->hold(rank_->plan->sends[send].step, {index, send})) enqueue(index, send);
    }
}

void Agent::enqueue(std::uint32_t index, std::uint32_t send) {
    SendQueue& queue = queues_[send];
    if (rank_->plan->sends[send].peer == kNone) {
        local_.push_back({index, send});
        return;
    }
    Peer& peer = *peers_[rank_->plan->sends[send].peer];
    if (queue.slices.empty()) peer.active.push_back(&queue);
    queue.slices.push_back(index);
    if (!peer.waiting && peer.pick() != nullptr) {
        peer.waiting = true;
        ready_.push_back(&peer);
    }
}

// Send what can be sent, and open the tasks that are due, until neither changes anything.
void Agent::work(Time now, Answer& answer) {
    if (!progress_) {
        if (!ready_.empty()) pump(now, answer);
        return;
    }
    while (true) {
        while (const auto task = progress_->next_due(now)) {
            const std::uint32_t send = send_of_[*task];
            for (const std::uint32_t index : progress_->release(*task)) {
                if (send == kNone) settle(index, now, answer.pool);
                else enqueue(index, send);
            }
        }
        if (ready_.empty() && local_.empty()) break;
        pump(now, answer);
        while (!local_.empty()) {
            const auto [index, send] = local_.pop_front();
            copy(index, send, now, answer.pool);
        }
    }
    if (!finished_ && open_ == 0 && !computing()) finished_ = now;
    deadline_ = std::min(deadline_, progress_->deadline());
}

// Carry a slice to another place in the array, as a frame to the rank itself would.
void Agent::copy(std::uint32_t index, std::uint32_t send, Time now, FramePool& pool) {
    const Send& what = rank_->plan->sends[send];
    const std::uint64_t start = table_.offset[index];
    FrameHandle frame = pool.acquire(kDataHeaderBytes + table_.size[index]);
    std::memcpy(frame->data() + kDataHeaderBytes, payloads_.array() + start, table_.size[index]);
    const std::uint32_t target = table_.at.at(start + static_cast<std::uint64_t>(what.shift));
    const auto& phases = plan_of(target).phases;
    const auto phase = std::lower_bound(phases.begin(), phases.end(), what.step,
                                        [](const Phase& a, std::uint16_t step) { return a.step < step; });
    HeldPhase& waiting = held(target, static_cast<std::uint32_t>(phase - phases.begin()), 1);
    waiting.frames[0] = std::move(frame);
    waiting.count = 1;
    --queues_[send].left;
    left(index, send, now, pool);
    settle(target, now, pool);
}

// A slice has left by a send.
void Agent::left(std::uint32_t index, std::uint32_t send, Time now, FramePool& pool) {
    SliceState& slice = slices_[index];
    --slice.unsent;
    if (progress_) progress_->slice_done(rank_->plan->sends[send].task, now);
    if (slice.unsent == 0 && slice.blocked) {
        slice.blocked = false;
        settle(index, now, pool);
    }
}

std::vector<Progress::Span> Agent::times() const {
    return progress_ ? progress_->times() : std::vector<Progress::Span>{};
}

// Send a frame to each peer in turn, until no peer has both a frame and room in its window. The queue with
// the fewest slices left goes first, so that short later steps, which other ranks wait for, pass the long
// first step, and equal steps of a ring go in order.
void Agent::pump(Time now, Answer& answer) {
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
        --queue.left;
        --peer.left;
        if (queue.slices.empty()) peer.active.erase(first);
        const Send& send = rank_->plan->sends[queue.send];
        const auto start = static_cast<std::uint32_t>(table_.offset[index]);
        const Message message{.op = send.op,
                              .step = send.step,
                              .chunk = static_cast<std::uint16_t>(table_.cell[index]),
                              .offset = static_cast<std::uint32_t>(start + send.shift),
                              .size = table_.size[index]};
        sender->send(message, index, start, peer.left == 0, now, answer);
        peer.message_sent();
        if (reducer_) reducer_->sent(index);
        deadline_ = std::min(deadline_, sender->timer);
        if (!peer.active.empty()) ready_.push_back(&peer);
        else peer.waiting = false;
        left(index, queue.send, now, answer.pool);
    }
}

}  // namespace railyard
