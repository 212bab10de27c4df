// SPDX-License-Identifier: Apache-2.0
#include "network/events/timeline.h"

#include <algorithm>
#include <utility>

namespace railyard::network {

void Partition::put_later(Time time, std::uint64_t number, EventKind kind, std::size_t at) {
    later.push_back({time, number, kind, at});
}

Timeline::Timeline(FramePool& pool, switching::ProgramShares& shares) { add_partition(pool, shares); }

void Timeline::add_partition(FramePool& pool, switching::ProgramShares& shares) {
    const auto index = static_cast<std::uint32_t>(partitions_.size());
    partitions_.push_back(std::make_unique<Partition>(index, pool, shares, number_));
}

void Timeline::renumber() {
    std::vector<std::pair<EventQueue::Cell, EventQueue*>> pending;
    const auto take = [&pending](EventQueue& from) {
        for (const EventQueue::Cell cell : from.take_all()) pending.emplace_back(cell, &from);
    };
    for (const auto& p : partitions_) take(p->events);
    take(control_events_);
    std::sort(pending.begin(), pending.end());
    number_ = 1;
    for (const auto& [cell, queue] : pending) queue->put(EventQueue::numbered(cell, number_++));
    ASSERT(number_ == pending.size() + 1);
}

}  // namespace railyard::network
