// SPDX-License-Identifier: Apache-2.0
// Bit layouts, most significant bit first. docs/reference/wire-format.md explains them and names their sources.
#ifndef HEADERS_P4
#define HEADERS_P4

#include "types.p4"
#ifdef REDUCE
#include "reduction.p4"
#endif

@controller_header("packet_in")
header packet_in_t {
    bit<9> ingress_port;
    bit<7> pad;
}

// routed = 1: forward as if the NPU's own side had sent it; 0: send on egress_port as it is.
@controller_header("packet_out")
header packet_out_t {
    bit<9> egress_port;
    bit<1> routed;
    bit<6> pad;
}

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

// Link packet header.
header lph_t {
    bit<1> credit;
    bit<1> ack;
    bit<4> credit_vl;
    bit<1> rsv0;
    vl_t vl;
    bit<1> rsv1;
    bit<4> cfg;
    bit<1> lb_mode;
    bit<1> rt;
    bit<4> blocks;  // blocks - 1
    bit<5> flits;   // flits of the last block - 1
    bit<5> tail;    // bytes of the last flit - 1
}

// Source-route header (UB-Mesh, All-Path-Routing). instr holds six egress ports of 8 bits, the first leftmost.
header srh_t {
    bit<4> ptr;
    bit<12> bitmap;
    bit<48> instr;
}

// Network header: CNA16 of 8 bytes, or CNA24 of 12 in programs that define CNA24.
header nth_t {
#ifdef CNA24
    bit<2> rt;
    bit<6> rsv0;
#endif
    cna_t scna;
    cna_t dcna;
    bit<16> cc;
    bit<8> lb;
    bit<4> sl;
    bit<1> mgmt;
    bit<3> nlp;
#ifdef CNA24
    bit<8> rsv1;
#endif
}

struct headers_t {
    packet_in_t packet_in;
    packet_out_t packet_out;
    ethernet_t ethernet;
    lph_t lph;
    srh_t srh;
    nth_t nth;
#ifdef REDUCE
    reduction_t reduction;
    reduction_values_t reduction_values;
#endif
}

#endif
