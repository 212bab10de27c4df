// SPDX-License-Identifier: Apache-2.0
#include "hosts/reduction/reduce.h"

#include <bit>
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

template <typename T, typename Op>
void combine(std::uint8_t* result, const std::uint8_t* left, const std::uint8_t* right, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += sizeof(T)) {
        T a, b;
        std::memcpy(&a, left + at, sizeof(T));
        std::memcpy(&b, right + at, sizeof(T));
        if constexpr (kShort<T>) a = T(Op::of(static_cast<float>(a), static_cast<float>(b)));
        else a = Op::of(a, b);
        std::memcpy(result + at, &a, sizeof(T));
    }
}

using Combination = void (*)(std::uint8_t*, const std::uint8_t*, const std::uint8_t*, std::size_t);

// Return the function of an operation; null if the type has no such operation.
template <typename T>
Combination combination_of(std::uint8_t op) {
    switch (op) {
        case kReduce: return combine<T, Sum>;
        case kProduct: return combine<T, Product>;
        case kMinimum: return combine<T, Minimum>;
        case kMaximum: return combine<T, Maximum>;
        default: break;
    }
    if constexpr (std::is_integral_v<T>) {
        switch (op) {
            case kAnd: return combine<T, And>;
            case kOr: return combine<T, Or>;
            case kXor: return combine<T, Xor>;
            default: break;
        }
    }
    return nullptr;
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
        default: return nullptr;
    }
}

}  // namespace

void combine_in_order(std::uint8_t* own, const std::vector<const std::uint8_t*>& terms, std::size_t bytes,
                      std::uint8_t dtype, std::uint8_t op, std::vector<std::uint8_t>& room) {
    const Combination combined = combination_of(dtype, op);
    if (combined == nullptr)
        throw std::invalid_argument("elements of type " + std::to_string(dtype) +
                                    " have no operation of number " + std::to_string(op));
    // Only the last result goes to `own`, which may be a later term.
    ASSERT(terms.size() > 1);
    if (room.size() < bytes) room.resize(bytes);
    const std::uint8_t* left = terms[0];
    for (std::size_t place = 1; place < terms.size(); ++place) {
        std::uint8_t* const to = place + 1 == terms.size() ? own : room.data();
        combined(to, left, terms[place], bytes);
        left = to;
    }
}

}  // namespace railyard::hosts
