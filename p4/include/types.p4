// SPDX-License-Identifier: Apache-2.0
#ifndef TYPES_P4
#define TYPES_P4

typedef bit<9> port_t;
#ifdef CNA24
typedef bit<24> cna_t;
#else
typedef bit<16> cna_t;
#endif
typedef bit<4> vl_t;
typedef bit<3> group_t;

// Index of the drop counter: why a frame was not forwarded.
enum bit<8> drop_reason_t {
    NONE = 0,
    TRUNCATED = 1,
    ETHERTYPE = 2,
    CFG = 3,
    INSTRUCTIONS = 4,
    HOPS = 5,
    NO_PORT = 6,
    NO_ROUTE = 7,
    VL = 8,
    ARRIVAL = 9,
    LENGTH = 10,
    NO_HOST = 11,
    FOREIGN_RAIL = 12,
    NO_TREE = 13,
    REPEATED = 14
}

struct metadata_t {
    bool from_host;
    bool routed;          // the egress port is to be decided; false: a packet-out named it
    port_t egress_port;   // decided egress port
    bool decided;         // an instruction, or a table before the last one, has decided it
    bit<4> bucket;        // path bucket: low bits of NTH.lb
    bit<16> base;
    bit<8> shift;
    bit<16> mask;
    bit<16> index;
    bit<16> group;        // group of ports that lead to the same place
    bit<16> ecmp_hash;    // selects one of them
    bool on_rail;         // base, shift and mask are those of the switch's own rail
    group_t in_group;     // direction of the hop the frame came by
    bit<1> in_up;
    group_t out_group;    // direction of the hop it leaves by
    bit<1> out_up;
    vl_t vl;              // the frame came on it
    vl_t turn_vl;         // the same, and then that it leaves on, data of every class being as those of class 0
    vl_t class_vl;        // the first VL of its class, of data beyond class 0
}

#endif
