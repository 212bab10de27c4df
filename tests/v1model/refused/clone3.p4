// SPDX-License-Identifier: Apache-2.0
#define HAS_EGRESS
#include "../include/frame.p4"

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
        if (hdr.probe.what == 1) {
            clone3(CloneType.I2E, 3, { meta.kept });
        }
    }
}

control TestEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        hdr.probe.small = (bit<8>)std.instance_type;
    }
}

V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestUpdate(), TestDeparser()) main;
