// SPDX-License-Identifier: Apache-2.0
#ifndef DEPARSER_P4
#define DEPARSER_P4

control UbDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.lph);
        packet.emit(hdr.srh);
        packet.emit(hdr.nth);
#ifdef REDUCE
        packet.emit(hdr.reduction);
        packet.emit(hdr.reduction_values);
#endif
    }
}

// A UB frame carries no checksum of its own here: BCRC belongs to the physical link, which is emulated.
control NoChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

#endif
