// SPDX-License-Identifier: Apache-2.0
// Adds, or takes the larger or smaller of, all values of two frames at once. The values stand side by side in one wide
// word, and what could pass from a value to the next is kept apart: the topmost bit of every value.
#ifndef COMBINE_P4
#define COMBINE_P4

// The topmost bit of every value, 32 or 64 bits wide, in words that double in length.
const bit<64> TOP_32_1 = 0x8000000080000000;
const bit<128> TOP_32_2 = TOP_32_1 ++ TOP_32_1;
const bit<256> TOP_32_4 = TOP_32_2 ++ TOP_32_2;
const bit<512> TOP_32_8 = TOP_32_4 ++ TOP_32_4;
const bit<1024> TOP_32_16 = TOP_32_8 ++ TOP_32_8;
const values_t TOP_32 = TOP_32_16 ++ TOP_32_16;
const bit<64> TOP_64_1 = 0x8000000000000000;
const bit<128> TOP_64_2 = TOP_64_1 ++ TOP_64_1;
const bit<256> TOP_64_4 = TOP_64_2 ++ TOP_64_2;
const bit<512> TOP_64_8 = TOP_64_4 ++ TOP_64_4;
const bit<1024> TOP_64_16 = TOP_64_8 ++ TOP_64_8;
const values_t TOP_64 = TOP_64_16 ++ TOP_64_16;

control Combine(inout values_t sum, in values_t values, in bit<3> operation, in bit<1> wide, out bit<1> wrapped) {
    apply {
        values_t top = TOP_32;
        if (wide == 1) {
            top = TOP_64;
        }
        wrapped = 0;
        if (operation == REDUCE_SUM) {
            // Without their topmost bits two values add up to no more than the room of one; these bits are added last.
            values_t low = (sum & ~top) + (values & ~top);
            low = low ^ ((sum ^ values) & top);
            // Values of one sign have a sum of the other.
            if (((sum ^ low) & (values ^ low) & top) != 0) {
                wrapped = 1;
            }
            sum = low;
        } else {
            // Signed numbers are in the order of unsigned ones once their topmost bit is turned over.
            values_t a = sum ^ top;
            values_t b = values ^ top;
            values_t low = (a | top) - (b & ~top);
            values_t least = ((a & ~b) | (~(a ^ b) & low)) & top;  // the topmost bit: a is b or more
            values_t moved = least >> 31;
            if (wide == 1) {
                moved = least >> 63;
            }
            values_t differ = (sum ^ values) & ~((least - moved) | least);  // where b is more
            if (operation == REDUCE_MAX) {
                sum = sum ^ differ;
            } else {
                sum = values ^ differ;
            }
        }
    }
}

#endif
