// SPDX-License-Identifier: Apache-2.0
// The last word of ingress: a sink strips the source route and delivers, management goes to the controller.
#ifndef DELIVER_P4
#define DELIVER_P4

control Deliver(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    ShrinkLength() shrink;

    apply {
        std.egress_spec = meta.egress_port;
        // Responses go before all data, and of data the higher class first.
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
                hdr.lph.cfg = CFG_CNA16;
                shrink.apply(hdr.lph, meta);
            }
            if (hdr.nth.mgmt == 1) {
                std.egress_spec = CPU_PORT;
            }
        }
    }
}

#endif
