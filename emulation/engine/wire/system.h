// SPDX-License-Identifier: Apache-2.0
// Helpers for Linux clocks, event descriptors and errors.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>
#include <system_error>

namespace railyard::wire {

// Real time, as opposed to the picoseconds of Time: since the clock's epoch, or a duration.
using Nanoseconds = std::chrono::nanoseconds;

inline Nanoseconds clock_nanoseconds(clockid_t clock = CLOCK_MONOTONIC) {
    timespec t{};
    clock_gettime(clock, &t);
    return std::chrono::seconds(t.tv_sec) + Nanoseconds(t.tv_nsec);
}

// Convert a time for system calls.
inline timespec to_timespec(Nanoseconds time) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
    return {static_cast<time_t>(seconds.count()), static_cast<long>((time - seconds).count())};
}

// Throw std::system_error for the last system call unless `done`; `what` names the operation.
inline void require(bool done, const std::string& what) {
    if (!done) throw std::system_error(errno, std::generic_category(), what);
}

// Set an option of a raw socket.
template <typename Value>
void set_packet_option(int fd, int option, const Value& value, const std::string& what) {
    require(setsockopt(fd, SOL_PACKET, option, &value, sizeof value) == 0, what);
}

// Make an eventfd readable; clear_event() makes an eventfd or timerfd unreadable again.
inline void signal_event(int fd) {
    const std::uint64_t increment = 1;
    [[maybe_unused]] const ssize_t written =
        write(fd, &increment, sizeof increment);  // a full counter is already signalled
}
inline void clear_event(int fd) {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = read(fd, &count, sizeof count);
}

}  // namespace railyard::wire
