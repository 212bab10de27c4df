// SPDX-License-Identifier: Apache-2.0
// The VL of the next link follows from the turn: the direction of the hop a frame came by and of the hop it leaves
// by, whatever steered it. So no source can name a VL that closes a cycle of waiting links (UB-Mesh, TFC). The rules
// are those of two classes, data and responses: each class of data turns on its own VLs as the first does on VL 0 and 1.
#ifndef VL_TURN_P4
#define VL_TURN_P4

#include "refuse.p4"

control VlTurn(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    action depart(group_t group, bit<1> up) {
        meta.out_group = group;
        meta.out_up = up;
    }
    action no_port() {
        REFUSE(NO_PORT);
    }
    @name("departure")
    table departure {
        key = { meta.egress_port: exact @name("port"); }
        actions = { depart; @defaultonly no_port; }
        const default_action = no_port();
        size = PORT_SIZE;
    }

    action set_vl(vl_t vl) {
        meta.turn_vl = vl;
        hdr.lph.vl = vl | meta.class_vl;
    }
    action no_turn() {
        REFUSE(VL);
    }
    @name("vl_turn")
    table vl_turn {
        key = {
            meta.in_group: exact @name("in_group");
            meta.in_up: exact @name("in_up");
            meta.out_group: exact @name("out_group");
            meta.out_up: exact @name("out_up");
            meta.turn_vl: exact @name("vl");
        }
        actions = { set_vl; @defaultonly no_turn; }
        const default_action = no_turn();
        size = VL_TURN_SIZE;
    }

    apply {
        meta.turn_vl = meta.vl;
        if (meta.vl > 3) {
            meta.turn_vl = meta.vl & 1;
            meta.class_vl = meta.vl & 0xE;
        }
        departure.apply();
        vl_turn.apply();
    }
}

#endif
