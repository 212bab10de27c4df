// SPDX-License-Identifier: Apache-2.0
// Timer of paced ports: tells when the slot of a waiting port has come.
#pragma once

#include <sys/timerfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "wire/ports/port.h"
#include "wire/system.h"

namespace railyard::wire {

class SlotTimer {
   public:
    SlotTimer() : fd_(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {
        require(fd_ >= 0, "an event descriptor");
    }
    SlotTimer(const SlotTimer&) = delete;
    SlotTimer& operator=(const SlotTimer&) = delete;
    ~SlotTimer() { close(fd_); }

    // Readable when a slot has come; call take_due() then.
    [[nodiscard]] int fd() const { return fd_; }
    // Let a port wait for its slot.
    void wait(WirePort& port) {
        if (!std::exchange(port.waits, true)) waiting_.push_back(&port);
        set();
    }
    // Remove and return the ports whose slots have come.
    [[nodiscard]] std::vector<WirePort*> take_due() {
        clear_event(fd_);
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
        require(timerfd_settime(fd_, TFD_TIMER_ABSTIME, &at, nullptr) == 0, "a timer");
    }

    int fd_;
    std::vector<WirePort*> waiting_;
};

}  // namespace railyard::wire
