// SPDX-License-Identifier: Apache-2.0
// For the tests of P4Runtime: one of every entity that a controller can write. The first byte of a frame chooses what
// is run; `value` is the key and the index.
#include <core.p4>
#include <v1model.p4>

header probe_t {
    bit<8> kind;
    bit<8> value;
    bit<16> flow;
    bit<32> result;
}

@controller_header("packet_in")
header packet_in_t {
    bit<9> ingress_port;
    bit<7> pad;
}

@controller_header("packet_out")
header packet_out_t {
    bit<9> egress_port;
    bit<7> pad;
}

struct headers_t {
    packet_in_t packet_in;
    packet_out_t packet_out;
    probe_t probe;
}

struct metadata_t {
    bit<2> color;
    bit<1> special;
}

struct special_t {
    @match(ternary)
    bit<8> kind;
    @match(exact)
    bit<16> flow;
}

struct seen_t {
    bit<9> port;
    bit<16> flow;
    bit<32> result;
}

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    @name("special")
    value_set<special_t>(3) special;

    state start {
        transition select(std.ingress_port) {
            510: from_controller;
            default: probe;
        }
    }
    state from_controller {
        packet.extract(hdr.packet_out);
        transition probe;
    }
    state probe {
        packet.extract(hdr.probe);
        transition select(hdr.probe.kind, hdr.probe.flow) {
            special: special_probe;
            default: accept;
        }
    }
    state special_probe {
        meta.special = 1;
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    @name("hits")
    direct_counter(CounterType.packets_and_bytes) hits;
    @name("rate")
    direct_meter<bit<2>>(MeterType.packets) rate;
    @name("fixed_hits")
    direct_counter(CounterType.packets) fixed_hits;
    @name("frames")
    counter(4, CounterType.packets_and_bytes) frames;
    @name("packet_meter")
    meter(4, MeterType.packets) packet_meter;
    @name("byte_meter")
    meter(4, MeterType.bytes) byte_meter;
    @name("wide")
    register<bit<96>>(4) wide;
    @name("narrow")
    register<int<12>>(4) narrow;
    @name("next_hops")
    action_profile(4) next_hops;
    @max_group_size(4)
    @name("paths")
    action_selector(HashAlgorithm.crc16, 16, 14) paths;
    @selector_size_semantics("sum_of_members")
    @max_member_weight(100)
    @max_group_size(3)
    @name("weighted")
    action_selector(HashAlgorithm.crc32, 6, 14) weighted;

    action forward(bit<9> port) {
        std.egress_spec = port;
    }
    action mark(bit<9> port, bit<32> result) {
        std.egress_spec = port;
        hdr.probe.result = result;
    }
    action metered(bit<9> port) {
        std.egress_spec = port;
        hits.count();
        rate.read(meta.color);
        hdr.probe.result = (bit<32>)meta.color;
    }
    action counted(bit<9> port) {
        std.egress_spec = port;
        fixed_hits.count();
    }
    action drop() {
        mark_to_drop(std);
    }

    @name("ageing")
    table ageing {
        key = { hdr.probe.value: exact @name("value"); }
        actions = { metered; drop; }
        default_action = drop();
        counters = hits;
        meters = rate;
        support_timeout = true;
        size = 8;
    }
    @name("by_profile")
    table by_profile {
        key = { hdr.probe.value: exact @name("value"); }
        actions = { forward; mark; }
        implementation = next_hops;
        size = 8;
    }
    @name("by_selector")
    table by_selector {
        key = { hdr.probe.value: exact @name("value"); hdr.probe.flow: selector; }
        actions = { forward; mark; }
        implementation = paths;
        size = 8;
    }
    @name("by_weight")
    table by_weight {
        key = { hdr.probe.value: ternary @name("value"); hdr.probe.flow: selector; }
        actions = { forward; mark; }
        implementation = weighted;
        size = 8;
    }
    @name("fixed")
    table fixed {
        key = { hdr.probe.value: ternary @name("value"); }
        actions = { counted; drop; }
        default_action = drop();
        counters = fixed_hits;
        const entries = {
            0x10 &&& 0xF0: counted(1);
            0x20 &&& 0xF0: counted(2);
        }
    }
    @name("initial")
    table initial_table {
        key = { hdr.probe.value: exact @name("value"); }
        actions = { forward; drop; }
        default_action = drop();
        size = 4;
        entries = {
            const 0x01: forward(1);
            0x02: forward(2);
        }
    }

    apply {
        if (hdr.packet_out.isValid()) {
            std.egress_spec = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
        } else if (meta.special == 1) {
            std.egress_spec = 9;
        } else if (hdr.probe.kind == 0) {
            ageing.apply();
        } else if (hdr.probe.kind == 1) {
            by_profile.apply();
        } else if (hdr.probe.kind == 2) {
            by_selector.apply();
        } else if (hdr.probe.kind == 3) {
            by_weight.apply();
        } else if (hdr.probe.kind == 4) {
            fixed.apply();
        } else if (hdr.probe.kind == 5) {
            initial_table.apply();
        } else if (hdr.probe.kind == 6) {
            frames.count((bit<32>)hdr.probe.value);
            std.egress_spec = 1;
        } else if (hdr.probe.kind == 7) {
            packet_meter.execute_meter((bit<32>)hdr.probe.value, meta.color);
            hdr.probe.result = (bit<32>)meta.color;
            std.egress_spec = 1;
        } else if (hdr.probe.kind == 8) {
            byte_meter.execute_meter((bit<32>)hdr.probe.value, meta.color);
            hdr.probe.result = (bit<32>)meta.color;
            std.egress_spec = 1;
        } else if (hdr.probe.kind == 9) {
            bit<96> held;
            wide.read(held, (bit<32>)hdr.probe.value);
            wide.write((bit<32>)hdr.probe.value, held << 32);
            hdr.probe.result = held[95:64];
            std.egress_spec = 1;
        } else if (hdr.probe.kind == 10) {
            int<12> level;
            narrow.read(level, (bit<32>)hdr.probe.value);
            narrow.write((bit<32>)hdr.probe.value, level - 1);
            std.egress_spec = 1;
        } else if (hdr.probe.kind == 11) {
            digest<seen_t>(1, { std.ingress_port, hdr.probe.flow, hdr.probe.result });
            std.egress_spec = 1;
        } else if (hdr.probe.kind == 12) {
            std.mcast_grp = (bit<16>)hdr.probe.value;
        } else if (hdr.probe.kind == 13) {
            clone(CloneType.I2E, (bit<32>)hdr.probe.value);
            std.egress_spec = 1;
        } else {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = std.ingress_port;
            std.egress_spec = 510;
        }
    }
}

control TestEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        if (hdr.probe.kind == 12) {
            hdr.probe.result = (bit<32>)std.egress_rid;
        }
    }
}

control NoChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.probe);
    }
}

V1Switch(TestParser(), NoChecksum(), TestIngress(), TestEgress(), NoChecksum(), TestDeparser()) main;
