// SPDX-License-Identifier: Apache-2.0
// Egress of every UB program: counts what leaves, and tells the controller by which port its frame came. In
// programs that define ECN it marks frames that leave a long queue, in those that define REDUCE it addresses sums.
#ifndef EGRESS_P4
#define EGRESS_P4

#include "counters.p4"
#ifdef ECN
#include "mark.p4"
#endif
#ifdef REDUCE
#include "reduce/send.p4"
#endif

control UbEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    CountTransmit() count;
#ifdef ECN
    Mark() mark;
#endif
#ifdef REDUCE
    Send() send;
#endif

    apply {
#ifdef REDUCE
        if (hdr.reduction.isValid()) {
            send.apply(hdr, meta, std);
        }
#endif
        count.apply(meta, std);
#ifdef ECN
        mark.apply(hdr, std);
#endif
        if (std.egress_port == CPU_PORT) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = std.ingress_port;
            hdr.packet_in.pad = 0;
        }
    }
}

#endif
