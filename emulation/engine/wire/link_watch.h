// SPDX-License-Identifier: Apache-2.0
// What the kernel says of the interfaces of this network namespace, by rtnetlink.
#pragma once

#include <string>
#include <vector>

namespace railyard {

struct LinkChange {
    int ifindex;
    std::string name;
    bool gone;
    bool up;  // administratively, and with a carrier
    unsigned mtu;
};

class LinkWatch {
   public:
    LinkWatch() = default;
    LinkWatch(const LinkWatch&) = delete;
    LinkWatch& operator=(const LinkWatch&) = delete;
    ~LinkWatch();

    // Listens from now on, and asks for the present state, which read() then gives. std::system_error.
    void open();
    int fd() const { return fd_; }
    // Everything said since the last call; waits for nothing.
    std::vector<LinkChange> read();

   private:
    void ask();
    int fd_ = -1;
};

}  // namespace railyard
