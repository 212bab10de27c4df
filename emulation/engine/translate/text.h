// SPDX-License-Identifier: Apache-2.0
// Literals in the code of translated programs.
#pragma once

#include <bit>
#include <cstdint>
#include <cstdio>
#include <string>

namespace railyard::translate {

inline std::string number(std::uint64_t value) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%llxULL", static_cast<unsigned long long>(value));
    return text;
}

// Return the expression of std::rotr(word & mask, by), for a mask of adjacent bits that do not wrap around.
inline std::string rotated(const std::string& word, std::uint64_t mask, unsigned by) {
    const bool right = static_cast<unsigned>(std::countr_zero(mask)) >= by;
    const std::uint64_t all = ~std::uint64_t{0};
    if (right) {
        const std::string shifted = by == 0 ? word : "(" + word + " >> " + std::to_string(by) + ")";
        return mask >> by == all >> by ? shifted : "(" + shifted + " & " + number(mask >> by) + ")";
    }
    const unsigned left = 64 - by;
    const std::string masked = mask << left == all << left ? word : "(" + word + " & " + number(mask) + ")";
    return "(" + masked + " << " + std::to_string(left) + ")";
}

}  // namespace railyard::translate
