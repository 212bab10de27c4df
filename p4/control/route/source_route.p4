// SPDX-License-Identifier: Apache-2.0
// One hop of a source route (UB-Mesh, All-Path-Routing): bit `ptr` of the bitmap says who decides this hop, an
// instruction or the tables; which instruction is the number of bits set before it. Every hop advances ptr. What no
// instruction has decided is left to the tables that the program asks next.
#ifndef SOURCE_ROUTE_P4
#define SOURCE_ROUTE_P4

#include "../refuse.p4"

// Bits set in a 12-bit word, added in pairs, fours, then all.
control Popcount(in bit<12> word, out bit<4> count) {
    apply {
        bit<12> sum = word - ((word >> 1) & 0x555);
        sum = (sum & 0x333) + ((sum >> 2) & 0x333);
        sum = sum + (sum >> 4) + (sum >> 8);
        count = sum[3:0];
    }
}

control SourceRoute(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    Popcount() popcount_all;
    Popcount() popcount_before;

    apply {
        if (!hdr.srh.isValid()) {
            return;
        }
        if (hdr.srh.ptr >= MAX_HOPS) {
            REFUSE(HOPS);
        }
        bit<4> steered = 0;
        popcount_all.apply(hdr.srh.bitmap, steered);
        if (steered > MAX_INSTRUCTIONS) {
            REFUSE(INSTRUCTIONS);
        }
        if (hdr.srh.bitmap & (12w0x800 >> hdr.srh.ptr) != 0) {
            bit<4> before = 0;
            popcount_before.apply(hdr.srh.bitmap & ~(12w0xFFF >> hdr.srh.ptr), before);
            bit<8> offset = 40 - ((bit<8>)before << 3);
            meta.egress_port = (port_t)(hdr.srh.instr >> offset)[7:0];
            meta.decided = true;
        }
        hdr.srh.ptr = hdr.srh.ptr + 1;
    }
}

#endif
