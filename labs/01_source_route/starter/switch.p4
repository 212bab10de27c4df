// The switch of lab 1. It is complete; you write source_route.p4, which it includes.
#include <core.p4>
#include <v1model.p4>

const bit<16> ETHERTYPE_UB = 0x88B5;
const bit<4> CFG_NETWORK = 0x6;       // a network header follows
const bit<4> CFG_SOURCE_ROUTE = 0xC;  // a source-route header and a network header follow

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

// Link packet header.
header lph_t {
    bit<12> link;
    bit<4> cfg;
    bit<16> length;
}

// Source-route header. instr holds six egress ports of 8 bits, the first leftmost.
header srh_t {
    bit<4> ptr;
    bit<12> bitmap;
    bit<48> instr;
}

// Network header: source and destination.
header nth_t {
    bit<16> scna;
    bit<16> dcna;
    bit<32> rest;
}

struct headers_t {
    ethernet_t ethernet;
    lph_t lph;
    srh_t srh;
    nth_t nth;
}

struct metadata_t {
    bool decided;         // an instruction has decided the egress port
    bit<9> egress_port;
}

parser LabParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            ETHERTYPE_UB: parse_lph;
            default: accept;
        }
    }
    state parse_lph {
        packet.extract(hdr.lph);
        transition select(hdr.lph.cfg) {
            CFG_NETWORK: parse_nth;
            CFG_SOURCE_ROUTE: parse_srh;
            default: accept;
        }
    }
    state parse_srh {
        packet.extract(hdr.srh);
        transition parse_nth;
    }
    state parse_nth {
        packet.extract(hdr.nth);
        transition accept;
    }
}

#include "source_route.p4"

control LabIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    SourceRoute() source_route;

    action set_port(bit<9> port) {
        meta.egress_port = port;
    }
    action drop() {
        mark_to_drop(std);
        exit;
    }
    @name("forward")
    table forward {
        key = { hdr.nth.dcna: exact @name("dcna"); }
        actions = { set_port; drop; }
        const default_action = drop();
        size = 256;
    }

    apply {
        if (!hdr.nth.isValid()) {
            drop();
        }
        source_route.apply(hdr, meta, std);
        if (!meta.decided) {
            forward.apply();
        }
        std.egress_spec = meta.egress_port;
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
