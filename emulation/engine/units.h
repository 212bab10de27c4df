// SPDX-License-Identifier: Apache-2.0
// Types of the numbers that rooms pass to each other. No integer converts to such a type, and no type to
// another, so that arguments in a wrong order do not compile.
#pragma once

#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
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

using Time = std::int64_t;  // picoseconds

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
