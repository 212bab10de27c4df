// SPDX-License-Identifier: Apache-2.0
// The same, of a program that does.
#define READS_QUEUE
#include "include/departures.p4"
