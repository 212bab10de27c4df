// SPDX-License-Identifier: Apache-2.0
// Meters (colours, rates, bursts) and arrays of counters.
#include "common.h"
#include "tables/counter.h"
#include "tables/meter.h"

namespace railyard::tables {
namespace {

TEST(Meter, IsGreenWithoutAConfiguration) {
    Meter meter;
    for (int i = 0; i < 100; ++i) EXPECT_EQ(meter.execute(1'000'000, Time(i)), 0U);
}

TEST(Meter, IsYellowAboveTheCommittedAndRedAboveThePeakBurst) {
    Meter meter;
    meter.configure(MeterConfig{1, 2, 1, 4}, Time(0));
    std::vector<std::uint64_t> colours;
    for (int i = 0; i < 5; ++i) colours.push_back(meter.execute(1, Time(0)));
    EXPECT_EQ(colours, (std::vector<std::uint64_t>{0, 0, 1, 1, 2}));
}

TEST(Meter, FillsAtItsRateUpToTheBurst) {
    Meter meter;
    meter.configure(MeterConfig{10, 5, 1000, 1000}, Time(0));
    for (int i = 0; i < 5; ++i) EXPECT_EQ(meter.execute(1, Time(0)), 0U);
    EXPECT_EQ(meter.execute(1, kSecond / 10 - Time(1)), 1U);  // shortly before the next token
    EXPECT_EQ(meter.execute(1, kSecond / 10), 0U);
    int green = 0;
    for (int i = 0; i < 20; ++i) green += meter.execute(1, 100 * kSecond) == 0;
    EXPECT_EQ(green, 5);
}

TEST(Meter, LosesNoFractionOfATokenToRounding) {
    Meter meter;
    meter.configure(MeterConfig{3, 1000, 1'000'000, 1'000'000}, Time(0));
    for (int i = 0; i < 1000; ++i) static_cast<void>(meter.execute(1, Time(0)));
    int green = 0;
    for (int i = 1; i <= 3000; ++i) green += meter.execute(1, i * (kSecond / 100)) == 0;  // in 30 s
    EXPECT_EQ(green, 90);
}

TEST(Meter, ANewConfigurationStartsWithFullBuckets) {
    Meter meter;
    meter.configure(MeterConfig{1, 1, 1, 1}, Time(0));
    static_cast<void>(meter.execute(1, Time(0)));
    EXPECT_EQ(meter.execute(1, Time(0)), 2U);
    meter.configure(MeterConfig{1, 1, 1, 1}, Time(0));
    EXPECT_EQ(meter.execute(1, Time(0)), 0U);
    meter.configure(std::nullopt, Time(0));
    EXPECT_EQ(meter.execute(1, Time(0)), 0U);
    EXPECT_FALSE(meter.config());
}

TEST(Counters, CellsThatWereNeverWrittenAreZero) {
    Counter counter(10);
    EXPECT_EQ(counter.get(9).packets, 0U);
    counter.add(2, CountedBytes(100));
    counter.set(6, {7, CountedBytes(8)});
    counter.add(2, CountedBytes(50));
    EXPECT_EQ(counter.get(2).packets, 2U);
    EXPECT_EQ(counter.get(2).bytes, CountedBytes(150));
    EXPECT_EQ(counter.get(6).packets, 7U);
    EXPECT_EQ(counter.get(3).packets, 0U);
}

TEST(Counters, NothingHappensBeyondTheLastCell) {
    Counter counter(3);
    counter.add(3, CountedBytes(100));
    for (const Count& cell : counter.read(0, 8)) EXPECT_EQ(cell.packets, 0U);
    EXPECT_THROW(static_cast<void>(counter.get(3)), std::out_of_range);
    EXPECT_THROW(counter.set(3, {1, CountedBytes(1)}), std::out_of_range);
    EXPECT_THROW(counter.read(4, 1), std::out_of_range);
}

TEST(Counters, APartMayReachBeyondWhatWasWritten) {
    Counter counter(9);
    counter.add(1, CountedBytes(10));
    const std::vector<Count> part = counter.read(1, 4);
    ASSERT_EQ(part.size(), 4U);
    EXPECT_EQ(part[0].bytes, CountedBytes(10));
    EXPECT_EQ(part[3].bytes, CountedBytes(0));
    EXPECT_EQ(counter.read(7, 4).size(), 2U);
    EXPECT_TRUE(counter.read(9, 4).empty());
}

}  // namespace
}  // namespace railyard::tables
