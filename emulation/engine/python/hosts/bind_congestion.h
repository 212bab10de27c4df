// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "hosts/congestion/control.h"
#include "python/bind.h"

namespace railyard::python {

// Factory of congestion control for connections, and the facts of their paths.
struct ChosenCongestion {
    std::function<std::unique_ptr<hosts::CongestionControl>()> make;
    hosts::PathFacts facts;
};

// Convert the tuple (name, parameters, facts, factory), whose factory returns a Python algorithm or is None.
ChosenCongestion chosen_congestion(const nb::object& given);
void bind_congestion(nb::module_& m);
void bind_entropies(nb::module_& m);

}  // namespace railyard::python
