// SPDX-License-Identifier: Apache-2.0
#include "hosts/random/random_elements.h"

#include <array>
#include <bit>

namespace railyard::hosts {

namespace {

using Word = RandomElements::Word;

constexpr Word kMultiplier = Word{2549297995355413924U} << 64 | 4865540595714422341U;
// Bits of the least int32; XOR with them maps 0 to the least int32, 1 to its successor, and so on.
constexpr std::uint32_t kLeast = std::uint32_t{1} << 31;
// Interleaved generators, each of which makes every kLanes-th output: their multiplications are independent,
// so the processor overlaps them.
constexpr std::size_t kLanes = 4;

std::uint64_t output_of(Word state) {
    const auto high = static_cast<std::uint64_t>(state >> 64), low = static_cast<std::uint64_t>(state);
    return std::rotr(high ^ low, static_cast<int>(high >> 58));
}

}  // namespace

template <typename Take>
void RandomElements::draw(const Take& take) const {
    std::array<Word, kLanes> lane;
    Word state = state_, multiplier = 1, increment = 0;
    for (Word& first : lane) {
        state = state * kMultiplier + increment_;
        first = state;
        multiplier *= kMultiplier;
        increment = increment * kMultiplier + increment_;
    }
    std::size_t at = 0;
    for (; at + 2 * kLanes <= count_; at += 2 * kLanes) {
        for (std::size_t number = 0; number < kLanes; ++number) {
            const std::uint64_t both = output_of(lane[number]);
            lane[number] = lane[number] * multiplier + increment;
            take(at + 2 * number, static_cast<std::uint32_t>(both) ^ kLeast);
            take(at + 2 * number + 1, static_cast<std::uint32_t>(both >> 32) ^ kLeast);
        }
    }
    for (std::size_t number = 0; at < count_; ++number) {
        const std::uint64_t both = output_of(lane[number]);
        take(at++, static_cast<std::uint32_t>(both) ^ kLeast);
        if (at < count_) take(at++, static_cast<std::uint32_t>(both >> 32) ^ kLeast);
    }
}

void RandomElements::fill(std::uint32_t* out) const {
    draw([out](std::size_t at, std::uint32_t element) { out[at] = element; });
}

void RandomElements::add_to(std::uint32_t* total) const {
    draw([total](std::size_t at, std::uint32_t element) { total[at] += element; });
}

}  // namespace railyard::hosts
