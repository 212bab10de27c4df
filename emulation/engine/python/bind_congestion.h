// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "hosts/congestion/control.h"
#include "python/bind.h"

namespace railyard {

// Maker of the congestion control of a connection.
struct ChosenCongestion {
    std::function<std::unique_ptr<CongestionControl>()> make;
    PathFacts facts;
};

// From (name, parameters, facts, maker of an algorithm in Python or None).
ChosenCongestion chosen_congestion(const nb::object& given);
void bind_congestion(nb::module_& m);
void bind_entropies(nb::module_& m);

}  // namespace railyard
