// SPDX-License-Identifier: Apache-2.0
#include "include/frame.p4"

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
        bit<16> drawn;
        bit<64> fixed;
        random(drawn, 16w10, 16w20);
        random<bit<64>>(fixed, 64w0x123456789A, 64w0x123456789A);
        hdr.probe.small = drawn >= 10 && drawn <= 20 ? 8w1 : 8w0;
        hdr.probe.result = fixed[39:8];
    }
}

V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestUpdate(), TestDeparser()) main;
