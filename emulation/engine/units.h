// SPDX-License-Identifier: Apache-2.0
// Types of the numbers that rooms pass to each other: ports, times, bytes, rates. No integer converts to such
// a type, and no type to another, so that arguments in a wrong order and sums of different units do not
// compile.
#pragma once

#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "invariant.h"

namespace railyard {

// A number that identifies or ranks something, with a type of its own for each `Kind`. It has no arithmetic.
template <typename Kind, typename T>
class Number {
   public:
    constexpr Number() = default;
    template <std::integral From>
    constexpr explicit Number(From value) : value_(static_cast<T>(value)) {
        ASSERT(std::in_range<T>(value));
    }
    [[nodiscard]] constexpr T value() const { return value_; }
    friend constexpr auto operator<=>(Number, Number) = default;

   private:
    T value_ = 0;
};

template <typename Kind, typename T>
[[nodiscard]] std::string to_string(Number<Kind, T> number) {
    return std::to_string(number.value());
}

// A number of units of a `Kind`, with the arithmetic of a physical quantity: a sum or difference of two
// amounts is an amount, a ratio of two amounts is a plain number. An amount converts to a wider amount of its
// kind.
template <typename Kind, std::integral T>
class Amount {
   public:
    constexpr Amount() noexcept = default;
    template <std::integral From>
    constexpr explicit Amount(From units) noexcept : units_(static_cast<T>(units)) {
        ASSERT(std::in_range<T>(units));
    }
    // Truncate towards zero.
    template <std::floating_point From>
    constexpr explicit Amount(From units) noexcept : units_(static_cast<T>(units)) {}
    template <std::integral From>
    constexpr explicit(sizeof(From) >= sizeof(T)) Amount(Amount<Kind, From> other) noexcept
        : Amount(other.value()) {}

    [[nodiscard]] constexpr T value() const noexcept { return units_; }
    template <std::floating_point To>
    [[nodiscard]] constexpr explicit operator To() const noexcept {
        return static_cast<To>(units_);
    }

    constexpr Amount& operator+=(Amount other) noexcept {
        units_ += other.units_;
        return *this;
    }
    constexpr Amount& operator-=(Amount other) noexcept {
        units_ -= other.units_;
        return *this;
    }
    friend constexpr auto operator<=>(Amount, Amount) noexcept = default;
    // As <=> gives them, but compiled to one comparison at every place.
    friend constexpr bool operator<(Amount a, Amount b) noexcept { return a.units_ < b.units_; }
    friend constexpr bool operator>(Amount a, Amount b) noexcept { return a.units_ > b.units_; }
    friend constexpr bool operator<=(Amount a, Amount b) noexcept { return a.units_ <= b.units_; }
    friend constexpr bool operator>=(Amount a, Amount b) noexcept { return a.units_ >= b.units_; }
    friend constexpr Amount operator+(Amount a, Amount b) noexcept { return a += b; }
    friend constexpr Amount operator-(Amount a, Amount b) noexcept { return a -= b; }
    constexpr Amount operator-() const noexcept
        requires std::signed_integral<T>
    {
        return Amount(-units_);
    }
    template <std::integral Factor>
    friend constexpr Amount operator*(Amount a, Factor factor) noexcept {
        return Amount(a.units_ * static_cast<T>(factor));
    }
    template <std::integral Factor>
    friend constexpr Amount operator*(Factor factor, Amount a) noexcept {
        return a * factor;
    }
    template <std::integral Divisor>
    friend constexpr Amount operator/(Amount a, Divisor divisor) noexcept {
        return Amount(a.units_ / static_cast<T>(divisor));
    }
    friend constexpr T operator/(Amount a, Amount b) noexcept { return a.units_ / b.units_; }
    friend constexpr Amount operator%(Amount a, Amount b) noexcept { return Amount(a.units_ % b.units_); }
    // Multiply by a power of two; divide by a power of two and round towards minus infinity.
    friend constexpr Amount operator<<(Amount a, unsigned exponent) noexcept {
        return Amount(a.units_ << exponent);
    }
    friend constexpr Amount operator>>(Amount a, unsigned exponent) noexcept {
        return Amount(a.units_ >> exponent);
    }
    friend constexpr Amount abs(Amount a) noexcept
        requires std::signed_integral<T>
    {
        return a.units_ < 0 ? -a : a;
    }
    friend std::string to_string(Amount a) { return std::to_string(a.units_); }

   private:
    T units_ = 0;
};

// Picoseconds of virtual time: a time since the start, or a duration.
using Time = Amount<struct TimeKind, std::int64_t>;
static_assert(sizeof(Time) == sizeof(std::int64_t) && std::is_trivially_copyable_v<Time>);
inline constexpr Time kNanosecond{1'000}, kMicrosecond = 1'000 * kNanosecond,
                                          kMillisecond = 1'000 * kMicrosecond, kSecond = 1'000 * kMillisecond;
// In place of a time: the event has not happened, or none is due.
inline constexpr Time kUnset{-1};
// Later than any event.
inline constexpr Time kNever = Time{1} << 62;
// Bytes of traffic: of frames, queues, credits and windows. Memory and positions in it have std::size_t.
using Bytes = Amount<struct ByteKind, std::int64_t>;
// Bytes of one frame, in structures of which each frame has one.
using FrameBytes = Amount<struct ByteKind, std::uint32_t>;
// Bytes that a counter of a P4 program has counted, modulo 2^64.
using CountedBytes = Amount<struct ByteKind, std::uint64_t>;
static_assert(sizeof(Bytes) == sizeof(std::int64_t) && std::is_trivially_copyable_v<Bytes>);
static_assert(sizeof(FrameBytes) == sizeof(std::uint32_t));
// Bits per second of a link, a host or a unit of an NPU.
using Rate = Amount<struct RateKind, std::int64_t>;
static_assert(sizeof(Rate) == sizeof(std::int64_t) && std::is_trivially_copyable_v<Rate>);

// Return the time that bytes take at a rate, rounded up so that no link exceeds its rate.
[[nodiscard]] constexpr Time transmission_time(Bytes bytes, Rate rate) noexcept {
    constexpr std::uint64_t kBits = 8 * 1'000'000'000'000ULL;  // bits of a byte times picoseconds of a second
    const auto length = static_cast<std::uint64_t>(bytes.value()),
               bits = static_cast<std::uint64_t>(rate.value());
    ASSERT(bytes >= Bytes() && rate > Rate());
    if (length <= 1'000'000 && bits < std::uint64_t{1} << 62) return Time((length * kBits + bits - 1) / bits);
    return Time(
        static_cast<std::int64_t>((static_cast<unsigned __int128>(length) * kBits + bits - 1) / bits));
}

// Port of a switch.
using Port = Number<struct PortKind, std::uint32_t>;
// Priority of a frame: standard_metadata.priority of v1model.
using Priority = Number<struct PriorityKind, std::uint8_t>;
// Queue of a channel, in ascending order of service priority. A priority has one lane or two lanes.
using Lane = Number<struct LaneKind, std::uint8_t>;
// Virtual lane as users number it; Lanes (network/links/virtual_lanes.h) maps it to a lane.
using Vl = Number<struct VlKind, int>;

// Direction of a link: Forward leads from its first switch to its second switch, or from a host to its
// switch.
enum class Direction : std::uint8_t { Forward, Backward };
inline constexpr std::array kDirections{Direction::Forward, Direction::Backward};

[[nodiscard]] constexpr Direction opposite(Direction direction) {
    return direction == Direction::Forward ? Direction::Backward : Direction::Forward;
}

// An element for each direction of a link.
template <typename T>
struct ByDirection : std::array<T, 2> {
    using std::array<T, 2>::operator[];
    [[nodiscard]] constexpr T& operator[](Direction d) { return (*this)[static_cast<std::size_t>(d)]; }
    [[nodiscard]] constexpr const T& operator[](Direction d) const {
        return (*this)[static_cast<std::size_t>(d)];
    }
};

// Number of values of standard_metadata.priority, and of lanes: a priority may have two (Lanes::set).
inline constexpr std::size_t kPriorities = 8;
inline constexpr std::size_t kVls = 2 * kPriorities;

// An element for each lane.
template <typename T>
struct ByLane : std::array<T, kVls> {
    using std::array<T, kVls>::operator[];
    [[nodiscard]] constexpr T& operator[](Lane lane) { return (*this)[lane.value()]; }
    [[nodiscard]] constexpr const T& operator[](Lane lane) const { return (*this)[lane.value()]; }
};

}  // namespace railyard

template <typename Kind, typename T>
struct std::numeric_limits<railyard::Amount<Kind, T>> {
    using Amount = railyard::Amount<Kind, T>;
    static constexpr bool is_specialized = true;
    static constexpr Amount min() noexcept { return Amount(numeric_limits<T>::min()); }
    static constexpr Amount lowest() noexcept { return Amount(numeric_limits<T>::lowest()); }
    static constexpr Amount max() noexcept { return Amount(numeric_limits<T>::max()); }
};
