// SPDX-License-Identifier: Apache-2.0
// For the tests of links and queues: the first byte of a frame names its egress port and its VL.
#include <core.p4>
#include <v1model.p4>

header head_t {
    bit<5> port;
    bit<3> vl;
}

struct headers_t {
    head_t head;
}

struct metadata_t { }

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.head);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    action forward(bit<9> port, bit<5> next) {
        std.egress_spec = port;
        hdr.head.port = next;
    }
    @name("forward")
    table forward_table {
        key = { hdr.head.port: exact @name("port"); }
        actions = { forward; NoAction; }
        default_action = NoAction();
        size = 32;
    }
    apply {
        std.egress_spec = (bit<9>)hdr.head.port;
        std.priority = hdr.head.vl;
        forward_table.apply();
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
