// SPDX-License-Identifier: Apache-2.0
// Ageing of table entries: notifies the control plane of entries not hit for their idle timeout.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "network/events/timeline.h"
#include "switch/switch_set.h"

namespace railyard::network {

class Ageing {
   public:
    using Switches = List<Switch, std::unique_ptr<Switch>>;
    Ageing(Timeline& timeline, const Switches& switches, std::deque<switching::ControlItem>& control)
        : timeline_(timeline), switches_(switches), control_(control) {}

    void add_switch() { at_.push_back(kUnset); }
    // Schedule an event for the time at which the next entry of a switch ages.
    void watch(Index<Switch> index);
    // Notify the control plane of each table of a switch that has aged entries.
    void age(Index<Switch> index);
    // Watch switches again if the control plane has read their aged entries.
    void resume();
    // Number of pending events of kind Age.
    [[nodiscard]] std::size_t events() const { return events_; }
    // True once any entry has an idle timeout; windows are not possible then.
    [[nodiscard]] bool used() const { return used_; }

   private:
    Timeline& timeline_;
    const Switches& switches_;
    std::deque<switching::ControlItem>& control_;
    std::size_t events_ = 0;
    List<Switch, Time> at_;              // time of the next event; kUnset: none
    std::vector<Index<Switch>> unread_;  // switches with aged entries reported and not read yet
    bool used_ = false;
};

}  // namespace railyard::network
