// SPDX-License-Identifier: Apache-2.0
#include "include/frame.p4"

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    register<bit<32>>(4) numbers;
    register<bit<96>>(4) wide;

    apply {
        std.egress_spec = 1;
        bit<32> index = (bit<32>)hdr.probe.what;
        bit<32> before;
        bit<96> wide_before;
        numbers.read(before, index);
        numbers.write(index, hdr.probe.result);
        wide.read(wide_before, index);
        wide.write(index, wide_before + (1 << 80));
        hdr.probe.result = before;
        hdr.probe.number = wide_before[95:80];
    }
}

V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestUpdate(), TestDeparser()) main;
