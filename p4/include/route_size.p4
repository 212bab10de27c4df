// SPDX-License-Identifier: Apache-2.0
// Constants of the programs that route.
#ifndef ROUTE_SIZE_P4
#define ROUTE_SIZE_P4

// LPH.cfg, this testbed's codes: source-route header, then network header.
#ifdef CNA24
const bit<4> CFG_SOURCE_ROUTE = 0xE;
#else
const bit<4> CFG_SOURCE_ROUTE = 0xC;
#endif

// UB-Mesh, All-Path-Routing: an 8-byte header with a 12-bit bitmap and six instructions.
const bit<4> MAX_HOPS = 12;
const bit<4> MAX_INSTRUCTIONS = 6;
const bit<5> SRH_BYTES = 8;

// Direction group of the port that leads to the NPU's own side; mesh groups start at 1.
const bit<3> GROUP_LOCAL = 0;

// Class of responses and management: VL 2 and 3.
const bit<3> CLASS_RESPONSE = 1;

#endif
