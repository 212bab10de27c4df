// SPDX-License-Identifier: Apache-2.0
// Python's random numbers, random elements of arrays, and the saturator, which sends random frames.
#include "common.h"
#include "hosts/random/python_random.h"
#include "hosts/random/random_elements.h"
#include "hosts/saturator.h"

namespace railyard::hosts {
namespace {

TEST(PythonRandom, EqualsPythonsGenerator) {
    PythonRandom random("\x01");  // random.seed(1)
    EXPECT_DOUBLE_EQ(random.uniform(), 0.13436424411240122);
    EXPECT_DOUBLE_EQ(random.uniform(), 0.8474337369372327);
    PythonRandom again("\x01");
    std::vector<std::uint32_t> below;
    for (int n = 0; n < 6; ++n) below.push_back(again.below(10));
    EXPECT_EQ(below, (std::vector<std::uint32_t>{2, 9, 1, 4, 1, 7}));  // random.randrange(10)
}

TEST(PythonRandom, TakesSeedsOfAnyLength) {
    // random.seed(0), random.seed(2**64 + 5) and random.seed(int.from_bytes(b"railyard" * 400))
    EXPECT_DOUBLE_EQ(PythonRandom("").uniform(), 0.8444218515250481);
    EXPECT_DOUBLE_EQ(PythonRandom(std::string_view("\0\1\0\0\0\0\0\0\0\5", 10)).uniform(),
                     0.5105783769365112);
    std::string seed;
    for (int n = 0; n < 400; ++n) seed += "railyard";
    EXPECT_DOUBLE_EQ(PythonRandom(seed).uniform(), 0.7595048041245068);
}

TEST(RandomElements, SumsAreThoseOfTheElements) {
    const RandomElements elements(12345, 6789 * 2 + 1, 7);  // an odd count: half of the last word is unused
    std::vector<std::uint32_t> filled(7), total(7, 1);
    elements.fill(filled.data());
    elements.add_to(total.data());
    for (std::size_t at = 0; at < 7; ++at) EXPECT_EQ(total[at], filled[at] + 1);
}

TEST(RandomElements, AreTheSameInOneCallAsInManyShortOnes) {
    // Long calls draw in vectors where the processor has them; calls for less than 32 elements never do.
    constexpr std::size_t kCount = 32 * 5 + 31, kShort = 30;
    constexpr auto kMultiplier = RandomElements::Word{2549297995355413924U} << 64 | 4865540595714422341U;
    RandomElements::Word state = RandomElements::Word{0xFEDCBA9876543210} << 64 | 0x123456789ABCDEF;
    const RandomElements::Word increment =
        RandomElements::Word{0xF00DF00DF00DF00D} << 64 | 0xFEEDFEEDFEEDFEED;
    std::vector<std::uint32_t> whole(kCount), total(kCount, 3), parts;
    const RandomElements elements(state, increment, kCount);
    elements.fill(whole.data());
    elements.add_to(total.data());
    while (parts.size() < kCount) {
        std::vector<std::uint32_t> part(std::min(kShort, kCount - parts.size()));
        RandomElements(state, increment, part.size()).fill(part.data());
        parts.insert(parts.end(), part.begin(), part.end());
        for (std::size_t output = 0; output < kShort / 2; ++output) state = state * kMultiplier + increment;
    }
    EXPECT_EQ(whole, parts);
    for (std::size_t at = 0; at < kCount; ++at) EXPECT_EQ(total[at], whole[at] + 3);
}

TEST(Saturator, AnswersEachFrameUntilTheBudgetIsSpent) {
    const auto budget = std::make_shared<SaturationBudget>(SaturationBudget{5, 0});
    Saturator saturator({"abc", "defg"}, 3, PythonRandom("seed"), budget);
    FramePool pool;
    hosts::Actions actions(pool);
    saturator.start(Time(0), actions);
    EXPECT_EQ(actions.departures.size(), 3U);
    for (int i = 0; i < 4; ++i) saturator.on_frame(pool.acquire("x", 1), Time(1), actions);
    EXPECT_EQ(actions.departures.size(), 5U);
    EXPECT_EQ(budget->left, 0U);
    EXPECT_EQ(budget->received, 4U);
}

TEST(Saturator, NeedsFrames) {
    EXPECT_THROW(Saturator({}, 1, PythonRandom("seed"), nullptr), std::invalid_argument);
}

}  // namespace
}  // namespace railyard::hosts
