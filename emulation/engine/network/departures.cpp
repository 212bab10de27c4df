// SPDX-License-Identifier: Apache-2.0
// Receive buffers of copied frames, and egress at departure for programs that read queue metadata.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "network/queues.h"

namespace railyard::network {

void Queues::share(Partition& p, Held held, const switching::Outputs& copies) {
    if (!held.share) {
        if (p.free_shares.empty()) {
            p.free_shares.push_back(p.shares.next());
            p.shares.emplace_back();
        }
        held.share = p.free_shares.back();
        p.free_shares.pop_back();
        p.shares[held.share] = {1, Time()};
    }
    ASSERT(p.shares[held.share].copies > 0);
    p.shares[held.share].copies += static_cast<std::uint32_t>(copies.size()) - 1;
    for (const switching::Output& o : copies) o.frame->held = held;
}

// Make room for a frame that waits for its egress pass, and note what that pass will read of the queue.
// Return false if the frame was dropped. If the queue is full, egress runs now, without a wait, so that the
// frame may be trimmed.
bool Queues::make_room(Partition& p, Channel& c, FrameHandle& frame) {
    const auto depth = static_cast<std::uint32_t>(c.lanes[frame->lane()].queue.size());
    if (!c.admits(*frame)) [[unlikely]] {
        frame->set_priority(parts_.links.lanes.priority_of(frame->lane()));
        frame = egress(p, std::move(frame), c.from_switch, c.from_port, {p.now, p.now, depth, depth});
        if (frame == nullptr) return false;
        frame->set_lane(parts_.links.lanes.of(*frame));
    }
    if (frame->pending) {
        frame->phv->enqueued = p.now;
        frame->phv->enqueue_depth = static_cast<std::uint32_t>(c.lanes[frame->lane()].queue.size());
    }
    return true;
}

// Run egress for the first frame of `lane`. Return false if the frame cannot be sent now: egress dropped it,
// or it has grown beyond the lane's credits and waits for more (egress does not run again).
bool Queues::dequeue(Partition& p, Channel& c, Lane lane) {
    FrameHandle frame = c.take(lane);
    ASSERT(frame->pending && frame->phv != nullptr && frame->phv->enqueued <= p.now);
    --p.waiting_frames;
    const switching::QueueRecord record{frame->phv->enqueued, p.now, frame->phv->enqueue_depth,
                                        static_cast<std::uint32_t>(c.lanes[lane].queue.size())};
    frame->set_priority(parts_.links.lanes.priority_of(frame->lane()));
    frame = egress(p, std::move(frame), c.from_switch, c.from_port, record);
    if (frame == nullptr) return false;
    frame->set_lane(lane);
    if (c.lossless()) c.check_fits(*frame);
    const bool fits = !c.lossless() || c.lanes[lane].credits >= frame->size();
    c.put_back(std::move(frame));
    ++p.waiting_frames;
    return fits;
}

// Run egress; return the frame that leaves by `port`, or null. Clones and recirculated frames go to the
// queues of their own ports.
FrameHandle Queues::egress(Partition& p, FrameHandle frame, Index<Switch> switch_index, Port port,
                           const switching::QueueRecord& record) {
    Switch& sw = *parts_.switches[switch_index];
    Held held = std::exchange(frame->held, Held{});
    switching::Outputs out;
    out.swap(p.egress_out);  // reuses memory; a nested egress allocates
    try {
        sw.egress(std::move(frame), port, record, p.now, out);
    } catch (const std::exception& error) {
        if (!tolerant_) throw;
        fail(p, switch_index, error);
    }
    after_pass(p, sw, switch_index);
    if (out.empty()) release(p, held, p.now);
    else hold(p, held, out);
    FrameHandle leaving;
    for (switching::Output& o : out) {
        if (!o.frame->pending) {
            ASSERT(leaving == nullptr);  // at most one frame leaves an egress pass
            leaving = std::move(o.frame);
            continue;
        }
        forward_later(p, std::move(o.frame), sw, switch_index, o.port);
    }
    out.clear();
    p.egress_out.swap(out);
    return leaving;
}

}  // namespace railyard::network
