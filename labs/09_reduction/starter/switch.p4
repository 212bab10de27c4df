// The switch of lab 9. It is complete; you write slot.p4, which it includes.
#include <core.p4>
#include <v1model.p4>

const bit<16> ETHERTYPE_SUM = 0x88B6;
const bit<8> CONTRIBUTION = 1;  // from a worker
const bit<8> RESULT = 2;        // from the switch

const bit<16> EVERY_WORKER = 1;  // multicast group of all workers

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

// A block of eight values of 32 bits.
header sum_t {
    bit<8> kind;
    bit<8> rest;
    bit<16> block;     // number of the block, from 1
    bit<256> values;
}

struct headers_t {
    ethernet_t ethernet;
    sum_t sum;
}

struct metadata_t {
    bit<8> own;    // the bit of the worker that has sent the frame
    bit<8> all;    // the bits of all workers
}

parser LabParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            ETHERTYPE_SUM: parse_sum;
            default: accept;
        }
    }
    state parse_sum {
        packet.extract(hdr.sum);
        transition accept;
    }
}

#include "slot.p4"

control LabIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    Slot() slot;

    action set_worker(bit<8> own, bit<8> all) {
        meta.own = own;
        meta.all = all;
    }
    action drop() {
        mark_to_drop(std);
        exit;
    }
    @name("worker")
    table worker {
        key = { std.ingress_port: exact @name("port"); }
        actions = { set_worker; drop; }
        const default_action = drop();
        size = 8;
    }

    apply {
        if (!hdr.sum.isValid() || hdr.sum.kind != CONTRIBUTION) {
            drop();
        }
        worker.apply();
        slot.apply(hdr, meta, std);
    }
}

control LabChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control LabEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply { }
}

control LabDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(LabParser(), LabChecksum(), LabIngress(), LabEgress(), LabChecksum(), LabDeparser()) main;
