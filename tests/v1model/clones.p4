// SPDX-License-Identifier: Apache-2.0
#define HAS_EGRESS
#include "include/frame.p4"

// Ingress clones with what = 1 and 2, egress with 3 and 4; 2 and 4 keep meta.kept. A clone leaves with its instance type
// in small, and what it kept in number.
control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
        meta.kept = 5;
        meta.lost = 6;
        if (hdr.probe.what == 1) {
            clone(CloneType.I2E, 3);
        } else if (hdr.probe.what == 2) {
            clone_preserving_field_list(CloneType.I2E, 3, 1);
        }
    }
}

control TestEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        if (std.instance_type != 0) {
            hdr.probe.small = (bit<8>)std.instance_type;
            hdr.probe.number = meta.kept ++ meta.lost;
        } else if (hdr.probe.what == 3) {
            clone(CloneType.E2E, 3);
        } else if (hdr.probe.what == 4) {
            clone_preserving_field_list(CloneType.E2E, 3, 1);
        }
    }
}

V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestUpdate(), TestDeparser()) main;
