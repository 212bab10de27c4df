// SPDX-License-Identifier: Apache-2.0
// Capacities and constants, in one place.
#ifndef SIZE_P4
#define SIZE_P4

#define ALL_PATH_SIZE 32768
#define SEGMENT_SIZE 64
#define LINEAR_SIZE 1024
#define PORT_SIZE 512
#define VL_TURN_SIZE 512
#define PORT_VL_COUNTERS 2048
#define DROP_COUNTERS 16

// Entries of a GPU: a port for each rank of its domain, towards the domains beyond it.
#define PXN_SEGMENT_SIZE 64
#define PXN_SIZE 1024
// Entries of a rail switch: as many members as there can be domains and ranks, 13 bits, and groups of ports.
#define RAIL_SIZE 64
#define RAIL_SEGMENT_SIZE 1024
#define RAIL_LINEAR_SIZE 8192
#define MULTIPATH_GROUPS 1024
#define MULTIPATH_MEMBERS 16384

#define CPU_PORT 510

// Ethernet carries a UB link across a Linux interface: IEEE local experimental type.
const bit<16> ETHERTYPE_UB = 0x88B5;

// LPH.cfg: the network header follows the link packet header.
#ifdef CNA24
const bit<4> CFG_NETWORK = 0xD;      // this testbed's code: CNA24
#else
const bit<4> CFG_NETWORK = 0x6;      // UnifiedBus code: CNA16
#endif

// A flit is 20 bytes, a block 32 flits, a packet 16 blocks (UnifiedBus, as ns-3-UB models it).
const bit<5> FLIT_BYTES = 20;

// A class has two VLs, and its number is what is left of a VL without its last bit. Class 1 are responses and management;
// data are of class 0 and of 2 to 7, by their service level.
const bit<4> VL_RESPONSE = 2;
const bit<3> PRIORITY_RESPONSE = 7;

#endif
