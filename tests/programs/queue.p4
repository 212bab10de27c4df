// SPDX-License-Identifier: Apache-2.0
// Departures of a program that reads the queue's fields.
#define READS_QUEUE
#include "include/departures.p4"
