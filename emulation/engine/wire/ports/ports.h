// SPDX-License-Identifier: Apache-2.0
// All ports of a Wire: their numbers, and the sockets of their interfaces, registered with an epoll set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "index.h"
#include "switch/switch.h"
#include "wire/ports/port.h"

namespace railyard::wire {

class WirePorts {
   public:
    using Switches = List<Switch, std::unique_ptr<Switch>>;

    // `epoll`: descriptor of the epoll set. The event data of a port is `first_token` plus its index.
    WirePorts(const Switches& switches, int epoll, std::uint64_t first_token)
        : switches_(switches), epoll_(epoll), first_token_(first_token) {}

    void add_switch() { by_number_.emplace_back(); }
    // Bind a port to an interface. std::invalid_argument if the interface does not exist, or the port or the
    // interface is taken.
    void add(Index<Switch> switch_index, Port port, const std::string& interface);
    // Return the index of a port; none if there is no such port.
    [[nodiscard]] Index<WirePort> find(Index<Switch> switch_index, Port port) const;
    // Return a port; std::invalid_argument if there is no such port.
    [[nodiscard]] WirePort& at(Index<Switch> switch_index, Port port);
    [[nodiscard]] WirePort& operator[](Index<WirePort> index) { return *ports_[index]; }
    [[nodiscard]] auto begin() const { return ports_.begin(); }
    [[nodiscard]] auto end() const { return ports_.end(); }
    // Switch, number and interface of a port, for messages.
    [[nodiscard]] std::string name_of(const WirePort& port) const;

    // Open the interfaces of all ports, with a send buffer of `send_bytes` each. std::system_error if one
    // cannot be opened; then none is open.
    void attach_all(int send_bytes);
    void attach(WirePort& port, int ifindex, unsigned mtu);
    // Close the socket of a port, and drop the frames in its queues.
    void detach(WirePort& port);
    void close_all();
    // Stop or continue sending: a blocked port waits until its socket is writable.
    void block(WirePort& port, bool blocked);

   private:
    void open(WirePort& port, int ifindex, unsigned mtu);
    void watch(const WirePort& port, int operation);                 // EPOLL_CTL_ADD or EPOLL_CTL_MOD
    void for_every_port(const std::function<void(WirePort&)>& act);  // in many threads

    const Switches& switches_;
    int epoll_;
    std::uint64_t first_token_;
    List<WirePort, std::unique_ptr<WirePort>> ports_;
    List<Switch, std::vector<Index<WirePort>>> by_number_;
    std::size_t ring_bytes_ = 0;
    int send_bytes_ = 0;
};

}  // namespace railyard::wire
