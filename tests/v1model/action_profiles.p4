// SPDX-License-Identifier: Apache-2.0
#include "include/frame.p4"

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    action_profile(8) answers;
    action_selector(HashAlgorithm.crc16, 8, 16) members;

    action answered(bit<16> value) {
        hdr.probe.number = value;
    }
    action chosen(bit<32> value) {
        hdr.probe.result = value;
    }
    table shared {
        key = { hdr.probe.what: exact @name("what"); }
        actions = { answered; NoAction; }
        implementation = answers;
    }
    table selected {
        key = {
            hdr.probe.what: exact @name("what");
            hdr.probe.small: selector @name("small");
        }
        actions = { chosen; NoAction; }
        implementation = members;
    }

    apply {
        std.egress_spec = 1;
        shared.apply();
        selected.apply();
    }
}

V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestUpdate(), TestDeparser()) main;
