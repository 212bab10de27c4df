// SPDX-License-Identifier: Apache-2.0
#include "../include/frame.p4"

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    Checksum16() sum;
    apply {
        std.egress_spec = 1;
        hdr.probe.number = sum.get({ hdr.probe.what, hdr.probe.small, hdr.probe.result });
    }
}

V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestUpdate(), TestDeparser()) main;
