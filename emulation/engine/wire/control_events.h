// SPDX-License-Identifier: Apache-2.0
// Packet-ins and digests on their way to the control plane. Their number and bytes are limited: frames may
// cause events faster than the control plane takes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "switch/switch_set.h"
#include "wire/messages.h"

namespace railyard::wire {

class ControlEvents {
   public:
    ControlEvents(std::deque<switching::ControlItem>& queue, Messages& messages)
        : queue_(queue), messages_(messages) {}

    void add_switch(std::string name) { lost_.push_back({.switch_name = std::move(name)}); }
    // Queue an event of a switch, or count it as lost if the queue is full.
    void report(switching::ControlItem item);
    // Note that the control plane has taken an event; once the queue is empty, tell the user of lost events.
    void taken(const switching::ControlItem& item);
    // Remove all events.
    void clear();

   private:
    // Events lost because the queue was full, and not reported to the user yet.
    struct Lost {
        std::string switch_name;
        std::uint64_t packet_ins = 0, digests = 0;
    };

    std::deque<switching::ControlItem>& queue_;
    Messages& messages_;
    List<switching::Switch, Lost> lost_;
    bool any_lost_ = false;
    std::size_t bytes_ = 0;  // of waiting packet-ins and digests
};

}  // namespace railyard::wire
