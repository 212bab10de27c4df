// SPDX-License-Identifier: Apache-2.0
// Types of times, bytes and rates: conversions, arithmetic, and the time that bytes take at a rate.
#include <concepts>
#include <limits>
#include <type_traits>

#include "common.h"
#include "units.h"

namespace railyard {
namespace {

template <typename A, typename B>
concept Addable = requires(A a, B b) { a + b; };
template <typename A, typename B>
concept Comparable = requires(A a, B b) { a < b; };
template <typename A, typename B>
concept Multipliable = requires(A a, B b) { a * b; };
template <typename A, typename B>
concept Transmissible = requires(A a, B b) { transmission_time(a, b); };

// Neither integers nor amounts of another kind convert to an amount, nor an amount to an integer.
static_assert(!std::is_convertible_v<int, Time> && std::is_constructible_v<Time, int>);
static_assert(!std::is_convertible_v<Time, std::int64_t> && !std::is_constructible_v<std::int64_t, Time>);
static_assert(!std::is_constructible_v<Time, Bytes> && !std::is_constructible_v<Bytes, Time>);
static_assert(!std::is_convertible_v<int, Rate> && !std::is_constructible_v<Rate, Bytes>);
static_assert(!Addable<Time, Bytes> && !Addable<Rate, Bytes> && !Addable<Time, int> && Addable<Time, Time>);
static_assert(!Comparable<Time, int> && !Comparable<Bytes, Time> && Comparable<Bytes, FrameBytes>);
static_assert(!Multipliable<Time, Time> && Multipliable<Time, int> && Multipliable<std::size_t, Time>);
static_assert(Transmissible<Bytes, Rate> && !Transmissible<Rate, Bytes> &&
              !Transmissible<Bytes, std::int64_t>);
// Only a wider amount takes an amount without a cast.
static_assert(std::is_convertible_v<FrameBytes, Bytes> && !std::is_convertible_v<Bytes, FrameBytes>);
static_assert(std::is_nothrow_copy_constructible_v<Time> && std::is_trivially_copyable_v<FrameBytes>);

TEST(Units, AmountsAddUpAndScale) {
    constexpr Time sum = 2 * kMicrosecond + kNanosecond * 500;
    static_assert(sum == Time(2'500'000));
    EXPECT_EQ(sum - kMicrosecond, Time(1'500'000));
    EXPECT_EQ(-sum, Time(-2'500'000));
    EXPECT_EQ(abs(-sum), sum);
    EXPECT_EQ(sum / 5, 500 * kNanosecond);
    EXPECT_EQ(sum % kMicrosecond, 500 * kNanosecond);
    Bytes bytes(10);
    bytes += FrameBytes(5);
    bytes -= Bytes(3);
    EXPECT_EQ(bytes, Bytes(12));
    EXPECT_EQ(to_string(bytes), "12");
}

TEST(Units, ARatioOfAmountsIsANumber) {
    static_assert(std::same_as<decltype(kSecond / kMillisecond), std::int64_t>);
    EXPECT_EQ(kSecond / kMillisecond, 1000);
    EXPECT_EQ(Time(2'999) / kNanosecond, 2);
}

TEST(Units, ShiftsRoundTowardsMinusInfinity) {
    EXPECT_EQ(Time(7) >> 2, Time(1));
    EXPECT_EQ(Time(-7) >> 2, Time(-2));
    EXPECT_EQ(Time(-7) / 4, Time(-1));
    EXPECT_EQ(Time(3) << 4, Time(48));
}

TEST(Units, FloatingPointNumbersAreTruncated) {
    EXPECT_EQ(static_cast<Time>(2.9), Time(2));
    EXPECT_EQ(static_cast<Bytes>(-2.9), Bytes(-2));
    EXPECT_EQ(static_cast<double>(Time(1) << 40), 1099511627776.0);
}

TEST(Units, LimitsAreThoseOfTheInteger) {
    EXPECT_EQ(std::numeric_limits<Time>::max().value(), std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(std::numeric_limits<Bytes>::lowest().value(), std::numeric_limits<std::int64_t>::lowest());
}

TEST(Units, CountedBytesWrapAround) {
    CountedBytes bytes = std::numeric_limits<CountedBytes>::max();
    bytes += CountedBytes(2);
    EXPECT_EQ(bytes, CountedBytes(1));
}

TEST(Units, TransmissionTimesAreRoundedUp) {
    static_assert(transmission_time(Bytes(1), Rate(8'000'000'000)) == kNanosecond);
    EXPECT_EQ(transmission_time(Bytes(), Rate(1)), Time());
    EXPECT_EQ(transmission_time(Bytes(1), Rate(3)), Time(2'666'666'666'667));
    // Beyond a megabyte, or at the highest rates, the product needs more than 64 bits.
    EXPECT_EQ(transmission_time(Bytes(4'000'000'000), Rate(8'000'000)), 4'000 * kSecond);
    EXPECT_EQ(transmission_time(Bytes(1000), Rate(std::numeric_limits<std::int64_t>::max())), Time(1));
}

}  // namespace
}  // namespace railyard
