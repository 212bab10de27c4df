// SPDX-License-Identifier: Apache-2.0
// Python bindings: glue only. Values travel as big-endian bytes of any length up to their field's.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string_view>

namespace railyard {

namespace nb = nanobind;

inline std::string_view view(const nb::bytes& b) { return {b.c_str(), b.size()}; }
inline nb::bytes to_bytes(std::string_view v) { return nb::bytes(v.data(), v.size()); }

void bind_program(nb::module_& m);
void bind_switches(nb::module_& m);
void bind_network(nb::module_& m);

}  // namespace railyard
