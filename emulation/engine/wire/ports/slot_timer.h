// SPDX-License-Identifier: Apache-2.0
// Timer of paced ports: tells when the slot of a waiting port has come.
#pragma once

#include <sys/timerfd.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "wire/descriptor.h"
#include "wire/ports/port.h"
#include "wire/system.h"

namespace railyard::wire {

class SlotTimer {
   public:
    // Readable when a slot has come; call take_due() then.
    [[nodiscard]] int fd() const { return timer_.number(); }
    // Let a port wait for its slot.
    void wait(WirePort& port) {
        if (!std::exchange(port.waits, true)) waiting_.push_back(&port);
        set();
    }
    // Remove and return the ports whose slots have come.
    [[nodiscard]] std::vector<WirePort*> take_due() {
        clear_event(fd());
        const Nanoseconds now = clock_nanoseconds();
        std::vector<WirePort*> due;
        for (WirePort* const port : waiting_) {
            if (port->slot_at > now) continue;
            port->waits = false;
            due.push_back(port);
        }
        std::erase_if(waiting_, [](const WirePort* port) { return !port->waits; });
        set();
        return due;
    }

   private:
    void set() {
        if (waiting_.empty()) return;
        Nanoseconds first = Nanoseconds::max();
        for (const WirePort* const port : waiting_) first = std::min(first, port->slot_at);
        itimerspec at{};
        at.it_value = to_timespec(first);
        require(timerfd_settime(fd(), TFD_TIMER_ABSTIME, &at, nullptr) == 0,
                "setting the timer of paced ports");
    }

    Descriptor timer_{timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC),
                      "the timer of paced ports"};
    std::vector<WirePort*> waiting_;
};

}  // namespace railyard::wire
