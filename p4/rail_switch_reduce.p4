// SPDX-License-Identifier: Apache-2.0
// rail_switch.p4 that combines the values of NPUs on their way (docs/reference/reduction.md).
#define REDUCE
#include "rail_switch.p4"
