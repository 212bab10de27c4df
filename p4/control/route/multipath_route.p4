// SPDX-License-Identifier: Apache-2.0
// Linear lookup as in linear_route.p4, of a switch whose rail may have said where to look, and whose entries may name
// a group of ports in place of one.
#ifndef MULTIPATH_ROUTE_P4
#define MULTIPATH_ROUTE_P4

#include "multipath.p4"
#include "../refuse.p4"

control MultipathRoute(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    Multipath() multipath;

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
        size = RAIL_SEGMENT_SIZE;
    }

    action set_port(port_t port) {
        meta.egress_port = port;
    }
    action set_group(bit<16> group, bit<8> shift, bit<16> mask) {
        meta.group = group;
        meta.shift = shift;
        meta.mask = mask;
    }
    @name("linear")
    table linear {
        key = { meta.index: exact @name("index"); }
        actions = { set_port; set_group; no_route; }
        const default_action = no_route();
        size = RAIL_LINEAR_SIZE;
    }

    apply {
        if (!meta.on_rail) {
            segment.apply();
        }
        meta.index = meta.base + ((hdr.nth.dcna >> meta.shift) & meta.mask);
        switch (linear.apply().action_run) {
            set_group: { multipath.apply(hdr, meta, std); }
        }
    }
}

#endif
