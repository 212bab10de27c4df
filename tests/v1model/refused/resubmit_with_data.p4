// SPDX-License-Identifier: Apache-2.0
#include "../include/frame.p4"

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
        if (std.instance_type == 0 && hdr.probe.what == 1) {
            resubmit({ meta.kept });
        }
        hdr.probe.small = (bit<8>)std.instance_type;
    }
}

V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestUpdate(), TestDeparser()) main;
