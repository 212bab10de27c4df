// SPDX-License-Identifier: Apache-2.0
// Every way to a copy of a frame: multicast, clones of either side, resubmission, recirculation; digests, truncation.
// The first bytes of a frame say what to do; egress writes down what it saw.
//
// what: 1 multicast, 2 clone with its fields, 3 clone without, 4 resubmit, 5 drop and clone, 6 digest, 7 truncate,
// 8 exit, 9 recirculate, 10 clone of egress, 11 drop and clone of egress.
#include <core.p4>
#include <v1model.p4>

header order_t {
    bit<8> what;
    bit<8> session;
    bit<8> rounds;
    bit<8> port;
    bit<8> instance;
    bit<16> rid;
    bit<16> kept;
    bit<16> lost;
    bit<32> length;
    bit<16> ingress;
}

header note_t {
    bit<16> from_ingress;
    bit<16> from_egress;
}

struct headers_t {
    note_t note;
    order_t order;
}

struct metadata_t {
    @field_list(1, 2)
    bit<16> kept;
    bit<16> lost;
    @field_list(1)
    bit<8> rounds;
}

struct digest_t {
    bit<8> what;
    bit<9> port;
    bit<16> kept;
}

// Nothing but the order: what follows it is payload.
parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.order);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        if (hdr.order.isValid()) {
            std.egress_spec = (bit<9>)hdr.order.port;
            meta.lost = 0x5555;
            hdr.note.setValid();
            hdr.note.from_ingress = meta.kept;
            if (std.instance_type == 0) {
                meta.kept = 0x1234;
            }
            if (hdr.order.what == 1) {
                std.mcast_grp = (bit<16>)hdr.order.session;
            } else if (hdr.order.what == 2) {
                clone_preserving_field_list(CloneType.I2E, (bit<32>)hdr.order.session, 1);
            } else if (hdr.order.what == 3) {
                clone(CloneType.I2E, (bit<32>)hdr.order.session);
            } else if (hdr.order.what == 4) {
                if (meta.rounds < hdr.order.rounds && hdr.order.rounds < 9) {
                    meta.rounds = meta.rounds + 1;
                    meta.kept = meta.kept + 1;
                    resubmit_preserving_field_list(1);
                }
            } else if (hdr.order.what == 5) {
                mark_to_drop(std);
                clone_preserving_field_list(CloneType.I2E, (bit<32>)hdr.order.session, 2);
            } else if (hdr.order.what == 6) {
                digest<digest_t>(1, { hdr.order.what, std.ingress_port, meta.kept });
            } else if (hdr.order.what == 7) {
                truncate(20);
            } else if (hdr.order.what == 8 && hdr.order.rounds == 3) {
                exit;
            }
        }
    }
}

// Egress writes what it saw into the frame; only a frame that came from outside or went round is copied again.
control TestEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        if (hdr.order.isValid()) {
            hdr.order.instance = (bit<8>)std.instance_type;
            hdr.order.rid = std.egress_rid;
            hdr.order.kept = meta.kept;
            hdr.order.lost = meta.lost;
            hdr.order.length = std.packet_length;
            hdr.order.ingress = (bit<16>)std.ingress_port;
            hdr.note.from_egress = (bit<16>)std.egress_port;
            if (std.instance_type == 0 || std.instance_type == 4) {
                if (hdr.order.what == 9 && hdr.order.rounds > 0 && hdr.order.rounds < 9) {
                    hdr.order.rounds = hdr.order.rounds - 1;
                    meta.kept = meta.kept + 0x100;
                    hdr.note.setInvalid();
                    recirculate_preserving_field_list(2);
                } else if (hdr.order.what == 10) {
                    clone_preserving_field_list(CloneType.E2E, (bit<32>)hdr.order.session, 1);
                    hdr.order.rounds = 0xEE;
                } else if (hdr.order.what == 11) {
                    mark_to_drop(std);
                    clone(CloneType.E2E, (bit<32>)hdr.order.session);
                }
            }
        }
    }
}

control NoChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.note);
        packet.emit(hdr.order);
    }
}

V1Switch(TestParser(), NoChecksum(), TestIngress(), TestEgress(), NoChecksum(), TestDeparser()) main;
