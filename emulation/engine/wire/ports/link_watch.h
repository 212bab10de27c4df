// SPDX-License-Identifier: Apache-2.0
// Monitor of the interfaces of this network namespace, by rtnetlink.
#pragma once

#include <string>
#include <vector>

#include "wire/descriptor.h"

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
    // Subscribe to changes, and request the current state for read(). std::system_error if that fails.
    LinkWatch();
    [[nodiscard]] int fd() const { return socket_.number(); }
    // Return the changes since the last call; does not block.
    std::vector<LinkChange> read();

   private:
    void ask();
    Descriptor socket_;
};

}  // namespace railyard::wire
