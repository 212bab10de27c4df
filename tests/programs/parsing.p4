// SPDX-License-Identifier: Apache-2.0
// All that a parser may do: a stack, a union, a field of variable length, lookahead, advance, verify, a value set; and
// what controls do with them.
#include <core.p4>
#include <v1model.p4>

header front_t {
    bit<8> kind;
    bit<8> port;
}

header label_t {
    bit<20> value;
    bit<3> class;
    bit<1> last;
    bit<8> hops;
}

header options_t {
    bit<4> version;
    bit<4> words;
    varbit<64> data;
    bit<8> after;
}

header small_t {
    bit<8> tag;
    bit<8> value;
}

header large_t {
    bit<8> tag;
    bit<24> value;
}

header_union either_t {
    small_t small;
    large_t large;
}

header report_t {
    bit<8> error_seen;
    bit<32> labels;
    bit<8> ahead;
    bit<8> found;
}

struct headers_t {
    report_t report;
    front_t front;
    label_t[3] labels;
    options_t options;
    options_t options_copy;
    either_t either;
    small_t small_copy;
}

struct metadata_t {
    bit<8> ahead;
    bit<8> found;
}

error {
    LabelOutOfClass
}

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    @name("kinds")
    value_set<bit<8>>(4) kinds;

    state start {
        packet.extract(hdr.front);
        transition select(hdr.front.kind) {
            1: labels;
            2: options;
            3: unions;
            4: ahead;
            5: skip;
            0x60 &&& 0xF0: labels;
            kinds: in_set;
            default: accept;
        }
    }
    state labels {
        packet.extract(hdr.labels.next);
        verify(hdr.labels.last.class != 7, error.LabelOutOfClass);
        transition select(hdr.labels.last.last) {
            0: labels;
            1: after_labels;
        }
    }
    state after_labels {
        transition select(hdr.front.port, hdr.labels.last.value) {
            (9, 20w0x12345): options;
            (_, 20w0x00010 &&& 20w0xFFFF0): unions;
            default: accept;
        }
    }
    state options {
        packet.extract(hdr.options, (bit<32>)packet.lookahead<bit<8>>()[3:0] * 32 - 16);
        transition accept;
    }
    state unions {
        transition select(packet.lookahead<bit<8>>()) {
            1: small;
            2: large;
        }
    }
    state small {
        packet.extract(hdr.either.small);
        transition accept;
    }
    state large {
        packet.extract(hdr.either.large);
        transition accept;
    }
    state ahead {
        meta.ahead = packet.lookahead<bit<24>>()[11:4];
        transition select(meta.ahead, packet.lookahead<bit<16>>()) {
            (0x11, 0x0001 &&& 0x00FF): small;
            default: accept;
        }
    }
    state skip {
        packet.advance(((bit<32>)hdr.front.port & 7) * 8);
        transition unions;
    }
    state in_set {
        meta.found = 1;
        transition labels;
    }
}

control TestVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
        hdr.report.setValid();
        hdr.report.labels = 0;
        hdr.report.ahead = meta.ahead;
        hdr.report.found = meta.found;
        if (std.parser_error == error.NoError) {
            hdr.report.error_seen = 0;
        } else if (std.parser_error == error.PacketTooShort) {
            hdr.report.error_seen = 1;
        } else if (std.parser_error == error.StackOutOfBounds) {
            hdr.report.error_seen = 2;
        } else if (std.parser_error == error.LabelOutOfClass) {
            hdr.report.error_seen = 3;
        } else {
            hdr.report.error_seen = 9;
        }
        if (hdr.front.isValid()) {
            if (hdr.front.port == 1) {
                hdr.labels.push_front(1);
                hdr.labels[0].setValid();
                hdr.labels[0].value = 0xABCDE;
                hdr.labels[0].class = 5;
                hdr.labels[0].hops = 1;
                hdr.labels[0].last = (bit<1>)!hdr.labels[1].isValid();
            } else if (hdr.front.port == 2) {
                hdr.labels.pop_front(1);
            } else if (hdr.front.port == 3 && hdr.labels[2].isValid()) {
                hdr.labels[1] = hdr.labels[2];
            } else if (hdr.front.port == 4) {
                hdr.labels.pop_front(2);
            } else if (hdr.front.port == 5) {
                hdr.labels.push_front(2);
            } else if (hdr.front.port == 6) {
                hdr.front.setInvalid();
            }
            if (hdr.labels[0].isValid() && hdr.labels[0].hops > 0) {
                hdr.labels[0].hops = hdr.labels[0].hops - 1;
            }
            if (hdr.labels[0].isValid()) {
                hdr.report.labels = (bit<32>)hdr.labels[0].value;
            }
            if (hdr.labels[1].isValid()) {
                hdr.report.labels = hdr.report.labels ^ (bit<32>)hdr.labels[1].hops;
            }
        }
        if (hdr.options.isValid()) {
            hdr.options_copy = hdr.options;
            hdr.options_copy.after = hdr.options.after + 1;
            if (hdr.options == hdr.options_copy) {
                hdr.report.found = 2;
            }
        }
        if (hdr.either.small.isValid()) {
            hdr.small_copy = hdr.either.small;
            hdr.either.large.setValid();
            hdr.either.large.tag = 2;
            hdr.either.large.value = 0x010203;
        } else if (hdr.either.large.isValid()) {
            hdr.either.small.setValid();
            hdr.either.small.tag = 1;
            hdr.either.small.value = 0xEE;
        }
    }
}

control TestEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {}
}

control TestUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestUpdate(), TestDeparser()) main;
