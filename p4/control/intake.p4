// SPDX-License-Identifier: Apache-2.0
// What came in and from where: refuses every frame that is not whole, then finds the direction of the hop it came by.
#ifndef INTAKE_P4
#define INTAKE_P4

control Intake(inout headers_t hdr, inout metadata_t meta, in standard_metadata_t std) {
    action arrive(group_t group, bit<1> up) {
        meta.in_group = group;
        meta.in_up = up;
    }
    action unknown_arrival() {
        meta.reason = drop_reason_t.ARRIVAL;
    }
    @name("arrival")
    table arrival {
        key = { std.ingress_port: exact @name("port"); }
        actions = { arrive; unknown_arrival; }
        const default_action = unknown_arrival();
        size = PORT_SIZE;
    }

    apply {
        meta.routed = true;
        if (std.parser_error != error.NoError) {
            meta.reason = drop_reason_t.TRUNCATED;
        } else if (!hdr.lph.isValid()) {
            meta.reason = drop_reason_t.ETHERTYPE;
        } else if (!hdr.nth.isValid()) {
            meta.reason = drop_reason_t.CFG;
        } else {
            arrival.apply();
            meta.vl = hdr.lph.vl;
            meta.from_host = meta.in_group == GROUP_LOCAL;
            if (meta.from_host) {
                // A source names no VL: it enters on the first one of its class, which its service level names.
                meta.vl = hdr.nth.sl << 1;
                if (hdr.nth.mgmt == 1 || hdr.nth.sl > 7) {
                    meta.vl = VL_RESPONSE;
                }
            }
            if (hdr.packet_out.isValid()) {
                meta.routed = hdr.packet_out.routed == 1;
                meta.egress_port = hdr.packet_out.egress_port;
                hdr.packet_out.setInvalid();
            }
        }
    }
}

#endif
