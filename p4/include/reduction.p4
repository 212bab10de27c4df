// SPDX-License-Identifier: Apache-2.0
// Header and sizes of sums in switches (control/reduce/). docs/reference/reduction.md explains them.
#ifndef REDUCTION_P4
#define REDUCTION_P4

// A frame carries 256 bytes of values: 64 of 32 bits or 32 of 64 bits, each with its most significant byte first.
// p4c takes no wider field.
typedef bit<2048> values_t;

// A bit for each child of a switch in a tree.
typedef bit<256> children_t;

// NTH.nlp: a reduction header follows. This testbed's code.
const bit<3> NLP_REDUCTION = 4;

// Cells of a switch, of all its trees together: two versions of each slot.
#define REDUCE_CELLS 4096
#define REDUCE_TREES 256
#define REDUCE_PORTS 4096

const bit<4> REDUCE_CONTRIBUTION = 0;  // on its way to the root
const bit<4> REDUCE_RESULT = 1;        // on its way from the root

const bit<16> REDUCE_EVERY_LEAF = 0xFFFF;

// Operations: the lowest bit says that values have 64 bits and not 32, the others what is done.
const bit<3> REDUCE_SUM = 0;
const bit<3> REDUCE_MAX = 1;
const bit<3> REDUCE_MIN = 2;

// LPH.length of a frame of LPH, NTH and reduction header, and of one with values as well: 24 and 280 bytes.
const bit<14> REDUCE_LENGTH_SHORT = 14w35;    // 1 flit of 20 bytes before the last, which has 4
const bit<14> REDUCE_LENGTH_FILLED = 14w435;  // 13 flits before the last, which has 20

header reduction_t {
    bit<4> kind;
    bit<3> operation;
    bit<1> wide;     // values of 64 bits
    bit<1> filled;   // values follow
    bit<1> wrapped;  // a sum has left the range of its values, and has wrapped around
    bit<6> rsv;
    bit<16> tree;
    bit<16> owner;   // leaf of the tree that gets the values; the other leaves get the header alone
    bit<16> scale;   // the largest that a child has sent
    bit<32> block;   // number of the block of values, from 1
}

header reduction_values_t {
    values_t values;
}

#endif
