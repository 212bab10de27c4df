// SPDX-License-Identifier: Apache-2.0
// Keeps the LPH length true when the 8-byte source-route header is pushed. The length is a mixed-radix number:
// blocks of 32 flits, flits of 20 bytes, bytes; so 8 is added with carries.
#ifndef GROW_LENGTH_P4
#define GROW_LENGTH_P4

#include "refuse.p4"

control GrowLength(inout lph_t lph, inout standard_metadata_t std) {
    apply {
        if (lph.tail < FLIT_BYTES - SRH_BYTES) {
            lph.tail = lph.tail + SRH_BYTES;
        } else {
            lph.tail = lph.tail - (FLIT_BYTES - SRH_BYTES);
            if (lph.flits == 31) {
                if (lph.blocks == 15) {
                    REFUSE(LENGTH);
                }
                lph.blocks = lph.blocks + 1;
            }
            lph.flits = lph.flits + 1;
        }
    }
}

#endif
