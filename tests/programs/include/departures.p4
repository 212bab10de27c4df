// SPDX-License-Identifier: Apache-2.0
// For the tests of links and queues: a frame says where it goes, and in its second byte what is to happen to it besides.
// With READS_QUEUE, egress looks at the queue that the frame came out of.
#include <core.p4>
#include <v1model.p4>

// Wishes, one bit each.
#define COPIES 7      // to multicast group 1
#define DIGEST 6
#define CLONE 5       // from egress to session 1; the clone wishes nothing
#define DROP 4        // in egress
#define REPORT 3      // room for what egress saw of the queue; filled in with READS_QUEUE only
#define CLONE_ALL 2   // the clone wishes the same again
#define RECIRCULATE 1 // once
#define TO_CPU 0

// Ports whose frames circulate in the switch without end.
#define RESUBMIT_PORT 31
#define RECIRCULATE_PORT 30
#define CLONE_PORT 29 // ingress clones each of them to session 1; the clone and the frame are recirculated

#define EGRESS_CLONE 2 // BMv2's instance type

header head_t {
    bit<5> port;
    bit<3> vl;
    bit<8> wishes;
}

header seen_t {
    bit<32> enqueued; // microseconds
    bit<32> waited;   // microseconds
    bit<16> before;   // frames
    bit<16> behind;   // frames
}

struct headers_t {
    head_t head;
    seen_t seen;
}

struct metadata_t {
    @field_list(1)
    bit<8> rounds;
}

struct told_t {
    bit<8> port;
    bit<8> wishes;
}

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.head);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    @name("known")
    table known {
        key = { hdr.head.port: exact @name("port"); }
        actions = { NoAction; }
        default_action = NoAction();
        size = 32;
        support_timeout = true;
    }
    apply {
        std.egress_spec = (bit<9>)hdr.head.port;
        std.priority = hdr.head.vl;
        known.apply();
        if (hdr.head.wishes[COPIES:COPIES] == 1) {
            std.mcast_grp = 1;
        }
        if (hdr.head.wishes[DIGEST:DIGEST] == 1) {
            digest<told_t>(1, { (bit<8>)hdr.head.port, hdr.head.wishes });
        }
        if (hdr.head.wishes[TO_CPU:TO_CPU] == 1) {
            std.egress_spec = 510;
        }
        if (hdr.head.port == RESUBMIT_PORT) {
            resubmit_preserving_field_list(1);
        }
        if (hdr.head.port == CLONE_PORT) {
            clone(CloneType.I2E, 1);
        }
    }
}

control TestEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        bit<8> wishes = hdr.head.wishes;
        if (std.instance_type == EGRESS_CLONE && wishes[CLONE_ALL:CLONE_ALL] == 0) {
            wishes = 0;
        }
        if (wishes[CLONE:CLONE] == 1 || wishes[CLONE_ALL:CLONE_ALL] == 1) {
            clone(CloneType.E2E, 1);
        }
        if (wishes[DROP:DROP] == 1) {
            mark_to_drop(std);
        }
        if (hdr.head.port == RECIRCULATE_PORT || hdr.head.port == CLONE_PORT) {
            recirculate_preserving_field_list(1);
        } else if (wishes[RECIRCULATE:RECIRCULATE] == 1 && meta.rounds == 0) {
            meta.rounds = 1;
            recirculate_preserving_field_list(1);
        } else if (wishes[REPORT:REPORT] == 1) {
            hdr.seen.setValid();
#ifdef READS_QUEUE
            hdr.seen.enqueued = std.enq_timestamp;
            hdr.seen.waited = std.deq_timedelta;
            hdr.seen.before = (bit<16>)std.enq_qdepth;
            hdr.seen.behind = (bit<16>)std.deq_qdepth;
#else
            hdr.seen = { 0, 0, 0, 0 };
#endif
        }
    }
}

control NoChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.head);
        packet.emit(hdr.seen);
    }
}

V1Switch(TestParser(), NoChecksum(), TestIngress(), TestEgress(), NoChecksum(), TestDeparser()) main;
