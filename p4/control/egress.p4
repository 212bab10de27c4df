// SPDX-License-Identifier: Apache-2.0
// Egress of every UB program: counts what leaves, and tells the controller by which port its frame came.
#ifndef EGRESS_P4
#define EGRESS_P4

#include "counters.p4"

control UbEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    CountTransmit() count;

    apply {
        count.apply(meta, std);
        if (std.egress_port == CPU_PORT) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = std.ingress_port;
            hdr.packet_in.pad = 0;
        }
    }
}

#endif
