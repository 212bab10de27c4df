// SPDX-License-Identifier: Apache-2.0
// Indices and standard_metadata as v1model declares them from this version on.
#define V1MODEL_VERSION 20200408
#include "include/frame.p4"

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    counter<bit<2>>(4, CounterType.packets) counted;
    meter<bit<2>>(4, MeterType.packets) metered;
    register<bit<32>, bit<2>>(4) numbers;

    apply {
        std.egress_spec = 1;
        bit<2> index = hdr.probe.what[1:0];
        bit<8> colour;
        bit<32> before;
        counted.count(index);
        metered.execute_meter(index, colour);
        numbers.read(before, index);
        numbers.write(index, hdr.probe.result);
        hdr.probe.result = before;
        hdr.probe.small = colour;
        hdr.probe.number = std.parser_error == error.NoError ? (bit<16>)std.ingress_port : 0xFFFF;
    }
}

V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestUpdate(), TestDeparser()) main;
