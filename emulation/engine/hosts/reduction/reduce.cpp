// SPDX-License-Identifier: Apache-2.0
#include "hosts/reduction/reduce.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "hosts/messages/codec.h"
#include "invariant.h"

namespace railyard::hosts {

namespace {

// Elements are little-endian on the wire, as in memory.
static_assert(std::endian::native == std::endian::little);

// 16-bit float, computed as float and rounded to nearest, ties to even.
struct Half {
    _Float16 stored;
    Half() = default;
    explicit Half(float value) : stored(static_cast<_Float16>(value)) {}
    explicit operator float() const { return static_cast<float>(stored); }
};

struct Bfloat16 {
    std::uint16_t stored;
    Bfloat16() = default;
    explicit Bfloat16(float value) {
        const auto bits = std::bit_cast<std::uint32_t>(value);
        const bool nan = value != value;
        stored = nan ? 0x7FC0 : static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
    }
    explicit operator float() const { return std::bit_cast<float>(std::uint32_t{stored} << 16); }
};

template <typename T>
constexpr bool kShort = std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>;

struct Sum {
    template <typename T>
    static T of(T a, T b) {
        if constexpr (std::is_integral_v<T>) {
            using Wrapping = std::make_unsigned_t<T>;
            return static_cast<T>(static_cast<Wrapping>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b)));
        } else {
            return a + b;
        }
    }
};
struct Product {
    template <typename T>
    static T of(T a, T b) {
        if constexpr (std::is_integral_v<T>) {
            using Wrapping = std::make_unsigned_t<T>;
            return static_cast<T>(static_cast<Wrapping>(static_cast<Wrapping>(a) * static_cast<Wrapping>(b)));
        } else {
            return a * b;
        }
    }
};
struct Minimum {
    template <typename T>
    static T of(T a, T b) {
        return b < a ? b : a;
    }
};
struct Maximum {
    template <typename T>
    static T of(T a, T b) {
        return a < b ? b : a;
    }
};
struct And {
    template <typename T>
    static T of(T a, T b) {
        return static_cast<T>(a & b);
    }
};
struct Or {
    template <typename T>
    static T of(T a, T b) {
        return static_cast<T>(a | b);
    }
};
struct Xor {
    template <typename T>
    static T of(T a, T b) {
        return static_cast<T>(a ^ b);
    }
};

template <typename T>
T load(const std::uint8_t* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

// Most terms that a loop combines: it reads each term once and keeps the partial results in registers.
constexpr std::size_t kMostTerms = 4;
using Group = std::array<const std::uint8_t*, kMostTerms>;

// Combine the first `kTerms` terms of a group from left to right.
template <typename T, typename Op, std::size_t kTerms>
[[gnu::always_inline]] inline void combine(std::uint8_t* result, const Group& terms, std::size_t bytes) {
    const Group from = terms;  // tells the compiler that the result overwrites no address
    for (std::size_t at = 0; at < bytes; at += sizeof(T)) {
        T total = load<T>(from[0] + at);
        for (std::size_t place = 1; place < kTerms; ++place) {
            const T next = load<T>(from[place] + at);
            if constexpr (kShort<T>) total = T(Op::of(static_cast<float>(total), static_cast<float>(next)));
            else total = Op::of(total, next);
        }
        std::memcpy(result + at, &total, sizeof(T));
    }
}

template <typename T, typename Op, std::size_t kTerms>
void combine_plain(std::uint8_t* result, const Group& terms, std::size_t bytes) {
    combine<T, Op, kTerms>(result, terms, bytes);
}

#ifdef __x86_64__
// Combine by vectors of 32 bytes, which not every processor has.
template <typename T, typename Op, std::size_t kTerms>
[[gnu::target("avx2")]] void combine_wide(std::uint8_t* result, const Group& terms, std::size_t bytes) {
    combine<T, Op, kTerms>(result, terms, bytes);
}
#endif

// Functions that combine two terms and kMostTerms terms; null if the type has no such operation.
struct Combination {
    using Function = void (*)(std::uint8_t*, const Group&, std::size_t);
    Function two = nullptr, most = nullptr;
};

template <typename T, typename Op>
Combination combination() {
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2")) return {combine_wide<T, Op, 2>, combine_wide<T, Op, kMostTerms>};
#endif
    return {combine_plain<T, Op, 2>, combine_plain<T, Op, kMostTerms>};
}

template <typename T>
Combination combination_of(std::uint8_t op) {
    switch (op) {
        case kReduce: return combination<T, Sum>();
        case kProduct: return combination<T, Product>();
        case kMinimum: return combination<T, Minimum>();
        case kMaximum: return combination<T, Maximum>();
        default: break;
    }
    if constexpr (std::is_integral_v<T>) {
        switch (op) {
            case kAnd: return combination<T, And>();
            case kOr: return combination<T, Or>();
            case kXor: return combination<T, Xor>();
            default: break;
        }
    }
    return {};
}

Combination combination_of(std::uint8_t dtype, std::uint8_t op) {
    switch (dtype) {
        case kInt32: return combination_of<std::int32_t>(op);
        case kFloat32: return combination_of<float>(op);
        case kInt64: return combination_of<std::int64_t>(op);
        case kFloat64: return combination_of<double>(op);
        case kInt8: return combination_of<std::int8_t>(op);
        case kUint8: return combination_of<std::uint8_t>(op);
        case kFloat16: return combination_of<Half>(op);
        case kBfloat16: return combination_of<Bfloat16>(op);
        default: return {};
    }
}

}  // namespace

void combine_in_order(std::uint8_t* own, const std::vector<const std::uint8_t*>& terms, std::size_t bytes,
                      std::uint8_t dtype, std::uint8_t op, std::vector<std::uint8_t>& room) {
    const Combination combined = combination_of(dtype, op);
    if (combined.two == nullptr)
        throw std::invalid_argument("elements of type " + std::to_string(dtype) +
                                    " have no operation of number " + std::to_string(op));
    ASSERT(terms.size() > 1);
    if (room.size() < bytes) room.resize(bytes);
    const std::uint8_t* left = terms[0];
    for (std::size_t place = 1; place < terms.size();) {
        const std::size_t more = terms.size() - place < kMostTerms - 1 ? 1 : kMostTerms - 1;
        Group group{left};
        std::copy_n(terms.begin() + static_cast<std::ptrdiff_t>(place), more, group.begin() + 1);
        place += more;
        // Only the last result goes to `own`, which may be a later term.
        std::uint8_t* const to = place == terms.size() ? own : room.data();
        (more == 1 ? combined.two : combined.most)(to, group, bytes);
        left = to;
    }
}

}  // namespace railyard::hosts
