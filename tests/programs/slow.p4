// SPDX-License-Identifier: Apache-2.0
// A frame that takes long: `rounds` rounds of a loop, each with a hash over 2,051 bytes; `result` is their exclusive or.
#include <core.p4>
#include <v1model.p4>

header head_t {
    bit<8> port;
    bit<24> rounds;
    bit<32> result;
}

struct headers_t {
    head_t head;
}

struct metadata_t {
    bit<2048> wide;
}

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.head);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    action work() {
        for (bit<24> i = 0; i < hdr.head.rounds; i = i + 1) {
            bit<32> sum;
            tuple<bit<24>, bit<2048>, bit<2048>, bit<2048>, bit<2048>, bit<2048>, bit<2048>, bit<2048>, bit<2048>> data =
                { i, meta.wide, meta.wide, meta.wide, meta.wide, meta.wide, meta.wide, meta.wide, meta.wide };
            hash(sum, HashAlgorithm.crc32, 32w0, data, 64w0x100000000);
            meta.wide[31:0] = sum;
            hdr.head.result = hdr.head.result ^ sum;
        }
    }
    apply {
        std.egress_spec = (bit<9>)hdr.head.port;
        work();
    }
}

control TestEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply { }
}

control NoChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.head);
    }
}

V1Switch(TestParser(), NoChecksum(), TestIngress(), TestEgress(), NoChecksum(), TestDeparser()) main;
