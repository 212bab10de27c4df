// SPDX-License-Identifier: Apache-2.0
// Clock, event descriptors and errors of Linux.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <ctime>
#include <string>
#include <system_error>

namespace railyard {

inline std::int64_t clock_nanoseconds(clockid_t clock = CLOCK_MONOTONIC) {
    timespec t{};
    clock_gettime(clock, &t);
    return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

// Throw the error of the last system call unless it is done.
inline void require(bool done, const std::string& what) {
    if (!done) throw std::system_error(errno, std::generic_category(), what);
}

// Set an option of a raw socket.
template <typename Value>
void set_packet_option(int fd, int option, const Value& value, const char* what) {
    require(setsockopt(fd, SOL_PACKET, option, &value, sizeof value) == 0, what);
}

// Make an eventfd or a timer readable, and no longer readable.
inline void signal_event(int fd) {
    const std::uint64_t increment = 1;
    [[maybe_unused]] const ssize_t written =
        write(fd, &increment, sizeof increment);  // a full counter is already signalled
}
inline void clear_event(int fd) {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = read(fd, &count, sizeof count);
}

}  // namespace railyard
