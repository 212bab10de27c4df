// SPDX-License-Identifier: Apache-2.0
// rail_gpu.p4 with congestion marks, set by the depth of the queue that a frame leaves.
#define ECN
#include "rail_gpu.p4"
