// SPDX-License-Identifier: Apache-2.0
// Helpers for Linux clocks, event descriptors and errors.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <ctime>
#include <string>
#include <system_error>

namespace railyard::wire {

inline std::int64_t clock_nanoseconds(clockid_t clock = CLOCK_MONOTONIC) {
    timespec t{};
    clock_gettime(clock, &t);
    return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

// Throw std::system_error for the last system call unless `done`; `what` names the operation.
inline void require(bool done, const std::string& what) {
    if (!done) throw std::system_error(errno, std::generic_category(), what);
}

// Set an option of a raw socket.
template <typename Value>
void set_packet_option(int fd, int option, const Value& value, const char* what) {
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
