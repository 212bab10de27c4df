// SPDX-License-Identifier: Apache-2.0
// Conversion of unsigned numbers of any width from P4Runtime's big-endian bytes to 64-bit limbs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "load/program/instruction.h"

namespace railyard::tables {

// Write the limbs of a big-endian number to `out`, the least significant first. Return false if the number
// needs more than `bits` bits.
inline bool to_limbs(std::string_view value, unsigned bits, std::vector<std::uint64_t>& out) {
    out.assign(load::limbs(bits), 0);
    for (std::size_t i = 0; i < value.size(); ++i) {
        const auto byte = static_cast<std::uint64_t>(static_cast<unsigned char>(value[value.size() - 1 - i]));
        if (i / 8 < out.size()) out[i / 8] |= byte << (8 * (i % 8));
        else if (byte != 0) return false;
    }
    return (out.back() & ~load::low_mask(bits - 64 * (load::limbs(bits) - 1))) == 0;
}

}  // namespace railyard::tables
