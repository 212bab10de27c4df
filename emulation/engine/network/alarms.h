// SPDX-License-Identifier: Apache-2.0
// Alarms of the control plane: each notifies it with a token at a given time.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "network/events/timeline.h"
#include "switch/switch_set.h"

namespace railyard::network {

struct Alarm {
    std::int64_t token;
};

class Alarms {
   public:
    Alarms(Timeline& timeline, std::deque<switching::ControlItem>& control)
        : timeline_(timeline), control_(control) {}

    void set(Time time, std::int64_t token) {
        if (free_.empty()) {
            free_.push_back(alarms_.next());
            alarms_.emplace_back();
        }
        const Index<Alarm> index = free_.back();
        free_.pop_back();
        ASSERT(index.at() < alarms_.size());
        alarms_[index].token = token;
        timeline_.push_control(std::max(time, timeline_.now()), EventKind::Alarm, index);
    }
    // Notify the control plane and free the alarm.
    void ring(Index<Alarm> index) {
        free_.push_back(index);
        control_.push_back(
            {switching::ControlItem::Kind::Alarm, timeline_.now(), {}, alarms_[index].token, false, {}});
    }

   private:
    Timeline& timeline_;
    std::deque<switching::ControlItem>& control_;
    List<Alarm> alarms_;
    std::vector<Index<Alarm>> free_;
};

}  // namespace railyard::network
