// SPDX-License-Identifier: Apache-2.0
#include "network/ageing.h"

#include <algorithm>

namespace railyard::network {

void Ageing::watch(Index<Switch> index) {
    const Time due = switches_.at(index)->next_ageing();
    if (due < Time()) return;
    used_ = true;
    const Time time = std::max(due, timeline_.now());
    if (at_[index] != kUnset && at_[index] <= time) return;
    at_[index] = time;
    ++events_;
    timeline_.push_control(time, EventKind::Age, index);
}

void Ageing::age(Index<Switch> index) {
    ASSERT(events_ > 0);
    --events_;
    const Time now = timeline_.now();
    if (at_[index] != now) return;  // replaced by an earlier event
    at_[index] = kUnset;
    Switch& sw = *switches_[index];
    for (std::size_t table = 0; table < sw.table_count(); ++table)
        if (sw.table_due(table, now))
            control_.push_back({switching::ControlItem::Kind::Idle,
                                now,
                                index,
                                static_cast<std::int64_t>(table),
                                false,
                                {}});
    // Aged entries stay due until the control plane has read them; until then no event follows.
    if (sw.next_ageing() > now) watch(index);
    else unread_.push_back(index);
}

void Ageing::resume() {
    std::erase_if(unread_, [this](Index<Switch> index) {
        const Time due = switches_.at(index)->next_ageing();
        if (due >= Time() && due <= timeline_.now()) return false;
        watch(index);
        return true;
    });
}

}  // namespace railyard::network
