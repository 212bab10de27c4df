// SPDX-License-Identifier: Apache-2.0
#include "hosts/random/python_random.h"

#include <bit>
#include <stdexcept>
#include <string>
#include <utility>

namespace railyard {

namespace {

constexpr std::size_t kState = 624, kMiddle = 397;

}  // namespace

PythonRandom::PythonRandom(std::vector<std::uint32_t> state) : state_(std::move(state)), at_(kState) {
    if (state_.size() != kState + 1 || state_.back() > kState)
        throw std::invalid_argument("a state of " + std::to_string(state_.size()) + " words; " +
                                    std::to_string(kState) + " and a position are needed");
    at_ = state_.back();
    state_.pop_back();
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
    if (limit == 0) throw std::invalid_argument("a random number below 0");
    const int shift = 32 - std::bit_width(limit);
    for (;;)
        if (const std::uint32_t value = next() >> shift; value < limit) return value;
}

double PythonRandom::uniform() {
    const std::uint32_t high = next() >> 5, low = next() >> 6;
    return (high * 67'108'864.0 + low) / 9'007'199'254'740'992.0;
}

}  // namespace railyard
