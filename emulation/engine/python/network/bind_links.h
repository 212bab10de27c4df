// SPDX-License-Identifier: Apache-2.0
// Parts of bind_network() in files of their own, and how they read a direction.
#pragma once

#include <string>

#include "network/network.h"
#include "python/bind.h"

namespace railyard::python {

// Return a direction of a link, 0 or 1. Error: exception for other numbers.
template <typename Error>
Direction direction_of(const network::Network& n, Index<network::Link> link, int number) {
    if (number == 0 || number == 1) return static_cast<Direction>(number);
    throw Error("link " + n.links().channel(link, Direction::Forward).name + " has no direction " +
                std::to_string(number) + "; give 0 or 1");
}

void bind_queue_policy(nb::module_& m);
void bind_connections(nb::class_<network::Network, SwitchSet>& c);
void bind_link_changes(nb::class_<network::Network, SwitchSet>& c);
void bind_measurements(nb::class_<network::Network, SwitchSet>& c);

}  // namespace railyard::python
