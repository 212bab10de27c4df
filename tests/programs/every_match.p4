// SPDX-License-Identifier: Apache-2.0
// For the engine's tests: a table of every match kind, a wide field, a register, direct and indirect counters.
#include <core.p4>
#include <v1model.p4>

header probe_t {
    bit<8> kind;
    bit<8> small;
    bit<32> lpm_key;
    bit<16> number;
    bit<128> wide;
    bit<3> a;
    bit<13> b;
    bit<24> result;
}

struct headers_t {
    probe_t probe;
}

struct metadata_t { }

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.probe);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    @name("last_number")
    register<bit<16>>(16) last_number;
    @name("seen")
    direct_counter(CounterType.packets_and_bytes) seen;
    @name("by_kind")
    counter(16, CounterType.packets_and_bytes) by_kind;

    action answer(bit<24> value) {
        hdr.probe.result = value;
        std.egress_spec = 1;
    }
    action answer_counted(bit<24> value) {
        hdr.probe.result = value;
        std.egress_spec = 1;
        seen.count();
    }
    action set_wide(bit<128> value) {
        hdr.probe.wide = value;
        std.egress_spec = 1;
    }
    action drop() {
        mark_to_drop(std);
    }

    @name("exact_small")
    table exact_small {
        key = { hdr.probe.small: exact @name("small"); }
        actions = { answer_counted; drop; }
        default_action = drop();
        counters = seen;
        size = 4;
    }
    @name("exact_wide")
    table exact_wide {
        key = { hdr.probe.wide: exact @name("wide"); hdr.probe.a: exact @name("a"); }
        actions = { answer; set_wide; drop; }
        default_action = drop();
        size = 64;
    }
    @name("lpm")
    table lpm_table {
        key = { hdr.probe.lpm_key: lpm @name("lpm_key"); hdr.probe.small: exact @name("small"); }
        actions = { answer; drop; }
        default_action = drop();
        size = 64;
    }
    @name("ternary")
    table ternary_table {
        key = { hdr.probe.number: ternary @name("number"); hdr.probe.lpm_key: lpm @name("lpm_key"); }
        actions = { answer; drop; }
        default_action = drop();
        size = 64;
    }
    @name("range")
    table range_table {
        key = { hdr.probe.number: range @name("number"); hdr.probe.small: optional @name("small"); }
        actions = { answer; drop; }
        default_action = drop();
        size = 64;
    }
    @name("constant")
    table constant {
        key = { hdr.probe.b: ternary @name("b"); }
        actions = { answer; drop; }
        const default_action = drop();
        const entries = {
            13w0x1F00 &&& 13w0x1F00: answer(1);
            13w0x0001 &&& 13w0x0001: answer(2);
            13w0x0F00 &&& 13w0x0F00: answer(3);
        }
    }

    apply {
        if (std.parser_error != error.NoError) {
            drop();
        } else {
            by_kind.count((bit<32>)hdr.probe.kind);
            if (hdr.probe.kind == 0) {
                exact_small.apply();
            } else if (hdr.probe.kind == 1) {
                exact_wide.apply();
            } else if (hdr.probe.kind == 2) {
                lpm_table.apply();
            } else if (hdr.probe.kind == 3) {
                ternary_table.apply();
            } else if (hdr.probe.kind == 4) {
                range_table.apply();
            } else if (hdr.probe.kind == 5) {
                constant.apply();
            } else if (hdr.probe.kind == 6) {
                bit<16> before;
                last_number.read(before, (bit<32>)hdr.probe.small);
                last_number.write((bit<32>)hdr.probe.small, hdr.probe.number);
                hdr.probe.result = (bit<24>)before;
                std.egress_spec = 2;
            } else if (hdr.probe.kind == 7) {
                hdr.probe.b = hdr.probe.b + (bit<13>)hdr.probe.a - 1;
                hdr.probe.a = ~hdr.probe.a;
                hdr.probe.number = (hdr.probe.number << hdr.probe.small) | (hdr.probe.number >> 3);
                hdr.probe.result = hdr.probe.number > 100 ? 24w7 : 24w9;
                std.egress_spec = 3;
            } else {
                hdr.probe.setInvalid();
                std.egress_spec = 4;
            }
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
        packet.emit(hdr.probe);
    }
}

V1Switch(TestParser(), NoChecksum(), TestIngress(), TestEgress(), NoChecksum(), TestDeparser()) main;
