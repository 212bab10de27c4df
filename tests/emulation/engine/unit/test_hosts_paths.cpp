// SPDX-License-Identifier: Apache-2.0
// Paths of a connection: avoided paths, the choice of a path for each frame, round-trip times.
#include <algorithm>
#include <map>

#include "hosts.h"
#include "hosts/paths/spray.h"

namespace railyard::hosts {
namespace {

using unit::kUs;

struct Health : testing::Test {
    std::array<std::uint32_t, kBuckets> paths{};
    Health() {
        for (std::uint32_t bucket = 0; bucket < kBuckets; ++bucket) paths[bucket] = bucket / 4;
    }
};

TEST_F(Health, APathIsAvoidedAfterThreeLossesInARow) {
    PathHealth health(paths);
    health.lost(1, Time(0));
    health.lost(1, Time(0));
    health.acknowledged(1);  // the count starts again
    health.lost(1, Time(0));
    health.lost(1, Time(0));
    EXPECT_TRUE(health.whole());
    health.lost(1, Time(0));
    EXPECT_FALSE(health.works(1));
    EXPECT_EQ(health.suspects(), 0b11110000);
    health.acknowledged(1);
    EXPECT_TRUE(health.whole());
}

TEST_F(Health, AnAvoidedPathIsTriedAfterATimeThatDoubles) {
    PathHealth health(paths);
    health.suspect(1, Time(0));
    EXPECT_FALSE(health.may_try(1, 49 * kUs));
    EXPECT_TRUE(health.may_try(1, 50 * kUs));
    EXPECT_FALSE(health.may_try(1, 51 * kUs));  // a trial is under way
    EXPECT_FALSE(health.may_try(1, 149 * kUs));
    EXPECT_TRUE(health.may_try(1, 150 * kUs));
    EXPECT_TRUE(health.may_try(0, Time(0)));
}

TEST_F(Health, TheLastPathStaysInUse) {
    PathHealth health(paths);
    for (std::uint32_t path = 0; path < 4; ++path) health.suspect(path, Time(0));
    EXPECT_TRUE(health.works(3));
    for (std::uint32_t path = 0; path < 3; ++path) EXPECT_FALSE(health.works(path));
}

TEST_F(Health, SplitBucketsHaveAPathOfTheirOwn) {
    PathHealth health(paths);
    health.suspect(0, Time(0));
    health.split(0b0010);
    EXPECT_EQ(health.path_of(1), 4U);
    EXPECT_EQ(health.path_of(17), 4U);
    EXPECT_EQ(health.path_of(0), 0U);
    EXPECT_TRUE(health.works(4));
}

TEST_F(Health, SprayTakesAllBucketsInTurnWithoutWeights) {
    const auto health = std::make_shared<PathHealth>(paths);
    PathShares shares{paths, {}, {}};
    Spray spray(shares, 250, health);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(spray.next_lb(Time(0)), static_cast<std::uint8_t>(250 + i));
}

TEST_F(Health, SprayFollowsTheWeights) {
    const auto health = std::make_shared<PathHealth>(paths);
    PathShares shares{paths, std::vector<double>(kBuckets), {}};
    shares.weights[0] = 0.5;
    shares.weights[5] = 0.375;
    shares.weights[9] = 0.125;
    Spray spray(shares, 0, health);
    std::map<int, int> taken;
    for (int i = 0; i < 800; ++i) ++taken[spray.next_lb(Time(0))];
    EXPECT_NEAR(taken[0], 400, 1);
    EXPECT_NEAR(taken[5], 300, 1);
    EXPECT_NEAR(taken[9], 100, 1);
    EXPECT_EQ(taken.size(), 3U);
}

TEST_F(Health, SprayTakesTheBucketThatIsDueFirst) {
    const auto health = std::make_shared<PathHealth>(paths);
    PathShares shares{paths, std::vector<double>(kBuckets), {}};
    for (std::size_t bucket = 0; bucket < kBuckets; ++bucket)
        shares.weights[bucket] = bucket % 5 == 4 ? 0 : 0.25 * static_cast<double>(1 + bucket % 4);
    std::map<std::size_t, double> due;
    for (std::size_t bucket = 0; bucket < kBuckets; ++bucket)
        if (shares.weights[bucket] > 0)
            due[bucket] = (static_cast<double>((bucket + kBuckets - 3) % kBuckets) + 0.5) / kBuckets /
                          shares.weights[bucket];
    Spray spray(shares, 3, health);
    for (int i = 0; i < 1000; ++i) {
        const auto first = std::min_element(due.begin(), due.end(), [](const auto& a, const auto& b) {
            return a.second < b.second;  // of equal buckets the lowest
        });
        ASSERT_EQ(spray.next_lb(Time(0)), first->first) << "frame " << i;
        first->second += 1 / shares.weights[first->first];
    }
}

TEST_F(Health, SprayLeavesOutAPathThatIsAvoided) {
    const auto health = std::make_shared<PathHealth>(paths);
    Spray spray({paths, {}, {}}, 0, health);
    health->suspect(2, Time(0));
    for (int i = 0; i < 64; ++i) EXPECT_NE(health->path_of(spray.next_lb(10 * kUs)), 2U);
    std::vector<std::uint32_t> taken;  // now a trial is due
    for (int i = 0; i < 64; ++i) taken.push_back(health->path_of(spray.next_lb(60 * kUs)));
    EXPECT_EQ(std::count(taken.begin(), taken.end(), 2U), 1);
}

TEST_F(Health, ALostFrameGoesByAnotherPath) {
    const auto health = std::make_shared<PathHealth>(paths);
    Spray spray({paths, {}, {}}, 0, health);
    health->suspect(1, Time(0));
    ByPath<Time> silent(kUnset);
    silent.of(3) = Time(5);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(spray.path_of(spray.other_lb(0, &silent)), 2U);
}

TEST_F(Health, WithoutAnotherPathALostFrameGoesByItsOwn) {
    std::array<std::uint32_t, kBuckets> one{};
    const auto health = std::make_shared<PathHealth>(one);
    Spray spray({one, {}, {}}, 0, health);
    EXPECT_EQ(spray.other_lb(7), 7);
}

TEST(ByPath, HasTheInitialValueUntilAPathGetsItsOwn) {
    ByPath<int> values(5);
    EXPECT_EQ(values[1000], 5);
    values.of(3) = 7;
    EXPECT_EQ(values.size(), 4U);
    EXPECT_EQ(values[2], 5);
    EXPECT_EQ(values[3], 7);
}

TEST(RoundTrips, ThePeakDecaysSlowly) {
    RoundTrips trips;
    trips.add(Time(1'024'000));
    trips.add(Time(1));
    EXPECT_EQ(trips.peak, Time(1'023'000));
    trips.add(Time(2'000'000));
    EXPECT_EQ(trips.peak, Time(2'000'000));
    EXPECT_EQ(trips.typical(), Time(0));
}

}  // namespace
}  // namespace railyard::hosts
