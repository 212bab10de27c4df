// SPDX-License-Identifier: Apache-2.0
#include "bind.h"

NB_MODULE(_engine, m) {
    m.doc() = "A v1model switch engine and the links between switches, in virtual time (integer picoseconds).";
    // At exit a traceback or a thread may still hold a network; a user should not read of leaks then.
    nanobind::set_leak_warnings(false);
    railyard::bind_program(m);
    railyard::bind_switches(m);
    railyard::bind_network(m);
    railyard::bind_wire(m);
}
