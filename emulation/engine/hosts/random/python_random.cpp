// SPDX-License-Identifier: Apache-2.0
#include "hosts/random/python_random.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace railyard::hosts {

namespace {

constexpr std::size_t kState = 624, kMiddle = 397;

// Split a big-endian number into 32-bit words, the least significant first; at least one word.
std::vector<std::uint32_t> words_of(std::string_view number) {
    number.remove_prefix(std::min(number.find_first_not_of('\0'), number.size()));
    std::vector<std::uint32_t> words(std::max<std::size_t>((number.size() + 3) / 4, 1));
    for (std::size_t byte = 0; byte < number.size(); ++byte)
        words[byte / 4] |= std::uint32_t{static_cast<std::uint8_t>(number[number.size() - 1 - byte])}
                           << byte % 4 * 8;
    return words;
}

}  // namespace

// Seed the state; the generator's authors call this function init_by_array.
PythonRandom::PythonRandom(std::string_view seed) : state_(kState), at_(kState) {
    const std::vector<std::uint32_t> key = words_of(seed);
    state_[0] = 19'650'218;
    for (std::uint32_t i = 1; i < kState; ++i)
        state_[i] = 1'812'433'253u * (state_[i - 1] ^ state_[i - 1] >> 30) + i;
    std::uint32_t at = 1;
    const auto mix = [&](std::uint32_t factor, std::uint32_t added) {
        state_[at] = (state_[at] ^ (state_[at - 1] ^ state_[at - 1] >> 30) * factor) + added;
        if (++at == kState) {
            state_[0] = state_[kState - 1];
            at = 1;
        }
    };
    for (std::size_t step = 0; step < std::max(kState, key.size()); ++step) {
        const auto word = static_cast<std::uint32_t>(step % key.size());
        mix(1'664'525u, key[word] + word);
    }
    for (std::size_t step = 1; step < kState; ++step) mix(1'566'083'941u, 0u - at);
    state_[0] = 0x8000'0000u;
}

std::uint32_t PythonRandom::next() {
    if (at_ == kState) {
        for (std::size_t i = 0; i < kState; ++i) {
            const std::uint32_t joined =
                (state_[i] & 0x8000'0000u) | (state_[(i + 1) % kState] & 0x7FFF'FFFFu);
            state_[i] =
                state_[(i + kMiddle) % kState] ^ joined >> 1 ^ ((joined & 1u) != 0 ? 0x9908'B0DFu : 0u);
        }
        at_ = 0;
    }
    std::uint32_t value = state_[at_++];
    value ^= value >> 11;
    value ^= value << 7 & 0x9D2C'5680u;
    value ^= value << 15 & 0xEFC6'0000u;
    return value ^ value >> 18;
}

std::uint32_t PythonRandom::below(std::uint32_t limit) {
    if (limit == 0) throw std::invalid_argument("a random number needs a bound above 0");
    const int shift = 32 - std::bit_width(limit);
    for (;;)
        if (const std::uint32_t value = next() >> shift; value < limit) return value;
}

double PythonRandom::uniform() {
    const std::uint32_t high = next() >> 5, low = next() >> 6;
    return (high * 67'108'864.0 + low) / 9'007'199'254'740'992.0;
}

}  // namespace railyard::hosts
