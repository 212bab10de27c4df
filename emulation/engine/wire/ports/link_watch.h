// SPDX-License-Identifier: Apache-2.0
// Monitor of the interfaces of this network namespace, by rtnetlink.
#pragma once

#include <string>
#include <vector>

namespace railyard::wire {

struct LinkChange {
    int ifindex;
    std::string name;
    bool removed;
    bool up;  // administratively up, and with a carrier
    unsigned mtu;
};

class LinkWatch {
   public:
    LinkWatch() = default;
    LinkWatch(const LinkWatch&) = delete;
    LinkWatch& operator=(const LinkWatch&) = delete;
    ~LinkWatch();

    // Subscribe to changes, and request the current state for read(). std::system_error if that fails.
    void open();
    [[nodiscard]] int fd() const { return fd_; }
    // Return the changes since the last call; does not block.
    std::vector<LinkChange> read();

   private:
    void ask();
    int fd_ = -1;
};

}  // namespace railyard::wire
