// SPDX-License-Identifier: Apache-2.0
// Parts that the p4info has and the compiled program has not: the selector of a table that no frame reaches, and a controller
// header that is never emitted. And the other way round: the table of a `switch` over a value, which the compiler adds.
#include <core.p4>
#include <v1model.p4>

header head_t {
    bit<8> what;
    bit<8> port;
}

@controller_header("packet_in")
header packet_in_t {
    bit<16> reason;
}

struct headers_t {
    head_t head;
}

struct metadata_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.head);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    action send(bit<9> port) {
        std.egress_spec = port;
    }
    @name("selector")
    action_selector(HashAlgorithm.crc16, 8, 8) selector_;
    @name("indirect")
    table indirect {
        key = {
            hdr.head.what: exact @name("what");
            hdr.head.port: selector;
        }
        actions = { send; }
        implementation = selector_;
    }
    apply {
        std.egress_spec = 1;
        switch (hdr.head.what) {
            7: { std.egress_spec = 2; }
            8: { std.egress_spec = (bit<9>)hdr.head.port; }
            9: { std.egress_spec = 510; }
            default: { mark_to_drop(std); }
        }
        if (false) {
            indirect.apply();
        }
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
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksum(), TestIngress(), TestEgress(), NoChecksum(), TestDeparser()) main;
