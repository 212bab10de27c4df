// SPDX-License-Identifier: Apache-2.0
// One of several ports that lead to the same place. With lb_mode 0 all frames of a flow, equal in scna, dcna and lb,
// take one way, by a hash; with lb_mode 1 lb itself counts the ways, frame by frame. `shift` lets the tiers of a
// fabric look at different bits.
#ifndef MULTIPATH_P4
#define MULTIPATH_P4

#include "refuse.p4"

control Multipath(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    action set_way(port_t port) {
        meta.egress_port = port;
    }
    action no_way() {
        REFUSE(NO_ROUTE);
    }
    @name("multipath")
    table multipath {
        key = { meta.index: exact @name("index"); }
        actions = { set_way; @defaultonly no_way; }
        const default_action = no_way();
        size = MULTIPATH_SIZE;
    }

    apply {
        bit<16> way = (bit<16>)hdr.nth.lb;
        if (hdr.lph.lb_mode == 0) {
            bit<32> flow;
            hash(flow, HashAlgorithm.crc32, 32w0, { hdr.nth.scna, hdr.nth.dcna, hdr.nth.lb }, 64w0x100000000);
            way = flow[15:0];
        }
        meta.index = meta.base + ((way >> meta.shift) & meta.mask);
        multipath.apply();
    }
}

#endif
