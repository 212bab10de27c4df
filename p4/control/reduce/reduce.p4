// SPDX-License-Identifier: Apache-2.0
// One switch of a tree that combines values (after SwitchML's pool of slots with two versions, and SHARP's trees). Each
// child sends a block of values; the last of them sends the combined block on to the parent, or, at the root, back to
// all children. A block has a cell, by the low bits of its number: that of a slot's one version, or of the other.
//
// A child sends a block only after it has had the result of the block half the cells earlier. So when the first
// contribution to a block comes, each child has the result of the block that had the cell before, and nobody asks for
// that again: a larger number begins the cell anew, a smaller one is late and adds nothing. A child whose bit is set adds
// nothing either. It has lost something, and gets what the cell has: the result, or the switch's contribution goes up
// again, whose answer was lost.
#ifndef REDUCE_P4
#define REDUCE_P4

#include "../refuse.p4"
#include "combine.p4"

const bit<2> CELL_GATHERS = 0;
const bit<2> CELL_SENT = 1;  // the contribution has gone to the parent
const bit<2> CELL_DONE = 2;  // the values are the result

control Reduce(inout headers_t hdr, inout standard_metadata_t std) {
    Combine() combine;

    // A cell has, from its highest bits: block 32, scale 16, stage 2, filled 1, wrapped 1, 12 bits of 0.
    @name("reduce_cell")
    register<bit<64>>(REDUCE_CELLS) cells;
    @name("reduce_children")
    register<children_t>(REDUCE_CELLS) contributed;
    @name("reduce_values")
    register<values_t>(REDUCE_CELLS) sums;

    cna_t own = 0;
    bit<16> base = 0;
    bit<16> mask = 0;
    children_t all = 0;
    bit<1> is_root = 0;
    port_t parent = 0;
    bit<16> group = 0;

    action set_tree(cna_t cna, bit<16> first, bit<16> cell_mask, children_t children, bit<1> root,
                    port_t parent_port, bit<16> children_group) {
        own = cna;
        base = first;
        mask = cell_mask;
        all = children;
        is_root = root;
        parent = parent_port;
        group = children_group;
    }
    action no_tree() {
        REFUSE(NO_TREE);
    }
    @name("reduce_tree")
    table tree {
        key = { hdr.reduction.tree: exact @name("tree"); }
        actions = { set_tree; @defaultonly no_tree; }
        const default_action = no_tree();
        size = REDUCE_TREES;
    }

    children_t child = 0;  // 0: the parent

    action from_child(children_t bits) {
        child = bits;
    }
    action from_parent() {
        child = 0;
    }
    action from_stranger() {
        REFUSE(NO_TREE);
    }
    @name("reduce_from")
    table sender {
        key = {
            hdr.reduction.tree: exact @name("tree");
            std.ingress_port: exact @name("port");
        }
        actions = { from_child; from_parent; @defaultonly from_stranger; }
        const default_action = from_stranger();
        size = REDUCE_PORTS;
    }

    apply {
        tree.apply();
        sender.apply();
        bit<32> at = (bit<32>)(base + (hdr.reduction.block[15:0] & mask));
        bit<64> cell = 0;
        cells.read(cell, at);
        bit<32> block = cell[63:32];
        bit<16> scale = cell[31:16];
        bit<2> stage = cell[15:14];
        bit<1> filled = cell[13:13];
        bit<1> wrapped = cell[12:12];

        if (child == 0) {
            if (hdr.reduction.kind != REDUCE_RESULT || hdr.reduction.block != block || stage != CELL_SENT) {
                REFUSE(REPEATED);
            }
            stage = CELL_DONE;
            if (hdr.reduction.filled == 1) {
                sums.write(at, hdr.reduction_values.values);
            }
            cells.write(at, block ++ hdr.reduction.scale ++ stage ++ hdr.reduction.filled ++ hdr.reduction.wrapped ++ 12w0);
            std.mcast_grp = group;
        } else {
            if (hdr.reduction.kind != REDUCE_CONTRIBUTION || hdr.reduction.block < block ||
                hdr.reduction.block == 0) {
                REFUSE(REPEATED);
            }
            children_t have = 0;
            if (hdr.reduction.block > block) {
                block = hdr.reduction.block;
                scale = 0;
                stage = CELL_GATHERS;
                filled = 0;
                wrapped = 0;
            } else {
                contributed.read(have, at);
            }
            values_t sum = 0;
            bool again = (have & child) != 0;
            if (again) {
                if (stage == CELL_GATHERS) {
                    REFUSE(REPEATED);
                }
                if (filled == 1) {
                    sums.read(sum, at);
                }
            } else {
                have = have | child;
                contributed.write(at, have);
                if (hdr.reduction.scale > scale) {
                    scale = hdr.reduction.scale;
                }
                wrapped = wrapped | hdr.reduction.wrapped;
                if (filled == 1) {
                    sums.read(sum, at);
                }
                if (hdr.reduction.filled == 1) {
                    if (filled == 1) {
                        bit<1> wraps = 0;
                        combine.apply(sum, hdr.reduction_values.values, hdr.reduction.operation, hdr.reduction.wide, wraps);
                        wrapped = wrapped | wraps;
                    } else {
                        sum = hdr.reduction_values.values;
                    }
                    filled = 1;
                    sums.write(at, sum);
                }
                if (have == all) {
                    stage = CELL_SENT;
                    if (is_root == 1) {
                        stage = CELL_DONE;
                    }
                }
                cells.write(at, block ++ scale ++ stage ++ filled ++ wrapped ++ 12w0);
                if (stage == CELL_GATHERS) {
                    mark_to_drop(std);
                    exit;
                }
            }
            hdr.reduction.scale = scale;
            hdr.reduction.filled = filled;
            hdr.reduction.wrapped = wrapped;
            if (filled == 1) {
                hdr.reduction_values.setValid();
                hdr.reduction_values.values = sum;
            } else {
                hdr.reduction_values.setInvalid();
            }
            if (stage == CELL_SENT) {
                std.egress_spec = parent;
            } else {
                hdr.reduction.kind = REDUCE_RESULT;
                if (again) {
                    std.egress_spec = std.ingress_port;
                } else {
                    std.mcast_grp = group;
                }
            }
        }
        hdr.nth.scna = own;
        hdr.ethernet.src = 0x020000000000 | (bit<48>)own;
        hdr.srh.setInvalid();
        hdr.lph.cfg = CFG_NETWORK;
    }
}

#endif
