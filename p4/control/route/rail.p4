// SPDX-License-Identifier: Apache-2.0
// The rail a switch belongs to: GPUs of one rank, whatever their domain, so the low bits of an address name it and
// no prefix does. A GPU that no way up or down leads to is on a foreign rail; nothing may be sent here for it
// (Rail-only, routing), not even steered by a source route.
#ifndef RAIL_P4
#define RAIL_P4

#include "../refuse.p4"

control Rail(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    action set_rail(bit<16> base, bit<8> shift, bit<16> mask) {
        meta.base = base;
        meta.shift = shift;
        meta.mask = mask;
        meta.on_rail = true;
    }
    action foreign_rail() {
        REFUSE(FOREIGN_RAIL);
    }
    @name("rail")
    table rail {
        key = { hdr.nth.dcna: ternary @name("dcna"); }
        actions = { set_rail; foreign_rail; NoAction; }
        const default_action = NoAction();
        size = RAIL_SIZE;
    }

    apply {
        rail.apply();
    }
}

#endif
