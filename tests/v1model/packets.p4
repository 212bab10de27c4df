// SPDX-License-Identifier: Apache-2.0
// The externs of core.p4. The first byte of a frame says what the parser does with the rest; the error is its number.
#include <core.p4>
#include <v1model.p4>

header head_t {
    bit<8> what;
    bit<8> fault;
    bit<8> length;
}

header part_t {
    bit<16> first;
}

header options_t {
    varbit<64> bytes;
}

struct headers_t {
    head_t head;
    part_t part;
    options_t options;
}

struct metadata_t { }

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        static_assert(1 + 1 == 2);
        static_assert(1 + 1 == 2, "arithmetic");
        packet.extract(hdr.head);
        transition select(hdr.head.what) {
            1: parse_part;
            2: parse_options;
            3: skip;
            4: look;
            5: check;
            default: accept;
        }
    }
    state parse_part {
        packet.extract(hdr.part);
        transition accept;
    }
    state parse_options {
        packet.extract(hdr.options, 8 * (bit<32>)hdr.head.length);
        transition accept;
    }
    state skip {
        packet.advance(16);
        transition parse_part;
    }
    state look {
        hdr.head.length = packet.lookahead<bit<8>>();
        transition accept;
    }
    state check {
        verify(hdr.head.length == 7, error.HeaderTooShort);
        transition parse_part;
    }
}

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
        if (std.parser_error == error.NoError) {
            hdr.head.fault = 0;
        } else if (std.parser_error == error.PacketTooShort) {
            hdr.head.fault = 1;
        } else if (std.parser_error == error.HeaderTooShort) {
            hdr.head.fault = 2;
        } else {
            hdr.head.fault = 3;
        }
    }
}

control TestVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control TestEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply { }
}

control TestUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.head);
        packet.emit(hdr.options);
        packet.emit(hdr.part);
    }
}

V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestUpdate(), TestDeparser()) main;
