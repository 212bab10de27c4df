// SPDX-License-Identifier: Apache-2.0
// Ageing of table entries: when the control plane hears of entries that no frame has hit for their time.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "network/events/timeline.h"
#include "switch/switch_set.h"

namespace railyard {

class Ageing {
   public:
    using Switches = List<Switch, std::unique_ptr<Switch>>;
    Ageing(Timeline& timeline, const Switches& switches, std::deque<ControlItem>& control)
        : timeline_(timeline), switches_(switches), control_(control) {}

    void add_switch() { at_.push_back(-1); }
    // Let an event follow when the next entry of a switch ages.
    void watch(Index<Switch> index);
    // Tell the control plane of the aged entries of a switch.
    void age(Index<Switch> index);
    // Watch switches again whose aged entries the control plane has read.
    void resume();
    // Events of kind Age that are pending.
    [[nodiscard]] std::size_t events() const { return events_; }
    // True once entries of a switch age: that needs a single queue.
    [[nodiscard]] bool used() const { return used_; }

   private:
    Timeline& timeline_;
    const Switches& switches_;
    std::deque<ControlItem>& control_;
    std::size_t events_ = 0;
    List<Switch, Time> at_;              // time of the next event; -1: none
    std::vector<Index<Switch>> unread_;  // switches with aged entries that were reported and not read
    bool used_ = false;
};

}  // namespace railyard
