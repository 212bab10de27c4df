// SPDX-License-Identifier: Apache-2.0
// Headers, parser and deparser of the topology scan. The layout follows drivers/ub/ubus/enum.h of the openEuler kernel:
// each 32-bit word goes most significant byte first, and the first hop of a path is in the least significant bits.
// docs/reference/wire-format.md has the fields.
#ifndef SCAN_P4
#define SCAN_P4

// Largest path: 4 words, so 32 hops of 4 bits, 16 of 8 bits or 8 of 16 bits.
#define PATH_WORDS 4

const bit<3> NLP_SCAN = 1;          // no transport header follows the network header
const bit<4> HOP_4_BITS = 0;
const bit<4> HOP_8_BITS = 1;
const bit<4> HOP_16_BITS = 2;
const bit<8> OPCODE_RESPONSE = 0;
const bit<8> OPCODE_REQUEST = 1;

// Header behind the network header: the partition, then the state of the scan.
header scan_t {
    bit<16> upi;
    bit<16> rsv0;
    bit<11> rsv1;
    bit<1> r;            // a return path follows the path
    bit<4> hop_type;
    bit<8> hops;
    bit<8> step;         // hops behind the frame
}

header path_t {
    bit<32> hops;
}

header pdu_t {
    bit<8> version;
    bit<8> cmd;
    bit<8> opcode;
    bit<8> status;
    bit<8> queue;
    bit<8> words;
    bit<16> msn;
    bit<64> guid_high;
    bit<64> guid_low;
}

// The four TLVs of a response: slice, number of ports, capabilities, and the port by which the request came.
header answer_t {
    bit<8> slice_type;
    bit<8> slice_len;
    bit<8> slices;
    bit<8> slice;
    bit<8> number_type;
    bit<8> number_len;
    bit<16> ports;
    bit<16> port_tlvs;
    bit<16> rsv0;
    bit<8> cap_type;
    bit<8> cap_len;
    bit<16> mtu;
    bit<16> rsv1;
    bit<16> class_code;
    bit<8> port_type;
    bit<8> port_len;
    bit<7> flags;
    bit<1> up;
    bit<8> rsv2;
    bit<16> local_port;
    bit<16> remote_port;
    bit<16> max_rate;
    bit<16> cur_rate;
    bit<64> remote_guid_high;
    bit<64> remote_guid_low;
}

struct scan_headers_t {
    packet_in_t packet_in;
    packet_out_t packet_out;
    ethernet_t ethernet;
    lph_t lph;
    nth_t nth;
    scan_t scan;
    path_t[PATH_WORDS] before;   // words of the path before that of the current hop
    path_t current;
    path_t[PATH_WORDS] after;
    path_t[PATH_WORDS] back;     // the return path
    pdu_t pdu;
    answer_t answer;
}

struct scan_metadata_t {
    bit<8> hop;          // the hop to carry out; at the end of the path the last hop
    bit<8> words;        // of the path
    bit<8> left;         // words still to be parsed
    bit<8> left_after;
    bit<8> shift;        // of the hop in its word
    bit<32> mask;        // of a hop
    bit<9> egress_port;
}

parser ScanParser(packet_in packet, out scan_headers_t hdr, inout scan_metadata_t meta, inout standard_metadata_t std) {
    state start {
        transition select(std.ingress_port) {
            CPU_PORT: parse_packet_out;
            default: parse_ethernet;
        }
    }
    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition parse_ethernet;
    }
    state parse_ethernet {
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
            default: accept;
        }
    }
    state parse_nth {
        packet.extract(hdr.nth);
        transition select(hdr.nth.mgmt, hdr.nth.nlp) {
            (1, NLP_SCAN): parse_scan;
            default: accept;
        }
    }
    state parse_scan {
        packet.extract(hdr.scan);
        meta.hop = hdr.scan.step;
        transition select(hdr.scan.hops - hdr.scan.step) {
            0: at_the_end;
            default: size_of_hops;
        }
    }
    state at_the_end {
        meta.hop = hdr.scan.hops - 1;
        transition select(hdr.scan.hops) {
            0: parse_pdu;
            default: size_of_hops;
        }
    }
    state size_of_hops {
        transition select(hdr.scan.hop_type) {
            HOP_4_BITS: hops_of_4_bits;
            HOP_8_BITS: hops_of_8_bits;
            HOP_16_BITS: hops_of_16_bits;
            default: accept;
        }
    }
    state hops_of_4_bits {
        meta.words = (hdr.scan.hops - 1 >> 3) + 1;
        meta.left = meta.hop >> 3;
        meta.shift = (meta.hop & 7) << 2;
        meta.mask = 0xF;
        transition parse_path;
    }
    state hops_of_8_bits {
        meta.words = (hdr.scan.hops - 1 >> 2) + 1;
        meta.left = meta.hop >> 2;
        meta.shift = (meta.hop & 3) << 3;
        meta.mask = 0xFF;
        transition parse_path;
    }
    state hops_of_16_bits {
        meta.words = (hdr.scan.hops - 1 >> 1) + 1;
        meta.left = meta.hop >> 1;
        meta.shift = (meta.hop & 1) << 4;
        meta.mask = 0xFFFF;
        transition parse_path;
    }
    // A path of more words than there is room for is a parser error.
    state parse_path {
        meta.left_after = meta.words - meta.left - 1;
        transition before_current;
    }
    state before_current {
        transition select(meta.left) {
            0: parse_current;
            default: parse_before;
        }
    }
    state parse_before {
        packet.extract(hdr.before.next);
        meta.left = meta.left - 1;
        transition before_current;
    }
    state parse_current {
        packet.extract(hdr.current);
        transition after_current;
    }
    state after_current {
        transition select(meta.left_after) {
            0: return_path;
            default: parse_after;
        }
    }
    state parse_after {
        packet.extract(hdr.after.next);
        meta.left_after = meta.left_after - 1;
        transition after_current;
    }
    state return_path {
        meta.left = meta.words;
        transition select(hdr.scan.r) {
            1: back_to_parse;
            default: parse_pdu;
        }
    }
    state back_to_parse {
        transition select(meta.left) {
            0: parse_pdu;
            default: parse_back;
        }
    }
    state parse_back {
        packet.extract(hdr.back.next);
        meta.left = meta.left - 1;
        transition back_to_parse;
    }
    state parse_pdu {
        packet.extract(hdr.pdu);
        transition accept;
    }
}

control ScanDeparser(packet_out packet, in scan_headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.lph);
        packet.emit(hdr.nth);
        packet.emit(hdr.scan);
        packet.emit(hdr.before);
        packet.emit(hdr.current);
        packet.emit(hdr.after);
        packet.emit(hdr.back);
        packet.emit(hdr.pdu);
        packet.emit(hdr.answer);
    }
}

control NoChecksum(inout scan_headers_t hdr, inout scan_metadata_t meta) {
    apply { }
}

#endif
