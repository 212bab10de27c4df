// SPDX-License-Identifier: Apache-2.0
// File descriptor with an owner, which closes it: socket, epoll set, event or timer.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace railyard::wire {

class Descriptor {
   public:
    // Own the result of the system call that has just opened a descriptor. If the call failed, throw
    // std::system_error for errno; `what` names what was to be opened.
    Descriptor(int fd, const std::string& what) : fd_(fd) {
        if (fd < 0) throw std::system_error(errno, std::generic_category(), what);
    }
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        Descriptor taken(std::move(other));
        std::swap(fd_, taken.fd_);
        return *this;
    }
    ~Descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }

    // Number of the descriptor, for system calls; -1 after a move.
    [[nodiscard]] int number() const { return fd_; }

   private:
    int fd_;
};

}  // namespace railyard::wire
