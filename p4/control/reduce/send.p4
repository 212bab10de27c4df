// SPDX-License-Identifier: Apache-2.0
// The way of a reducing frame out of a switch: it is addressed to the neighbour behind the port, and a result leaves
// without its values where no leaf wants them.
#ifndef SEND_P4
#define SEND_P4

control Send(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    bit<16> first_leaf = 0;
    bit<16> last_leaf = REDUCE_EVERY_LEAF;

    action set_neighbour(cna_t cna, vl_t vl, bit<16> first, bit<16> last) {
        hdr.nth.dcna = cna;
        hdr.ethernet.dst = 0x020000000000 | (bit<48>)cna;
        hdr.lph.vl = vl;
        meta.turn_vl = vl;
        first_leaf = first;
        last_leaf = last;
    }
    @name("reduce_to")
    table neighbour {
        key = {
            hdr.reduction.tree: exact @name("tree");
            std.egress_port: exact @name("port");
        }
        actions = { set_neighbour; NoAction; }
        const default_action = NoAction();
        size = REDUCE_PORTS;
    }

    apply {
        neighbour.apply();
        if (hdr.reduction.kind == REDUCE_RESULT && hdr.reduction.owner != REDUCE_EVERY_LEAF &&
            (hdr.reduction.owner < first_leaf || hdr.reduction.owner > last_leaf)) {
            hdr.reduction.filled = 0;
            hdr.reduction_values.setInvalid();
        }
        bit<14> length = REDUCE_LENGTH_SHORT;
        if (hdr.reduction.filled == 1) {
            length = REDUCE_LENGTH_FILLED;
        }
        hdr.lph.blocks = length[13:10];
        hdr.lph.flits = length[9:5];
        hdr.lph.tail = length[4:0];
    }
}

#endif
