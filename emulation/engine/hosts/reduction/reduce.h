// SPDX-License-Identifier: Apache-2.0
// Sums of elements in a fixed order, as in emulation/traffic/schedule/data.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace railyard {

constexpr std::uint8_t kInt32 = 1, kFloat32 = 2;  // element types on the wire
constexpr std::size_t kItemBytes = 4;

// Add `terms` from left to right, and write the sum to `own`, which may be a term. int32 wraps. The addresses
// need no alignment, and `room` is memory for reuse.
void add_in_order(std::uint8_t* own, const std::vector<const std::uint8_t*>& terms, std::size_t bytes,
                  std::uint8_t dtype, std::vector<std::uint8_t>& room);

}  // namespace railyard
