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

// Each width has a branch of its own: p4c merges what follows without a branch into one long expression.
control Combine(inout values_t sum, in values_t values, in bit<3> operation, in bit<1> wide, out bit<1> wrapped) {
    apply {
        wrapped = 0;
        values_t low;
        values_t top;
        if (operation == REDUCE_SUM) {
            // Without their topmost bits two values add up to no more than the room of one; these bits are added last.
            if (wide == 1) {
                top = TOP_64;
                low = ((sum & ~TOP_64) + (values & ~TOP_64)) ^ ((sum ^ values) & TOP_64);
            } else {
                top = TOP_32;
                low = ((sum & ~TOP_32) + (values & ~TOP_32)) ^ ((sum ^ values) & TOP_32);
            }
            // Values of one sign have a sum of the other.
            if (((sum ^ low) & (values ^ low) & top) != 0) {
                wrapped = 1;
            }
            sum = low;
        } else {
            // The topmost bit of a value in `least`: the sum's is no less than the other's. Of values of one sign the
            // other bits decide, by a difference that borrows no more than the topmost bit.
            values_t least;
            values_t moved;
            if (wide == 1) {
                low = (sum | TOP_64) - (values & ~TOP_64);
                least = ((~sum & values) | (~(sum ^ values) & low)) & TOP_64;
                moved = least >> 63;
            } else {
                low = (sum | TOP_32) - (values & ~TOP_32);
                least = ((~sum & values) | (~(sum ^ values) & low)) & TOP_32;
                moved = least >> 31;
            }
            // From the topmost bit to all bits of a value, and from these to the bits that differ where the other's is more.
            values_t differ = (sum ^ values) & ~((least - moved) | least);
            if (operation == REDUCE_MAX) {
                sum = sum ^ differ;
            } else if (operation == REDUCE_MIN) {
                sum = values ^ differ;
            }
        }
    }
}

#endif
