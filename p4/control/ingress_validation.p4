// SPDX-License-Identifier: Apache-2.0
// Checks that a frame is whole, then finds the direction of the hop by which it came.
#ifndef INGRESS_VALIDATION_P4
#define INGRESS_VALIDATION_P4

#include "refuse.p4"

control IngressValidation(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    action arrive(group_t group, bit<1> up) {
        meta.in_group = group;
        meta.in_up = up;
    }
    action unknown_arrival() {
        REFUSE(ARRIVAL);
    }
    @name("arrival")
    table arrival {
        key = { std.ingress_port: exact @name("port"); }
        actions = { arrive; @defaultonly unknown_arrival; }
        const default_action = unknown_arrival();
        size = PORT_SIZE;
    }

    apply {
        if (std.parser_error != error.NoError) {
            REFUSE(TRUNCATED);
        }
        if (!hdr.lph.isValid()) {
            REFUSE(ETHERTYPE);
        }
        if (!hdr.nth.isValid()) {
            REFUSE(CFG);
        }
        arrival.apply();
        meta.vl = hdr.lph.vl;
        meta.from_host = meta.in_group == GROUP_LOCAL;
        if (meta.from_host) {
            // A source names no VL: its frame enters on the first VL of the class that its service level names.
            meta.vl = hdr.nth.sl << 1;
            if (hdr.nth.mgmt == 1 || hdr.nth.sl > 7) {
                meta.vl = VL_RESPONSE;
            }
        }
        meta.routed = true;
        if (hdr.packet_out.isValid()) {
            meta.routed = hdr.packet_out.routed == 1;
            meta.egress_port = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
        }
    }
}

#endif
