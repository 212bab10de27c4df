// SPDX-License-Identifier: Apache-2.0
#include "hosts/reduction/reduce.h"

#include <bit>
#include <cstring>

#include "invariant.h"

namespace railyard {

namespace {

// Elements are little-endian on the wire, as in memory.
static_assert(std::endian::native == std::endian::little);

template <typename T>
void add(std::uint8_t* sum, const std::uint8_t* left, const std::uint8_t* right, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += sizeof(T)) {
        T a{}, b{};
        std::memcpy(&a, left + at, sizeof(T));
        std::memcpy(&b, right + at, sizeof(T));
        a += b;
        std::memcpy(sum + at, &a, sizeof(T));
    }
}

}  // namespace

void add_in_order(std::uint8_t* own, const std::vector<const std::uint8_t*>& terms, std::size_t bytes,
                  std::uint8_t dtype, std::vector<std::uint8_t>& room) {
    const auto sum = dtype == kFloat32 ? add<float> : add<std::uint32_t>;
    // `own` is overwritten by the last sum, and no earlier: it may be a later term.
    ASSERT(terms.size() > 1 && bytes % kItemBytes == 0);
    if (room.size() < bytes) room.resize(bytes);
    const std::uint8_t* left = terms[0];
    for (std::size_t place = 1; place < terms.size(); ++place) {
        std::uint8_t* const to = place + 1 == terms.size() ? own : room.data();
        sum(to, left, terms[place], bytes);
        left = to;
    }
}

}  // namespace railyard
