// SPDX-License-Identifier: Apache-2.0
#include "network/network.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace railyard {

Network::Network() { partitions_.push_back(std::make_unique<Partition>(0, pool_, shares_, sequence_)); }

Network::~Network() {
    thread_pool_.reset();
    channels_.clear();
    crossings_.clear();
    for (const Host& host : hosts_)
        if (host.station) host.station->leave();  // its frames belong to this network's pool
}

Index<Switch> Network::add_switch(const std::string& name, std::uint32_t cpu_port, std::uint32_t partition) {
    if (partition >= kMostPartitions)
        throw std::invalid_argument("switch " + name + ": partition " + std::to_string(partition) +
                                    " is not below " + std::to_string(kMostPartitions));
    if (partition >= partitions_.size() && sequence_ > 1)
        throw std::invalid_argument("switch " + name + ": partition " + std::to_string(partition) +
                                    " is new, and the network has run");
    while (partition >= partitions_.size()) {
        SwitchMemory& memory = further_memory();
        pool_.exchanges = memory.pool.exchanges = true;
        partitions_.push_back(std::make_unique<Partition>(static_cast<std::uint32_t>(partitions_.size()),
                                                          memory.pool, memory.shares, sequence_));
    }
    Partition& p = *partitions_[partition];
    ASSERT(p.index == partition && partition_of_.size() == switches_.size());
    partition_of_.push_back(&p);
    out_channel_.emplace_back();
    age_at_.push_back(-1);
    return append(name, cpu_port, p.pool, p.programs);
}

Partition& Network::acted_on(Index<Host> host) {
    refuse_in_merge();
    Partition& p = *hosts_.at(host).partition;
    p.now = now_;
    return p;
}

Partition& Network::acted_on(Index<Switch> switch_index) {
    refuse_in_merge();
    Partition& p = *partition_of_.at(switch_index);
    p.now = now_;
    return p;
}

std::vector<std::uint64_t> Network::delivered_bins() const {
    std::vector<std::uint64_t> total;
    for (const auto& p : partitions_) {
        if (total.size() < p->bins.size()) total.resize(p->bins.size());
        for (std::size_t bin = 0; bin < p->bins.size(); ++bin) total[bin] += p->bins[bin];
    }
    return total;
}

void Network::wake(Partition& p, Channel& c, Index<Channel> index, Time time) {
    ASSERT(time >= p.now);
    if (c.crossing && p.in_window()) [[unlikely]] {
        const Crossing& x = status(c.crossing);
        if (time >= p.end) return p.note({.kind = Effect::Kind::Asked, .crossing = c.crossing, .time = time});
        if (c.wake_at != -1 && c.wake_at <= time) return;
        c.wake_at = time;
        p.note({.kind = Effect::Kind::Wakes, .crossing = c.crossing, .time = time});
        return push(p, time, EventKind::Wake, x.channel);
    }
    if (c.wake_at != -1 && c.wake_at <= time) return;
    c.wake_at = time;
    push(sender_of(c, p), time, EventKind::Wake, index);
}

// at_once: the frame may leave immediately; otherwise a later event sends it.
void Network::enqueue(Partition& p, Index<Channel> index, FrameHandle frame, bool at_once) {
    Channel& c = channels_[index];
    ASSERT(frame->vl < kVls && !frame->lost);
    fetch(&c.lanes[frame->vl]);
    fetch_lines(&c, Channel::kHotLines);
    if (c.crossing && p.in_window()) [[unlikely]]
        status(c.crossing);
    if (at_once && !frame->pending && c.passes(*frame, p.now)) {
        const std::size_t vl = frame->vl;
        transmit(p, index, std::move(frame), vl);
        return note_status(p, c);
    }
    if (frame->pending) {
        frame->phv->enqueued = p.now;
        frame->phv->enqueue_depth = static_cast<std::uint32_t>(c.lanes[frame->vl].queue.size());
    }
    if (!c.put(frame)) return discard(p, std::move(frame));
    ++p.waiting_frames;
    if (at_once && p.now >= c.busy_until) {
        try_send(p, index);
    } else {
        note_status(p, c);
        wake(p, c, index, std::max(p.now, c.busy_until));
    }
}

void Network::try_send(Partition& p, Index<Channel> index) {
    Channel& c = channels_[index];
    if (!c.up || c.waiting == 0) return;
    if (p.now < c.busy_until) return wake(p, c, index, c.busy_until);
    c.collect(p.now);
    while (const std::optional<std::size_t> vl = c.next()) {
        if (c.lanes[*vl].queue.front()->pending && !dequeue(p, index, *vl)) continue;
        --p.waiting_frames;
        ASSERT(p.waiting_frames >= 0);
        transmit(p, index, c.take(*vl), *vl);
        note_status(p, c);
        if (c.waiting > 0) wake(p, c, index, c.busy_until);
        return;
    }
    note_status(p, c);
    if (c.waiting == 0) return;
    // In a window, the merge knows the credits that other partitions return.
    const bool merged = c.crossing && p.in_window();
    if (!c.returning.empty() && (!merged || c.returning.front().time < p.end))
        wake(p, c, index, c.returning.front().time);
    else if (merged) p.note({.kind = Effect::Kind::Blocked, .crossing = c.crossing});
}

void Network::transmit(Partition& p, Index<Channel> index, FrameHandle frame, std::size_t vl) {
    Channel& c = channels_[index];
    ASSERT(!frame->pending && !frame->lost);
    const Held held = std::exchange(frame->held, Held{});
    if (c.crossing) [[unlikely]] {
        frame->join();  // the payload may refer to an array of this partition
        if (p.in_window()) {
            const Time end = c.send(std::move(frame), vl, p.now, crossings_[c.crossing].sent);
            release(p, held, end);
            return p.note({.kind = Effect::Kind::Sent, .crossing = c.crossing});
        }
    }
    const Time end = c.send(std::move(frame), vl, p.now, c.flying);
    release(p, held, end);
    if (c.flying.size() == 1) push(receiver_of(c, p), c.flying.front().arrival, EventKind::Arrive, index);
}

// Free the receive buffer of a frame at `when`, or of its last copy to leave.
void Network::release(Partition& p, const Held& held, Time when) {
    if (!held.channel) return;
    if (held.share) {
        Share& share = p.shares[held.share];
        share.until = when = std::max(share.until, when);
        ASSERT(share.copies > 0);
        if (--share.copies > 0) return;
        p.free_shares.push_back(held.share);
    }
    const Index<Channel> index = buffer_of(held);
    Channel& c = channels_[index];
    ASSERT(c.lossless() && when >= p.now);
    if (c.crossing && p.in_window()) [[unlikely]] {
        ASSERT(c.lanes[held.vl].held >= held.bytes);
        c.lanes[held.vl].held -= held.bytes;
        return p.note({.kind = Effect::Kind::Returned,
                       .vl = held.vl,
                       .value = held.bytes,
                       .crossing = c.crossing,
                       .time = when + c.config.delay});
    }
    c.give_back(held, when);
    if (c.waiting > 0) wake(p, c, index, std::max(c.returning.front().time, c.busy_until));
}

void Network::discard(Partition& p, FrameHandle frame) {
    release(p, std::exchange(frame->held, Held{}), p.now);
}

void Network::arrive(Partition& p, Index<Channel> index) {
    Channel& c = channels_[index];
    if (c.flying.empty() || c.flying.front().arrival != p.now) return;  // lost with the link
    FrameHandle frame = c.flying.pop_front().frame;
    ASSERT(!frame->held.channel && !frame->pending);  // it occupied no buffer on the wire
    ASSERT(c.flying.empty() || c.flying.front().arrival >= p.now);
    if (c.crossing) [[unlikely]]
        p.pool.adopt(*frame);
    if (!c.flying.empty()) {
        push(p, c.flying.front().arrival, EventKind::Arrive, index);
    } else if (c.crossing && p.in_window()) [[unlikely]] {
        crossings_[c.crossing].drained = true;
        p.note({.kind = Effect::Kind::Drained, .crossing = c.crossing});
    }
    if (c.lossless()) {
        frame->held = {.channel = index, .bytes = frame->length, .share = {}, .vl = frame->vl};
        c.lanes[frame->vl].held += frame->length;
        ASSERT(c.lanes[frame->vl].held <= c.config.credit_bytes || c.instrumented || c.crossing);
    }
    if (frame->lost) [[unlikely]]
        return discard(p, std::move(frame));  // its credits return as those of a received frame
    if (!c.to_switch) deliver(p, std::move(frame), c.host);
    else receive(p, std::move(frame), c.to_switch, c.to_port);
}

void Network::receive(Partition& p, FrameHandle frame, Index<Switch> switch_index, std::uint32_t port) {
    Switch& sw = *switches_[switch_index];
    ++p.hops;
    // The switch does not know receive buffers: they are freed here, or pass to the frames that leave.
    const Held held = std::exchange(frame->held, Held{});
    p.out.clear();
    try {
        if (sw.reads_queue()) sw.ingress(std::move(frame), port, p.now, p.out);
        else sw.process(std::move(frame), port, p.now, p.out);
    } catch (const std::exception& error) {
        if (!tolerant_) throw;
        fail(p, switch_index, error);
    }
    after_pass(p, sw, switch_index);
    ASSERT(frame == nullptr);
    if (p.out.empty()) return release(p, held, p.now);
    hold(p, held, p.out);
    for (Output& o : p.out) forward(p, std::move(o.frame), switch_index, o.port);
}

void Network::set_lanes(std::uint32_t bit, const std::vector<int>& vls) {
    std::vector<int> sorted = vls;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t vl = 0; vl < kVls; ++vl)
        if (sorted.size() != kVls || sorted[vl] != static_cast<int>(vl))
            throw std::invalid_argument("VLs of lanes: there must be " + std::to_string(kVls) +
                                        ", each from 0 to " + std::to_string(kVls - 1) + " once");
    lane_bit_ = bit;
    vls_ = vls;
}

// VL of a frame whose priority the switch has left in `vl`.
std::uint8_t Network::lane_of(const Frame& frame) const {
    if (!lane_bit_) return frame.vl;
    const std::uint32_t at = *lane_bit_ / 8;
    const bool second =
        !frame.pending && at < frame.length && (frame.byte(at) >> (7 - *lane_bit_ % 8) & 1) != 0;
    ASSERT(frame.vl < kPriorities);
    return static_cast<std::uint8_t>(2 * frame.vl + second);
}

void Network::forward(Partition& p, FrameHandle frame, Index<Switch> switch_index, std::uint32_t port,
                      bool at_once) {
    const bool to_cpu = port == switches_[switch_index]->cpu_port();
    const auto& ports = out_channel_[switch_index];
    if (!to_cpu && port < ports.size() && ports[port] && frame->vl < kPriorities) {
        frame->vl = lane_of(*frame);
        return enqueue(p, ports[port], std::move(frame), at_once);
    }
    // The CPU port and ports without a link have no queue.
    if (frame->pending) frame = egress(p, std::move(frame), switch_index, port, {p.now, p.now, 0, 0});
    if (frame == nullptr) return;
    if (to_cpu)
        control(p, {ControlItem::Kind::PacketIn, p.now, switch_index, 0, false, std::string(frame->view())});
    else ++p.without_link;
    discard(p, std::move(frame));
}

void Network::dispatch(Partition& p, const Event& event) {
    switch (event.kind) {
        case EventKind::Wake: {
            --p.network_events;
            ASSERT(p.network_events >= 0);
            Channel& c = channels_[event.of<Channel>()];
            if (c.wake_at != event.time) return;  // replaced by an earlier event
            if (c.crossing && p.in_window()) [[unlikely]] {
                status(c.crossing);
                p.note({.kind = Effect::Kind::Woken, .crossing = c.crossing});
            }
            c.wake_at = -1;
            return try_send(p, event.of<Channel>());
        }
        case EventKind::Arrive: --p.network_events; return arrive(p, event.of<Channel>());
        case EventKind::Timer: return on_timer(p, event.of<Host>());
        case EventKind::Alarm:
            free_alarms_.push_back(event.of<Alarm>());
            control_.push_back(
                {ControlItem::Kind::Alarm, now_, {}, alarms_[event.of<Alarm>()].token, false, {}});
            return;
        case EventKind::Age:
            ASSERT(ageing_events_ > 0);
            --ageing_events_;
            return age(event.of<Switch>());
    }
}

void Network::packet_out(Index<Switch> switch_index, std::string_view bytes) {
    Partition& p = acted_on(switch_index);
    FrameHandle frame = p.pool.acquire(bytes.data(), bytes.size());
    p.pool.mark(*frame);
    receive(p, std::move(frame), switch_index, switch_at(switch_index).cpu_port());
}

}  // namespace railyard
