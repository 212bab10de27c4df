// SPDX-License-Identifier: Apache-2.0
// Sums in a fixed order, and the time and memory that a reduction takes.
#include "common.h"
#include "hosts/reduction/reduce.h"
#include "hosts/reduction/reduction.h"

namespace railyard::hosts {
namespace {

TEST(Sums, OfInt32WrapAndAreInOrder) {
    const std::vector<std::uint32_t> a{0xFFFFFFFF, 1, 5}, b{1, 2, 6}, c{1, 3, 7};
    std::vector<std::uint32_t> own(3);
    const auto bytes = [](const std::vector<std::uint32_t>& v) {
        return reinterpret_cast<const std::uint8_t*>(v.data());
    };
    std::vector<std::uint8_t> room;
    combine_in_order(reinterpret_cast<std::uint8_t*>(own.data()), {bytes(a), bytes(b), bytes(c)}, 12, kInt32,
                     kReduce, room);
    EXPECT_EQ(own, (std::vector<std::uint32_t>{1, 6, 18}));
}

TEST(Sums, OfFloatsDependOnTheOrderWhichIsKept) {
    const float big = 1e8F, small = 4.0F;
    std::vector<float> own{small};
    std::vector<std::uint8_t> room;
    const auto bytes = [](const float& f) { return reinterpret_cast<const std::uint8_t*>(&f); };
    const float minus = -big;
    combine_in_order(reinterpret_cast<std::uint8_t*>(own.data()), {bytes(big), bytes(own[0]), bytes(minus)},
                     4, kFloat32, kReduce, room);
    EXPECT_EQ(own[0], (big + small) + minus);
}

TEST(Sums, TheOwnArrayMayBeALaterTerm) {
    std::vector<std::uint32_t> own{5, 6}, other{1, 2}, third{10, 20};
    const auto bytes = [](const std::vector<std::uint32_t>& v) {
        return reinterpret_cast<const std::uint8_t*>(v.data());
    };
    std::vector<std::uint8_t> room;
    combine_in_order(reinterpret_cast<std::uint8_t*>(own.data()), {bytes(other), bytes(third), bytes(own)}, 8,
                     kInt32, kReduce, room);
    EXPECT_EQ(own, (std::vector<std::uint32_t>{16, 28}));
}

// Elements 1, 2, 3, ... of each term, times 7 to the power of the term's number.
template <typename T>
std::vector<T> term_of(std::size_t number, std::size_t elements) {
    std::vector<T> term(elements);
    T factor = 1;
    for (std::size_t i = 0; i < number; ++i) factor = static_cast<T>(factor * 7);
    for (std::size_t i = 0; i < elements; ++i) term[i] = static_cast<T>(static_cast<T>(i + 1) * factor);
    return term;
}

// Check the sums of any number of terms and elements, with the own array at any place.
template <typename T>
void check_sums(std::uint8_t dtype) {
    std::vector<std::uint8_t> room;
    for (std::size_t count = 2; count <= 9; ++count)
        for (const std::size_t elements : {1, 7, 8, 33, 1024})
            for (std::size_t place = 0; place < count; ++place) {
                std::vector<std::vector<T>> terms;
                for (std::size_t term = 0; term < count; ++term) terms.push_back(term_of<T>(term, elements));
                std::vector<T> expected = terms[0];
                for (std::size_t term = 1; term < count; ++term)
                    for (std::size_t i = 0; i < elements; ++i)
                        expected[i] = static_cast<T>(expected[i] + terms[term][i]);
                std::vector<const std::uint8_t*> bytes(count);
                for (std::size_t term = 0; term < count; ++term)
                    bytes[term] = reinterpret_cast<const std::uint8_t*>(terms[term].data());
                combine_in_order(reinterpret_cast<std::uint8_t*>(terms[place].data()), bytes,
                                 elements * sizeof(T), dtype, kReduce, room);
                EXPECT_EQ(terms[place], expected) << count << " terms of " << elements << ", own " << place;
            }
}

TEST(Sums, HaveAnyNumberOfTermsAndElements) {
    check_sums<std::uint8_t>(kUint8);
    check_sums<std::uint32_t>(kInt32);
    check_sums<float>(kFloat32);
    check_sums<double>(kFloat64);
}

TEST(ReductionUnit, DoesOneTaskAfterTheOther) {
    ReductionUnit unit(
        {.ccu = true, .rate = Rate(8'000'000'000), .sram_bytes = Bytes(100)});  // 1 byte per ns
    EXPECT_EQ(unit.work(Bytes(10), 2, Time(0)), Time(20'000));
    EXPECT_EQ(unit.work(Bytes(10), 1, Time(5'000)), Time(30'000));
    EXPECT_EQ(unit.work(Bytes(10), 1, Time(50'000)), Time(60'000));
    EXPECT_EQ(unit.stats().busy, Time(40'000));
    EXPECT_EQ(unit.core(), Time(0));
}

TEST(ReductionUnit, CoresLoseTheirShareOfTheTime) {
    ReductionUnit unit(
        {.ccu = false, .rate = Rate(8'000'000'000), .sram_bytes = std::nullopt, .core_percent = 25});
    unit.work(Bytes(100), 1, Time(0));
    EXPECT_EQ(unit.core(), Time(25'000));
    EXPECT_EQ(ReductionUnit(Reduction{}).work(Bytes(1000), 5, Time(7)),
              Time(7));  // without a rate, no time passes
}

TEST(ReductionUnit, SpillsWhatSramDoesNotHold) {
    ReductionUnit unit({.ccu = true, .rate = std::nullopt, .sram_bytes = Bytes(100)});
    EXPECT_TRUE(unit.claim(Bytes(60)));
    EXPECT_FALSE(unit.claim(Bytes(60)));
    EXPECT_TRUE(unit.claim(Bytes(40)));
    unit.free(Bytes(60));
    EXPECT_TRUE(unit.claim(Bytes(60)));
    EXPECT_EQ(unit.stats().spilled, Bytes(60));
    EXPECT_EQ(unit.stats().sram_peak, Bytes(100));
}

}  // namespace
}  // namespace railyard::hosts
