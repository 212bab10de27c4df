// SPDX-License-Identifier: Apache-2.0
#define HAS_EGRESS
#include "include/frame.p4"

// A frame is cut to as many bytes as `what` says; with small = 1 it is recirculated after that, with small = 2 copied
// by multicast group 1.
control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
        if (hdr.probe.what != 0 && meta.kept == 0) {
            truncate((bit<32>)hdr.probe.what);
        }
        if (hdr.probe.small == 2) {
            std.mcast_grp = 1;
        }
    }
}

control TestEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        if (hdr.probe.small == 1 && meta.kept == 0) {
            meta.kept = 1;
            recirculate_preserving_field_list(1);
        }
    }
}

V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestUpdate(), TestDeparser()) main;
