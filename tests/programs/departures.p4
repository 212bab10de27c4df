// SPDX-License-Identifier: Apache-2.0
// Multicast, clones, recirculation and drops, of a program that does not look at its queues.
#include "include/departures.p4"
