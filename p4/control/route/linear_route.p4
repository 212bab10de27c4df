// SPDX-License-Identifier: Apache-2.0
// Structured addressing with linear lookup (UB-Mesh, All-Path-Routing): the segment of the destination gives an offset
// into a table of ports, so a router holds an entry a segment member and not one a destination.
#ifndef LINEAR_ROUTE_P4
#define LINEAR_ROUTE_P4

#include "../refuse.p4"

control LinearRoute(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    action set_segment(bit<16> base, bit<8> shift, bit<16> mask) {
        meta.base = base;
        meta.shift = shift;
        meta.mask = mask;
    }
    action no_route() {
        REFUSE(NO_ROUTE);
    }
    @name("segment")
    table segment {
        key = { hdr.nth.dcna: lpm @name("dcna"); }
        actions = { set_segment; no_route; }
        const default_action = no_route();
        size = SEGMENT_SIZE;
    }

    action set_port(port_t port) {
        meta.egress_port = port;
    }
    @name("linear")
    table linear {
        key = { meta.index: exact @name("index"); }
        actions = { set_port; no_route; }
        const default_action = no_route();
        size = LINEAR_SIZE;
    }

    apply {
        segment.apply();
        meta.index = meta.base + ((bit<16>)(hdr.nth.dcna >> meta.shift) & meta.mask);
        linear.apply();
    }
}

#endif
