// SPDX-License-Identifier: Apache-2.0
// Sets of frames of one word and of several, against std::set.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>

#include "hosts/transport/frame_set.h"

namespace railyard::hosts {
namespace {

struct Sizes : testing::TestWithParam<std::uint32_t> {};

TEST_P(Sizes, EqualASetOfNumbersAfterRandomChanges) {
    const std::uint32_t size = GetParam();
    std::mt19937_64 random(size);
    FrameSet frames(size);
    std::set<std::uint32_t> model;
    for (int change = 0; change < 4000; ++change) {
        const auto number = static_cast<std::uint32_t>(random() % size);
        switch (random() % 5) {
            case 0: {
                frames.add(number);
                model.insert(number);
                break;
            }
            case 1: {
                frames.remove(number);
                model.erase(number);
                break;
            }
            case 2: {
                const std::uint64_t room = size - number;
                const std::uint64_t map =
                    random() & random() & (room < 64 ? (std::uint64_t{1} << room) - 1 : ~0ULL);
                bool news = false;
                for (std::uint32_t bit = 0; bit < 64; ++bit)
                    if ((map >> bit & 1) != 0) news |= model.insert(number + bit).second;
                EXPECT_EQ(frames.add_map(number, map), news);
                break;
            }
            case 3: {
                if (random() % 8 != 0) break;
                frames.shift(number);
                std::set<std::uint32_t> moved;
                for (const std::uint32_t each : model)
                    if (each >= number) moved.insert(each - number);
                model = moved;
                break;
            }
            default: {
                std::uint64_t map = 0;
                for (std::uint32_t bit = 0; bit < 64; ++bit)
                    if (model.contains(number + bit)) map |= std::uint64_t{1} << bit;
                EXPECT_EQ(frames.map(number), map);
            }
        }
        std::uint32_t run = 0;
        while (model.contains(run)) ++run;
        ASSERT_EQ(frames.run(), run);
        ASSERT_EQ(frames.empty(), model.empty());
        ASSERT_EQ(frames.has(number), model.contains(number));
    }
}

TEST_P(Sizes, CountFromTheBeginningWithoutAGap) {
    FrameSet frames(GetParam());
    for (std::uint32_t number = 0; number < GetParam(); ++number) {
        EXPECT_EQ(frames.run(), number);
        frames.add(number);
    }
    EXPECT_EQ(frames.run(), GetParam());
    frames.shift(GetParam());
    EXPECT_TRUE(frames.empty());
}

INSTANTIATE_TEST_SUITE_P(FrameSet, Sizes, testing::Values(64, 128, 256, 1024));

}  // namespace
}  // namespace railyard::hosts
