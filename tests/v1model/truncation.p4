// SPDX-License-Identifier: Apache-2.0
#include "include/frame.p4"

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
        if (hdr.probe.what != 0) {
            truncate((bit<32>)hdr.probe.what);
        }
    }
}

V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestUpdate(), TestDeparser()) main;
