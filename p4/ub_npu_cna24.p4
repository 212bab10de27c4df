// SPDX-License-Identifier: Apache-2.0
// ub_npu.p4 with the CNA24 network header: addresses of 24 bits, whose upper 8 bits are 0 in every table.
#define CNA24
#include "ub_npu.p4"
