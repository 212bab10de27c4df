// SPDX-License-Identifier: Apache-2.0
// Lab 7: one of several ports that lead to the same place. Frames of a flow, equal in scna, dcna and lb, take one way.
// With the number of a group, a switch's table gives meta.shift and meta.mask; `multipath` maps the number `ecmp_hash`, modulo
// the ways of the group, to a port. ToRs and aggregation switches run this same control.
#ifndef MULTIPATH_P4
#define MULTIPATH_P4

#include "../refuse.p4"

control Multipath(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    action set_egress_port(port_t port) {
        meta.egress_port = port;
    }
    @name("multipath")
    table multipath {
        key = { meta.group: exact @name("group"); meta.ecmp_hash: selector @name("ecmp_hash"); }
        actions = { set_egress_port; }
        @name("ecmp_selector") implementation = action_selector(HashAlgorithm.identity, MULTIPATH_MEMBERS, 32w16);
        size = MULTIPATH_GROUPS;
    }

    apply {
        meta.ecmp_hash = (bit<16>)hdr.nth.lb;
        // With lb_mode 1 the host counts the ways itself, frame by frame.
        if (hdr.lph.lb_mode == 0) {
            bit<32> flow;
            hash(flow, HashAlgorithm.crc32, 32w0, { hdr.nth.scna, hdr.nth.dcna, hdr.nth.lb }, 64w0x100000000);
            meta.ecmp_hash = flow[15:0];
        }
        meta.ecmp_hash = (meta.ecmp_hash >> meta.shift) & meta.mask;
        if (!multipath.apply().hit) {
            REFUSE(NO_ROUTE);
        }
    }
}

#endif
