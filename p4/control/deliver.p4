// SPDX-License-Identifier: Apache-2.0
// The last step of ingress: a sink takes the source route off and delivers; management goes to the controller.
#ifndef DELIVER_P4
#define DELIVER_P4

#include "refuse.p4"
#include "shrink_length.p4"

// Without a host, only management may end at the node: the controller takes it.
control Deliver(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std)(bool has_host) {
    ShrinkLength() shrink;

    apply {
        if (!has_host && meta.out_group == GROUP_LOCAL && hdr.nth.mgmt == 0) {
            REFUSE(NO_HOST);
        }
        std.egress_spec = meta.egress_port;
        // Responses go before all data, and data of a higher class before data of a lower class.
        bit<3> class = hdr.lph.vl[3:1];
        if (class != 0) {
            std.priority = class - 1;
            if (class == CLASS_RESPONSE) {
                std.priority = PRIORITY_RESPONSE;
            }
        }
        if (meta.out_group == GROUP_LOCAL) {
            if (hdr.srh.isValid()) {
                hdr.srh.setInvalid();
                hdr.lph.cfg = CFG_NETWORK;
                shrink.apply(hdr.lph, std);
            }
            if (hdr.nth.mgmt == 1) {
                std.egress_spec = CPU_PORT;
            }
        }
    }
}

#endif
