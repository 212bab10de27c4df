// SPDX-License-Identifier: Apache-2.0
// When to look at a switch for entries that no frame has hit for long.
#include <algorithm>

#include "network.h"

namespace railyard {

void Network::watch_ageing(int switch_index) {
    const auto at = static_cast<std::size_t>(switch_index);
    const Time due = switch_at(switch_index).next_ageing();
    if (due < 0) return;
    const Time time = std::max(due, now_);
    if (age_at_[at] != -1 && age_at_[at] <= time) return;
    age_at_[at] = time;
    ++ageing_events_;
    push(time, EventKind::Age, switch_index);
}

void Network::age(int switch_index) {
    const auto at = static_cast<std::size_t>(switch_index);
    if (age_at_[at] != now_) return;  // an earlier one took its place
    age_at_[at] = -1;
    Switch& sw = *switches_[at];
    for (std::size_t table = 0; table < sw.table_count(); ++table)
        if (sw.table_due(table, now_))
            control_.push_back({ControlItem::Kind::Idle, now_, switch_index, static_cast<std::int64_t>(table), false, {}});
    // What is due stays due until the control plane has asked for it: looking again at once would never end.
    if (sw.next_ageing() > now_) watch_ageing(switch_index);
    else unread_.push_back(switch_index);
}

// Whether the control plane has read what was due.
void Network::look_again() {
    std::erase_if(unread_, [this](int index) {
        const Time due = switch_at(index).next_ageing();
        if (due >= 0 && due <= now_) return false;
        watch_ageing(index);
        return true;
    });
}

}  // namespace railyard
