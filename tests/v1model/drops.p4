// SPDX-License-Identifier: Apache-2.0
#define HAS_EGRESS
#include "include/frame.p4"

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
        if (hdr.probe.what == 1) {
            mark_to_drop(std);
        } else if (hdr.probe.what == 2) {
            mark_to_drop(std);
            std.egress_spec = 1;
        } else if (hdr.probe.what == 3) {
            std.mcast_grp = 5;
            mark_to_drop(std);
        }
    }
}

control TestEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        if (hdr.probe.what == 4) {
            mark_to_drop(std);
        }
    }
}

V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestUpdate(), TestDeparser()) main;
