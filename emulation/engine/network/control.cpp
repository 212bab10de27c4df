// SPDX-License-Identifier: Apache-2.0
// Events for the control plane: alarms that it has set, aged entries, frames, digests.
#include <algorithm>
#include <string>
#include <utility>

#include "network/network.h"

namespace railyard {

// Pass an event on to the control plane, which acts before anything else happens.
void Network::control(Partition& p, ControlItem item) {
    if (p.in_window())
        throw PartitionError(
            "switch " + switch_at(item.switch_index).name() +
            " has passed an event on to its controller that no message of a controller caused");
    control_.push_back(std::move(item));
}

// Pass digests and ageing on to the control plane.
void Network::after_pass(Partition& p, Switch& sw, Index<Switch> index) {
    if (auto& digests = sw.digests(); !digests.empty()) {
        for (Digest& d : digests)
            control(p, {ControlItem::Kind::Digest, p.now, index, static_cast<std::int64_t>(d.list.at()),
                        false, std::move(d.fields)});
        digests.clear();
    }
    if (sw.take_revived()) watch_ageing(index);
}

void Network::fail(Partition& p, Index<Switch> index, const std::exception& error) {
    ++p.failed;
    control(p, {ControlItem::Kind::Log, p.now, index, 0, false, error.what()});
}

void Network::alarm(Time time, std::int64_t token) {
    if (merging_ && time < window_end_)
        throw PartitionError("an agent has called its controller, which acts before other partitions' time");
    if (free_alarms_.empty()) {
        free_alarms_.push_back(alarms_.next());
        alarms_.emplace_back();
    }
    const Index<Alarm> index = free_alarms_.back();
    free_alarms_.pop_back();
    ASSERT(index.at() < alarms_.size());
    alarms_[index].token = token;
    push_control(std::max(time, now_), EventKind::Alarm, index);
}

void Network::watch_ageing(Index<Switch> switch_index) {
    const Time due = switch_at(switch_index).next_ageing();
    if (due < 0) return;
    aged_ = true;
    const Time time = std::max(due, now_);
    if (age_at_[switch_index] != -1 && age_at_[switch_index] <= time) return;
    age_at_[switch_index] = time;
    ++ageing_events_;
    push_control(time, EventKind::Age, switch_index);
}

void Network::age(Index<Switch> switch_index) {
    if (age_at_[switch_index] != now_) return;  // replaced by an earlier event
    ASSERT(aged_);
    age_at_[switch_index] = -1;
    Switch& sw = *switches_[switch_index];
    for (std::size_t table = 0; table < sw.table_count(); ++table)
        if (sw.table_due(table, now_))
            control_.push_back(
                {ControlItem::Kind::Idle, now_, switch_index, static_cast<std::int64_t>(table), false, {}});
    // Aged entries stay due until the control plane has read them; until then no event follows.
    if (sw.next_ageing() > now_) watch_ageing(switch_index);
    else unread_.push_back(switch_index);
}

// Watch switches again whose aged entries the control plane has read.
void Network::resume_ageing() {
    std::erase_if(unread_, [this](Index<Switch> index) {
        const Time due = switch_at(index).next_ageing();
        if (due >= 0 && due <= now_) return false;
        watch_ageing(index);
        return true;
    });
}

}  // namespace railyard
