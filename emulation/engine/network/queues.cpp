// SPDX-License-Identifier: Apache-2.0
#include "network/queues.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "network/hosts.h"
#include "network/windows.h"

namespace railyard::network {

// Schedule a wake-up, unless an earlier one is pending.
inline void Queues::wake(Partition& p, Channel& c, Time time) {
    ASSERT(time >= p.now);
    if (c.crossing && p.in_window()) [[unlikely]]
        return wake_in_window(p, c, time);
    if (c.wake_at > time) schedule_wake(p, c, time);
}

void Queues::schedule_wake(Partition& p, Channel& c, Time time) {
    c.wake_at = time;
    Timeline::push(parts_.windows.sender_of(c, p), time, EventKind::Wake, c.index);
}

void Queues::wake_in_window(Partition& p, Channel& c, Time time) {
    parts_.windows.status(c.crossing);
    if (time >= p.end) return p.note({.kind = Effect::Kind::Asked, .crossing = c.crossing, .time = time});
    if (c.wake_at <= time) return;
    c.wake_at = time;
    p.note({.kind = Effect::Kind::Wakes, .crossing = c.crossing, .time = time});
    Timeline::push(p, time, EventKind::Wake, c.index);
}

void Queues::enqueue(Partition& p, Index<Channel> index, FrameHandle&& frame, bool at_once) {
    Channel& c = parts_.links[index];
    ASSERT(frame->lane().value() < kVls && !frame->lost);
    fetch(&c.lanes[frame->lane()]);
    fetch_lines(&c, Channel::kHotLines);
    if (c.crossing && p.in_window()) [[unlikely]]
        parts_.windows.status(c.crossing);
    if (at_once && !frame->pending && c.passes(*frame, p.now)) {
        transmit(p, c, std::move(frame));
        return parts_.windows.note_status(p, c);
    }
    if (frame->pending && !make_room(p, c, frame)) return;
    if (!c.put(frame)) return discard(p, std::move(frame));
    ++p.waiting_frames;
    if (at_once && p.now >= c.busy_until) return try_send(p, c);
    parts_.windows.note_status(p, c);
    wake(p, c, std::max(p.now, c.busy_until));
}

void Queues::on_wake(Partition& p, Index<Channel> index, Time time) {
    --p.network_events;
    ASSERT(p.network_events >= 0);
    Channel& c = parts_.links[index];
    if (c.wake_at != time) return;  // replaced by an earlier event
    if (c.crossing && p.in_window()) [[unlikely]]
        woken_in_window(p, c);
    c.wake_at = kNever;
    try_send(p, c);
}

[[gnu::noinline]] void Queues::woken_in_window(Partition& p, const Channel& c) {
    parts_.windows.status(c.crossing);
    p.note({.kind = Effect::Kind::Woken, .crossing = c.crossing});
}

void Queues::try_send(Partition& p, Channel& c) {
    if (!c.up || !c.has_frames()) return;
    if (p.now < c.busy_until) return wake(p, c, c.busy_until);
    if (FrameHandle frame = next_frame(p, c); frame != nullptr) {
        transmit(p, c, std::move(frame));
        parts_.windows.note_status(p, c);
        if (c.has_frames()) wake(p, c, c.busy_until);
        return;
    }
    parts_.windows.note_status(p, c);
    if (c.waiting > 0) wait(p, c);
}

// Take the next frame to send from its queue; null: none may be sent now.
inline FrameHandle Queues::next_frame(Partition& p, Channel& c) {
    if (c.pausing) [[unlikely]] {
        const bool pauses = !c.pauses->frames.empty();
        expire(p, c);
        if (pauses) return c.pauses->frames.pop_front();
    }
    c.collect(p.now);
    for (Lane lane = c.next(); lane != kNoLane; lane = c.next()) {
        if (c.lanes[lane].queue.front()->pending && !dequeue(p, c, lane)) continue;
        --p.waiting_frames;
        ASSERT(p.waiting_frames >= 0);
        return c.take(lane);
    }
    return nullptr;
}

// Schedule a wake-up for when a frame may be sent: all wait for credits, or for the end of a pause.
void Queues::wait(Partition& p, Channel& c) {
    if (c.pausing)
        if (const auto next = c.pauses->next_expiry()) return wake(p, c, std::max(*next, p.now));
    // In a window, only the merge knows the credits that other partitions return.
    const bool merged = c.crossing && p.in_window();
    if (!c.returning.empty() && (!merged || c.returning.front().time < p.end))
        wake(p, c, c.returning.front().time);
    else if (merged) p.note({.kind = Effect::Kind::Blocked, .crossing = c.crossing});
}

// Send a frame that no queue contains any more, and free its receive buffer at the end of its transmission.
[[gnu::always_inline]] inline void Queues::transmit(Partition& p, Channel& c, FrameHandle&& frame) {
    Frame& sent = *frame;
    ASSERT(!sent.pending && !sent.lost);
    const bool merged = c.crossing && p.in_window();
    if (c.crossing) [[unlikely]]
        sent.join();  // the payload may refer to an array of this partition
    const Time end =
        c.send(std::move(frame), sent.lane(), p.now, merged ? parts_.windows[c.crossing].sent : c.flying);
    release(p, sent.held, end);
    if (merged) [[unlikely]]
        return p.note({.kind = Effect::Kind::Sent, .crossing = c.crossing});
    if (c.flying.size() == 1)
        Timeline::push(parts_.windows.receiver_of(c, p), c.flying.front().arrival, EventKind::Arrive,
                       c.index);
}

void Queues::free_buffer(Partition& p, Held& given, Time when) {
    const Held held = given;
    given.channel = {};
    if (held.share) [[unlikely]] {
        given.share = {};
        Share& share = p.shares[held.share];
        share.until = when = std::max(share.until, when);
        ASSERT(share.copies > 0);
        if (--share.copies > 0) return;
        p.free_shares.push_back(held.share);
    }
    Channel& c = parts_.links.buffer_of(held);
    if (c.pausing) [[unlikely]] {
        c.pauses->free(held.lane, held.bytes);
        return order(p, c);
    }
    ASSERT(c.lossless() && when >= p.now);
    if (c.crossing && p.in_window()) [[unlikely]] {
        ASSERT(c.lanes[held.lane].held >= held.bytes);
        c.lanes[held.lane].held -= held.bytes;
        return p.note({.kind = Effect::Kind::Returned,
                       .lane = held.lane,
                       .value = held.bytes.value(),
                       .crossing = c.crossing,
                       .time = when + c.config.delay});
    }
    c.give_back(held, when);
    if (c.waiting > 0) wake(p, c, std::max(c.returning.front().time, c.busy_until));
}

void Queues::discard(Partition& p, FrameHandle frame) { release(p, frame->held, p.now); }

void Queues::on_arrival(Partition& p, Index<Channel> index) {
    --p.network_events;
    Channel& c = parts_.links[index];
    if (c.flying.empty() || c.flying.front().arrival != p.now) return;  // lost with the link
    FrameHandle frame = c.flying.pop_front().frame;
    ASSERT(!frame->held.channel && !frame->pending);  // a frame on the wire holds no receive buffer
    ASSERT(c.flying.empty() || c.flying.front().arrival >= p.now);
    if (c.crossing) [[unlikely]]
        p.pool.adopt(*frame);
    if (!c.flying.empty()) {
        Timeline::push(p, c.flying.front().arrival, EventKind::Arrive, index);
    } else if (c.crossing && p.in_window()) [[unlikely]] {
        parts_.windows[c.crossing].drained = true;
        p.note({.kind = Effect::Kind::Drained, .crossing = c.crossing});
    }
    if (c.pausing && !frame->lost && pause(p, c, *frame)) [[unlikely]]
        return;
    if (c.lossless()) {
        frame->held = {.channel = index, .bytes = frame->size(), .share = {}, .lane = frame->lane()};
        c.lanes[frame->lane()].held += frame->size();
        ASSERT(c.lanes[frame->lane()].held <= c.config.credit_bytes || c.instrumented || c.crossing);
    }
    if (frame->lost) [[unlikely]]
        return discard(p, std::move(frame));  // its credits return as for a received frame
    if (c.to_switch) receive(p, std::move(frame), c.to_switch, c.to_port);
    else parts_.hosts.deliver(p, std::move(frame), c.host);
}

// Enqueue a frame that leaves a switch on the channel of its port.
inline void Queues::forward(Partition& p, FrameHandle&& frame, const Switch& sw, Index<Switch> switch_index,
                            Port port, bool at_once) {
    const auto& ports = parts_.links.out_of(switch_index);
    if (port == sw.cpu_port() || port.value() >= ports.size() || !ports[port.value()] ||
        frame->priority().value() >= kPriorities) [[unlikely]]
        return leave(p, std::move(frame), sw, switch_index, port);
    const Lanes& lanes = parts_.links.lanes;
    frame->set_lane(frame->pending && lanes.doubled()
                        ? lanes.of(frame->priority(), sw.pending_bit(*frame, lanes.bit()))
                        : lanes.of(*frame));
    enqueue(p, ports[port.value()], std::move(frame), at_once);
}

// Pass a frame on to the CPU port, or drop it at a port without a link: these ports have no queue.
void Queues::leave(Partition& p, FrameHandle&& frame, const Switch& sw, Index<Switch> switch_index,
                   Port port) {
    if (frame->pending) frame = egress(p, std::move(frame), switch_index, port, {p.now, p.now, 0, 0});
    if (frame == nullptr) return;
    if (port == sw.cpu_port())
        control(p, {switching::ControlItem::Kind::PacketIn, p.now, switch_index, 0, false,
                    std::string(frame->view())});
    else ++p.without_link;
    discard(p, std::move(frame));
}

void Queues::forward_later(Partition& p, FrameHandle&& frame, const Switch& sw, Index<Switch> switch_index,
                           Port port) {
    forward(p, std::move(frame), sw, switch_index, port, false);
}

void Queues::receive(Partition& p, FrameHandle&& frame, Index<Switch> switch_index, Port port) {
    Switch& sw = *parts_.switches[switch_index];
    ++p.hops;
    // The switch knows no receive buffers: the buffer is freed here or passes to the frames that leave.
    Held held = frame->held;
    frame->held.channel = {};
    frame->held.share = {};
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
    for (switching::Output& o : p.out) forward(p, std::move(o.frame), sw, switch_index, o.port, true);
}

void Queues::set_up(Partition& p, Index<Channel> index, bool up) {
    Channel& c = parts_.links[index];
    if (c.up == up) return;
    if (up) return c.bring_up(p.now);
    c.up = false;
    for (std::size_t i = 0; i < c.flying.size(); ++i) {
        if (!c.flying[i].frame->lost) ++c.losses.lost;  // impaired frames are counted already
    }
    c.losses.lost += c.waiting;
    c.clear_wire();
    c.busy_until = p.now;
    p.waiting_frames -= static_cast<std::int64_t>(c.waiting);
    c.waiting = 0;
    c.ready = 0;
    for (std::size_t v = 0; v < kVls; ++v) {
        while (!c.lanes[v].queue.empty()) discard(p, c.lanes[v].queue.pop_front());
        c.lanes[v].queued = Bytes();
    }
    ASSERT(p.waiting_frames >= 0 && c.flying.empty());
    if (c.pausing) c.pauses->reset();
}

Channel& Queues::reverse_of(const Channel& c) const {
    if (c.link) return parts_.links[parts_.links.at(c.link).channels[opposite(c.direction)]];
    const Host& host = parts_.hosts[c.host];
    return parts_.links[c.to_switch ? host.in : host.out];
}

// Apply priority flow control to an arrived frame. Return true if the frame is consumed: it is a pause frame,
// or the receive buffer has no room for it.
bool Queues::pause(Partition& p, Channel& c, Frame& frame) {
    if (const auto given = pause_order(frame)) {
        Channel& paused = reverse_of(c);
        paused.pauses->obey(*given, p.now);
        if (paused.waiting > 0) wake(p, paused, std::max(p.now, paused.busy_until));
        return true;
    }
    if (!c.to_switch || !c.pauses->covers(frame.lane())) return false;
    if (!c.pauses->take(frame.lane(), frame.size())) return true;
    frame.held = {.channel = c.index, .bytes = frame.size(), .share = {}, .lane = frame.lane()};
    order(p, c);
    return false;
}

// Send a pause frame for the receive buffer at a channel's end, if one is due.
void Queues::order(Partition& p, const Channel& c) {
    if (const auto due = c.pauses->due()) send_order(p, reverse_of(c), *due);
}

void Queues::send_pause(Partition& p, Index<Channel> index, bool stop) {
    constexpr std::uint8_t all = 0xFF;
    Channel& c = parts_.links[index];
    const std::uint8_t own = reverse_of(c).pauses->asked();
    send_order(p, c,
               stop ? PauseOrder{.stop = all, .go = 0}
                    : PauseOrder{.stop = 0, .go = static_cast<std::uint8_t>(all & ~own)});
}

void Queues::send_order(Partition& p, Channel& c, PauseOrder order) {
    if (!c.up) return;
    FrameHandle frame = pause_frame(p.pool, order);
    frame->set_lane(Lane(kVls - 1));
    ++c.pauses->sent;
    c.pauses->frames.push_back(std::move(frame));
    wake(p, c, std::max(p.now, c.busy_until));
}

// Drop the frames queued on lanes whose pause the watchdog has just ended.
void Queues::expire(Partition& p, Channel& c) {
    const std::uint8_t ended = c.pauses->expire(p.now);
    for (std::size_t at = 0; ended != 0 && at < kVls; ++at) {
        const Lane lane(at);
        if ((ended >> Pauses::class_of(lane) & 1u) == 0 || !c.pauses->covers(lane)) continue;
        while (!c.lanes[lane].queue.empty()) {
            discard(p, c.take(lane));
            --p.waiting_frames;
            ++c.pauses->dropped;
        }
    }
}

// Notify the control plane, which acts before the next event. PartitionError in a window.
void Queues::control(Partition& p, switching::ControlItem item) {
    if (p.in_window())
        throw PartitionError(
            "switch " + parts_.switches.at(item.switch_index)->name() +
            " has passed an event on to its controller that no message of a controller caused");
    parts_.control.push_back(std::move(item));
}

void Queues::pass_digests(Partition& p, Switch& sw, Index<Switch> index) {
    for (switching::Digest& d : sw.digests())
        control(p, {switching::ControlItem::Kind::Digest, p.now, index,
                    static_cast<std::int64_t>(d.list.at()), false, std::move(d.fields)});
    sw.digests().clear();
}

void Queues::fail(Partition& p, Index<Switch> index, const std::exception& error) {
    ++p.failed;
    control(p, {switching::ControlItem::Kind::Log, p.now, index, 0, false, error.what()});
}

}  // namespace railyard::network
