// SPDX-License-Identifier: Apache-2.0
// Reduction of elements in a fixed order, as in emulation/traffic/schedule/data.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace railyard::hosts {

constexpr std::size_t kItemBytes = 4;

// Combine at least two `terms` from left to right by operation `op` (messages/codec.h), and write the result
// to `own`, which may be a term. `bytes` is the length of each term, a multiple of the element size. Integers
// wrap; 16-bit floats are rounded after each operation. The addresses need no alignment, and `room` is
// scratch memory. invalid_argument if the element type has no such operation.
void combine_in_order(std::uint8_t* own, const std::vector<const std::uint8_t*>& terms, std::size_t bytes,
                      std::uint8_t dtype, std::uint8_t op, std::vector<std::uint8_t>& room);

}  // namespace railyard::hosts
