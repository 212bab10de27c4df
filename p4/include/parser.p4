// SPDX-License-Identifier: Apache-2.0
#ifndef PARSER_P4
#define PARSER_P4

// An unknown type or cfg is no parser error: parsing stops, and the control sees which header is missing.
parser UbParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
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
#ifdef REDUCE
        transition select(hdr.nth.mgmt, hdr.nth.nlp) {
            (0, NLP_REDUCTION): parse_reduction;
            default: accept;
        }
    }
    state parse_reduction {
        packet.extract(hdr.reduction);
        transition select(hdr.reduction.filled) {
            1: parse_reduction_values;
            default: accept;
        }
    }
    state parse_reduction_values {
        packet.extract(hdr.reduction_values);
#endif
        transition accept;
    }
}

#endif
