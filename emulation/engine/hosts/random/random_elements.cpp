// SPDX-License-Identifier: Apache-2.0
#include "hosts/random/random_elements.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define RAILYARD_AVX512 __attribute__((target("avx512f,avx512dq")))
#endif

namespace railyard::hosts {

namespace {

using Word = RandomElements::Word;

constexpr Word kMultiplier = Word{2549297995355413924U} << 64 | 4865540595714422341U;
// Bits of the least int32; XOR with them maps 0 to the least int32, 1 to its successor, and so on.
constexpr std::uint32_t kLeast = std::uint32_t{1} << 31;

// Random elements fill an array, or are added to its elements.
enum class Use { Fill, Add };

std::uint64_t high(Word word) { return static_cast<std::uint64_t>(word >> 64); }
std::uint64_t low(Word word) { return static_cast<std::uint64_t>(word); }

// Interleaved generators, each of which makes every kLanes-th output: their multiplications are independent,
// so the processor overlaps them.
template <std::size_t kLanes>
struct Lanes {
    std::array<Word, kLanes> states;
    Word multiplier = 1, increment = 0;  // from one state of a lane to its next

    // `first` is the state of the first output.
    Lanes(Word first, Word step) {
        for (Word& state : states) {
            state = first;
            first = first * kMultiplier + step;
            multiplier *= kMultiplier;
            increment = increment * kMultiplier + step;
        }
    }
};

std::uint64_t output_of(Word state) {
    return std::rotr(high(state) ^ low(state), static_cast<int>(high(state) >> 58));
}

template <Use use>
void take(std::uint32_t& element, std::uint64_t bits) {
    const std::uint32_t drawn = static_cast<std::uint32_t>(bits) ^ kLeast;
    if constexpr (use == Use::Fill) element = drawn;
    else element += drawn;
}

template <Use use>
void draw(Word first, Word step, std::uint32_t* elements, std::size_t count) {
    constexpr std::size_t kLanes = 4;
    Lanes<kLanes> lanes(first, step);
    std::size_t at = 0;
    for (; at + 2 * kLanes <= count; at += 2 * kLanes)
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            const std::uint64_t both = output_of(lanes.states[lane]);
            lanes.states[lane] = lanes.states[lane] * lanes.multiplier + lanes.increment;
            take<use>(elements[at + 2 * lane], both);
            take<use>(elements[at + 2 * lane + 1], both >> 32);
        }
    for (std::size_t lane = 0; at < count; ++lane) {
        const std::uint64_t both = output_of(lanes.states[lane]);
        take<use>(elements[at++], both);
        if (at < count) take<use>(elements[at++], both >> 32);
    }
}

#ifdef RAILYARD_AVX512
using Words __attribute__((vector_size(64))) = std::uint64_t;
using Elements __attribute__((vector_size(64))) = std::uint32_t;
constexpr std::size_t kWide = sizeof(Words) / sizeof(std::uint64_t);

// Generators in vectors, and what leads from their states to the next ones.
struct States {
    Words high, low;
};
struct Stride {
    std::uint64_t by_high, by_low, plus_high, plus_low;
};

RAILYARD_AVX512 inline Words outputs_of(const States& states) {
    const Words word = states.high ^ states.low, by = states.high >> 58;
    return word >> by | word << (-by & 63);
}

// Multiply the lower halves of words.
RAILYARD_AVX512 inline Words times(const Words& a, std::uint64_t b) {
    const Words all = Words{} + b;
    return reinterpret_cast<Words>(
        _mm512_maskz_mul_epu32(0xFF, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(all)));
}

RAILYARD_AVX512 inline void advance(States& states, const Stride& stride) {
    constexpr std::uint64_t kLower = 0xFFFFFFFF;
    const auto [high, low] = states;
    // The lower 128 bits of the product, from products of 32 bits.
    const Words upper = low >> 32;
    const std::uint64_t by_upper = stride.by_low >> 32;
    const Words least = times(low, stride.by_low);
    const Words middle = times(upper, stride.by_low) + (least >> 32);
    const Words other = times(low, by_upper) + (middle & kLower);
    const Words product =
        times(upper, by_upper) + (middle >> 32) + (other >> 32) + low * stride.by_high + high * stride.by_low;
    states.low = ((other << 32) | (least & kLower)) + stride.plus_low;
    const auto carries = states.low < stride.plus_low;  // -1: true
    states.high = product + stride.plus_high - reinterpret_cast<Words>(carries);
}

template <Use use>
RAILYARD_AVX512 inline void take_all(std::uint32_t* to, const Words& bits) {
    Elements drawn = reinterpret_cast<Elements>(bits) ^ kLeast;
    if constexpr (use == Use::Add) {
        Elements before;
        std::memcpy(&before, to, sizeof before);
        drawn += before;
    }
    std::memcpy(to, &drawn, sizeof drawn);
}

// Draw as many elements as whole vectors hold, in a third of the time of draw(). Return their number, and set
// `first` to the state of the next output.
template <Use use>
RAILYARD_AVX512 std::size_t draw_wide(Word& first, Word step, std::uint32_t* elements, std::size_t count) {
    const Lanes<2 * kWide> lanes(first, step);
    States former{}, latter{};
    for (std::size_t lane = 0; lane < kWide; ++lane) {
        former.high[lane] = high(lanes.states[lane]);
        former.low[lane] = low(lanes.states[lane]);
        latter.high[lane] = high(lanes.states[kWide + lane]);
        latter.low[lane] = low(lanes.states[kWide + lane]);
    }
    const Stride stride{high(lanes.multiplier), low(lanes.multiplier), high(lanes.increment),
                        low(lanes.increment)};
    std::size_t at = 0;
    for (; at + 4 * kWide <= count; at += 4 * kWide) {
        take_all<use>(elements + at, outputs_of(former));
        take_all<use>(elements + at + 2 * kWide, outputs_of(latter));
        advance(former, stride);
        advance(latter, stride);
    }
    first = Word{former.high[0]} << 64 | former.low[0];
    return at;
}
#endif

template <Use use>
void draw_all(Word state, Word step, std::uint32_t* elements, std::size_t count) {
    Word first = state * kMultiplier + step;
    std::size_t drawn = 0;
#ifdef RAILYARD_AVX512
    if (__builtin_cpu_supports("avx512dq")) drawn = draw_wide<use>(first, step, elements, count);
#endif
    draw<use>(first, step, elements + drawn, count - drawn);
}

}  // namespace

void RandomElements::fill(std::uint32_t* out) const { draw_all<Use::Fill>(state_, increment_, out, count_); }

void RandomElements::add_to(std::uint32_t* total) const {
    draw_all<Use::Add>(state_, increment_, total, count_);
}

}  // namespace railyard::hosts
