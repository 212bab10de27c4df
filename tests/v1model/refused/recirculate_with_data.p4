// SPDX-License-Identifier: Apache-2.0
#define HAS_EGRESS
#include "../include/frame.p4"

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
        if (std.instance_type != 0) {
            hdr.probe.small = (bit<8>)std.instance_type;
        }
    }
}

control TestEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        if (std.instance_type == 0 && hdr.probe.what == 1) {
            recirculate({ meta.kept });
        }
    }
}

V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestUpdate(), TestDeparser()) main;
