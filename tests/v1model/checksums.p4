// SPDX-License-Identifier: Apache-2.0
#define HAS_CHECKSUMS
#include "include/frame.p4"

// number is the checksum of the other fields; with what = 2 of the payload too. Ingress tells in small if it was wrong.
control TestVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.probe.what == 1, { hdr.probe.what, hdr.probe.small, hdr.probe.result }, hdr.probe.number,
                        HashAlgorithm.csum16);
        verify_checksum_with_payload(hdr.probe.what == 2, { hdr.probe.what, hdr.probe.small, hdr.probe.result },
                                     hdr.probe.number, HashAlgorithm.csum16);
    }
}

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
        hdr.probe.small = (bit<8>)std.checksum_error;
    }
}

control TestUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.probe.what == 1, { hdr.probe.what, hdr.probe.small, hdr.probe.result }, hdr.probe.number,
                        HashAlgorithm.csum16);
        update_checksum_with_payload(hdr.probe.what == 2, { hdr.probe.what, hdr.probe.small, hdr.probe.result },
                                     hdr.probe.number, HashAlgorithm.csum16);
    }
}

V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestUpdate(), TestDeparser()) main;
