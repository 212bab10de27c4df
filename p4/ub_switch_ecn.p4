// SPDX-License-Identifier: Apache-2.0
// ub_switch.p4 with congestion marks, set by the depth of the queue that a frame leaves.
#define ECN
#include "ub_switch.p4"
