// SPDX-License-Identifier: Apache-2.0
#include "wire/control_events.h"

namespace railyard::wire {

namespace {

constexpr std::size_t kMostControl = 10'000;  // most waiting events; more are lost
constexpr std::size_t kMostControlBytes = 16 << 20;

}  // namespace

void ControlEvents::report(switching::ControlItem item) {
    const std::size_t bytes = item.frame.size();
    if (queue_.size() < kMostControl && bytes_ + bytes <= kMostControlBytes) {
        bytes_ += bytes;
        queue_.push_back(std::move(item));
        return;
    }
    Lost& lost = lost_[item.switch_index];
    if (lost.packet_ins + lost.digests == 0)
        messages_.say("warning",
                      lost.switch_name + ": the queue of events is full; packet-ins and digests are lost");
    any_lost_ = true;
    ++(item.kind == switching::ControlItem::Kind::Digest ? lost.digests : lost.packet_ins);
}

void ControlEvents::taken(const switching::ControlItem& item) {
    if (item.kind == switching::ControlItem::Kind::Digest ||
        item.kind == switching::ControlItem::Kind::PacketIn)
        bytes_ -= item.frame.size();
    if (!queue_.empty() || !any_lost_) return;
    any_lost_ = false;
    for (Lost& lost : lost_) {
        if (lost.packet_ins + lost.digests > 0)
            messages_.say("warning", lost.switch_name + ": the queue of events has lost " +
                                         std::to_string(lost.packet_ins) + " packet-ins and " +
                                         std::to_string(lost.digests) + " digests");
        lost.packet_ins = lost.digests = 0;
    }
}

void ControlEvents::clear() {
    queue_.clear();
    bytes_ = 0;
}

}  // namespace railyard::wire
