// SPDX-License-Identifier: Apache-2.0
// Parts of bind_hosts(), in files of their own.
#pragma once

#include "python/bind.h"

namespace railyard::python {

void bind_ranks(nb::module_& m);
void bind_transport(nb::module_& m);
void bind_agents(nb::module_& m);

}  // namespace railyard::python
