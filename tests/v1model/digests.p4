// SPDX-License-Identifier: Apache-2.0
#include "include/frame.p4"

struct learnt_t {
    bit<9> port;
    bit<16> number;
}

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
        if (hdr.probe.what == 1) {
            digest<learnt_t>(1, { std.ingress_port, hdr.probe.number });
        }
    }
}

V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestUpdate(), TestDeparser()) main;
