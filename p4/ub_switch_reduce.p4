// SPDX-License-Identifier: Apache-2.0
// ub_switch.p4 that combines the values of NPUs on their way (docs/reference/reduction.md).
#define REDUCE
#include "ub_switch.p4"
