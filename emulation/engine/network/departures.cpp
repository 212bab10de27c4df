// SPDX-License-Identifier: Apache-2.0
// Departures of several copies of a frame, and of frames whose program reads queue metadata in egress.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "network/network.h"

namespace railyard {

// Pass the receive buffer of a frame on to its copies.
void Network::hold(const Held& held, const Outputs& copies) {
    if (!held.channel) return;
    Held each = held;
    if (copies.size() > 1) {
        if (!each.share) {
            if (free_shares_.empty()) {
                free_shares_.push_back(shares_.next());
                shares_.emplace_back();
            }
            each.share = free_shares_.back();
            free_shares_.pop_back();
            shares_[each.share] = {1, 0};
        }
        shares_[each.share].copies += static_cast<std::uint32_t>(copies.size()) - 1;
    }
    for (const Output& o : copies) o.frame->held = each;
}

// Run the egress of the first frame of `vl`. False if the frame cannot be sent now: it was dropped, or it
// grew beyond its credits and waits for more, without a second egress.
bool Network::dequeue(Index<Channel> index, std::size_t vl) {
    Channel& c = channels_[index];
    FrameHandle frame = c.take(vl);
    --waiting_frames_;
    const QueueRecord record{frame->enqueued, now_, frame->enqueue_depth,
                             static_cast<std::uint32_t>(c.lanes[vl].queue.size())};
    if (lane_bit_) frame->vl /= 2;  // programs see the priority, without the lane
    frame = egress(std::move(frame), c.from_switch, c.from_port, record);
    if (frame == nullptr) return false;
    frame->vl = static_cast<std::uint8_t>(vl);
    if (c.lossless()) c.check_fits(*frame);
    const bool fits = !c.lossless() || c.lanes[vl].credits >= frame->length;
    c.put_back(std::move(frame));
    ++waiting_frames_;
    return fits;
}

// Run egress; return the frame that leaves by `port`, if any. Clones and further passes go to queues of their
// ports.
FrameHandle Network::egress(FrameHandle frame, Index<Switch> switch_index, std::uint32_t port,
                            const QueueRecord& record) {
    Switch& sw = *switches_[switch_index];
    const Held held = std::exchange(frame->held, Held{});
    Outputs out;
    out.swap(egress_out_);  // reuses memory; a nested egress allocates
    try {
        sw.egress(std::move(frame), port, record, now_, out);
    } catch (const std::exception& error) {
        if (!tolerant_) throw;
        fail(switch_index, error);
    }
    after_pass(sw, switch_index);
    if (out.empty()) release(held, now_);
    else hold(held, out);
    FrameHandle leaving;
    for (Output& o : out) {
        if (!o.frame->pending) {
            leaving = std::move(o.frame);
            continue;
        }
        forward(std::move(o.frame), switch_index, o.port, false);
    }
    out.clear();
    egress_out_.swap(out);
    return leaving;
}

}  // namespace railyard
