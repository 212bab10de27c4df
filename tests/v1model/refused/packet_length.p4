// SPDX-License-Identifier: Apache-2.0
#define HAS_PARSER
#include "../include/frame.p4"

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    bit<32> length;
    state start {
        length = packet.length();
        packet.extract(hdr.probe);
        transition select(length) {
            9: long;
            default: accept;
        }
    }
    state long {
        hdr.probe.small = 9;
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
    }
}

V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestUpdate(), TestDeparser()) main;
