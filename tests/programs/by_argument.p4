// SPDX-License-Identifier: Apache-2.0
// Actions and controls that are given standard_metadata, which p4c copies in and out, and messages with and without values.
// The first byte of a frame names its egress port and a wish.
//
// wish: 1 drop by an action of ingress, 2 drop by a table's action, 3 drop by a control of egress, 4 drop, then forward
// all the same, 5 log.
#include <core.p4>
#include <v1model.p4>

header head_t {
    bit<5> port;
    bit<3> wish;
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

action dropped(inout standard_metadata_t which) {
    mark_to_drop(which);
}

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    table verdict {
        key = { hdr.head.wish: exact; }
        actions = { dropped(std); NoAction; }
        default_action = NoAction();
        const entries = { 2: dropped(std); }
    }
    apply {
        std.egress_spec = (bit<9>)hdr.head.port;
        verdict.apply();
        if (hdr.head.wish == 1) {
            dropped(std);
        } else if (hdr.head.wish == 4) {
            dropped(std);
            std.egress_spec = (bit<9>)hdr.head.port;
        } else if (hdr.head.wish == 5) {
            log_msg("no {} value");
            log_msg("port {}", { hdr.head.port });
        }
    }
}

control Guard(inout standard_metadata_t which, in head_t head) {
    apply {
        if (head.wish == 3) {
            mark_to_drop(which);
        }
    }
}

control TestEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    Guard() guard;
    apply {
        guard.apply(std, hdr.head);
    }
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
