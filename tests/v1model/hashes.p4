// SPDX-License-Identifier: Apache-2.0
#include "include/frame.p4"

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
        bit<16> sum;
        if (hdr.probe.what == 1) {
            hash(hdr.probe.result, HashAlgorithm.crc32, 32w0, { hdr.probe.number }, 64w0x100000000);
        } else if (hdr.probe.what == 2) {
            hash(hdr.probe.result, HashAlgorithm.crc32_custom, 32w0, { hdr.probe.number }, 64w0x100000000);
        } else if (hdr.probe.what == 3) {
            hash(sum, HashAlgorithm.crc16, 16w0, { hdr.probe.number, hdr.probe.small }, 32w0x10000);
            hdr.probe.result = 16w0 ++ sum;
        } else if (hdr.probe.what == 4) {
            hash(sum, HashAlgorithm.crc16_custom, 16w0, { hdr.probe.number, hdr.probe.small }, 32w0x10000);
            hdr.probe.result = 16w0 ++ sum;
        } else if (hdr.probe.what == 5) {
            hash(hdr.probe.result, HashAlgorithm.identity, 32w0, { hdr.probe.number, hdr.probe.small }, 32w0xFFFFFFFF);
        } else if (hdr.probe.what == 6) {
            hash(sum, HashAlgorithm.csum16, 16w0, { hdr.probe.number, hdr.probe.small, 8w0 }, 32w0x10000);
            hdr.probe.result = 16w0 ++ sum;
        } else if (hdr.probe.what == 7) {
            hash(sum, HashAlgorithm.xor16, 16w0, { hdr.probe.number, hdr.probe.small, 8w0 }, 32w0x10000);
            hdr.probe.result = 16w0 ++ sum;
        } else if (hdr.probe.what == 8) {
            hash(hdr.probe.result, HashAlgorithm.identity, 32w100, { hdr.probe.number }, 32w10);
        }
    }
}

V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestUpdate(), TestDeparser()) main;
