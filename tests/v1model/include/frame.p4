// SPDX-License-Identifier: Apache-2.0
// Parts that the programs of this folder share: a frame is a probe and a payload, and leaves by port 1 with the probe changed.
// A program that has a parser, an egress or checksums of its own defines HAS_PARSER, HAS_EGRESS or HAS_CHECKSUMS.
#include <core.p4>
#include <v1model.p4>

header probe_t {
    bit<8> what;
    bit<8> small;
    bit<16> number;
    bit<32> result;
}

struct headers_t {
    probe_t probe;
}

struct metadata_t {
    @field_list(1)
    bit<8> kept;
    bit<8> lost;
}

#ifndef HAS_PARSER
parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.probe);
        transition accept;
    }
}
#endif

#ifndef HAS_CHECKSUMS
control TestVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control TestUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}
#endif

#ifndef HAS_EGRESS
control TestEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply { }
}
#endif

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.probe);
    }
}
