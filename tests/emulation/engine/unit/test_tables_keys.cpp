// SPDX-License-Identifier: Apache-2.0
// Keys: longest prefixes, priorities, masks, ranges, optional keys; the index of exact keys; numbers.
#include <algorithm>
#include <map>

#include "tables.h"
#include "tables/number.h"

namespace railyard::tables {
namespace {

using load::MatchKind;
using unit::Actions;
using unit::Limbs;
using unit::OneTable;

struct Lpm : testing::Test {
    Actions actions;
    OneTable one{actions, {{"address", MatchKind::Lpm, 32, 0, {}}, {"port", MatchKind::Exact, 9, 0, {}}}, 64};
    Lpm() { one.make(); }
    Status insert(std::uint64_t address, int prefix, std::uint64_t parameter, std::uint64_t port = 1) {
        return one.table->insert(one.entry({{{address}, {}, prefix}, {{port}, {}, 0}}, parameter));
    }
};

TEST_F(Lpm, TheLongestPrefixWinsWhicheverCameFirst) {
    EXPECT_EQ(insert(0x0A000000, 8, 8), Status::Ok);
    EXPECT_EQ(insert(0x0A010200, 24, 24), Status::Ok);
    EXPECT_EQ(insert(0, 0, 0), Status::Ok);
    EXPECT_EQ(insert(0x0A010000, 16, 16), Status::Ok);
    EXPECT_EQ(one.find({0x0A010203, 1}), 24U);
    EXPECT_EQ(one.find({0x0A010303, 1}), 16U);
    EXPECT_EQ(one.find({0x0A020303, 1}), 8U);
    EXPECT_EQ(one.find({0x0B000000, 1}), 0U);
    EXPECT_EQ(one.find({0x0A010203, 2}), std::nullopt);
}

TEST_F(Lpm, BitsBehindThePrefixDoNotCount) {
    EXPECT_EQ(insert(0x0A0102FF, 24, 1), Status::Ok);
    EXPECT_EQ(insert(0x0A010200, 24, 2), Status::AlreadyExists);
    EXPECT_EQ(one.table->entries()[0].match[0].value, Limbs{0x0A010200});
}

TEST_F(Lpm, ErasingTheLastEntryOfALengthLeavesTheOtherLengths) {
    static_cast<void>(insert(0x0A000000, 8, 8));
    static_cast<void>(insert(0x0A010200, 24, 24));
    EXPECT_EQ(one.table->erase({{{0x0A010200}, {}, 24}, {{1}, {}, 0}}, EntryPriority(0)), Status::Ok);
    EXPECT_EQ(one.find({0x0A010203, 1}), 8U);
    EXPECT_EQ(one.content->levels.size(), 1U);
}

// Prefixes of a single field, which a run packs.
TEST(PackedPrefixes, AgreeWithTheLevels) {
    Actions actions;
    OneTable one{actions, {{"address", MatchKind::Lpm, 32, 0, {}}}, 2000};
    one.make();
    unit::Random random(11);
    const auto address = [&random] {
        return random.below(4) << 30 | random.below(64) << 12 | random.below(16);
    };
    const auto insert = [&](int count) {
        for (int i = 0; i < count; ++i)
            static_cast<void>(one.table->insert(
                one.entry({{{address()}, {}, static_cast<int>(random.below(33))}}, random.below(1 << 20))));
    };
    for (const int more : {1, 4, 60, 900}) {
        insert(more);
        std::map<std::uint64_t, std::optional<std::uint64_t>> expected;
        for (int i = 0; i < 500; ++i) {
            const std::uint64_t key = address();
            expected[key] = one.find({key});
        }
        EXPECT_FALSE(one.content->prefixes.used());
        one.content->pack();
        EXPECT_TRUE(one.content->prefixes.used());
        for (const auto& [key, parameter] : expected) ASSERT_EQ(one.find({key}), parameter) << key;
        EXPECT_EQ(one.table->set_default(actions.other, {1}), Status::Ok);
        EXPECT_FALSE(one.content->prefixes.used());
    }
}

struct Tcam : testing::Test {
    Actions actions;
    static std::vector<MatchValue> masked(std::uint64_t value, std::uint64_t mask) {
        return {{{value}, {mask}, 0}};
    }
};

TEST_F(Tcam, TheHighestPriorityWins) {
    OneTable one(actions, {{"key", MatchKind::Ternary, 16, 0, {}}});
    Table& table = one.make();
    for (const int priority : {5, 20, 10})
        ASSERT_EQ(table.insert(one.entry(masked(0, 0), static_cast<std::uint64_t>(priority), priority)),
                  Status::Ok);
    EXPECT_EQ(one.find({123}), 20U);
    ASSERT_EQ(table.erase(masked(0, 0), EntryPriority(20)), Status::Ok);
    EXPECT_EQ(one.find({123}), 10U);
}

TEST_F(Tcam, OfEqualPrioritiesTheFirstInsertedWins) {
    OneTable one(actions, {{"key", MatchKind::Ternary, 16, 0, {}}});
    Table& table = one.make();
    ASSERT_EQ(table.insert(one.entry(masked(0x0100, 0xFF00), 1, 7)), Status::Ok);
    ASSERT_EQ(table.insert(one.entry(masked(0x0023, 0x00FF), 2, 7)), Status::Ok);
    EXPECT_EQ(one.find({0x0123}), 1U);
}

TEST_F(Tcam, BitsOutsideOfTheMaskDoNotCount) {
    OneTable one(actions, {{"key", MatchKind::Ternary, 16, 0, {}}});
    Table& table = one.make();
    ASSERT_EQ(table.insert(one.entry(masked(0x12FF, 0xFF00), 1, 7)), Status::Ok);
    EXPECT_EQ(table.insert(one.entry(masked(0x1200, 0xFF00), 1, 7)), Status::AlreadyExists);
    EXPECT_EQ(table.entries()[0].match[0].value, Limbs{0x1200});
}

TEST_F(Tcam, AMaskOfTheFieldHidesBitsFromTheMatch) {
    OneTable one(actions, {{"key", MatchKind::Ternary, 16, 0, {0x00FF}}});
    Table& table = one.make();
    ASSERT_EQ(table.insert(one.entry(masked(0x0034, 0xFFFF), 1, 7)), Status::Ok);
    EXPECT_EQ(one.find({0xAB34}), 1U);
}

TEST_F(Tcam, BothEndsOfARangeBelongToIt) {
    OneTable one(actions, {{"key", MatchKind::Range, 16, 0, {}}});
    Table& table = one.make();
    ASSERT_EQ(table.insert(one.entry({{{100}, {200}, 0}}, 1, 7)), Status::Ok);
    for (const auto& [key, hit] :
         std::map<std::uint64_t, bool>{{99, false}, {100, true}, {150, true}, {200, true}, {201, false}})
        EXPECT_EQ(one.find({key}).has_value(), hit) << key;
}

TEST_F(Tcam, TheMostSignificantLimbOfAWideRangeDecides) {
    OneTable one(actions, {{"key", MatchKind::Range, 128, 0, {}}});
    Table& table = one.make();
    ASSERT_EQ(table.insert(one.entry({{{500, 1}, {10, 3}, 0}}, 1, 7)), Status::Ok);  // 1:500 to 3:10
    using Case = std::tuple<std::uint64_t, std::uint64_t, bool>;
    for (const auto& [low, high, hit] : std::vector<Case>{
             {499, 1, false}, {500, 1, true}, {0, 2, true}, {10, 3, true}, {11, 3, false}, {~0ULL, 0, false}})
        EXPECT_EQ(one.find({low, high}).has_value(), hit) << high << ':' << low;
}

TEST_F(Tcam, AnAbsentOptionalKeyMatchesEverything) {
    OneTable one(actions, {{"key", MatchKind::Optional, 8, 0, {}}});
    Table& table = one.make();
    ASSERT_EQ(table.insert(one.entry({{{0}, {}, 0}}, 1, 1)), Status::Ok);
    ASSERT_EQ(table.insert(one.entry({{{0}, {}, 1}}, 2, 2)), Status::Ok);
    EXPECT_EQ(one.find({7}), 1U);
    EXPECT_EQ(one.find({0}), 2U);
    EXPECT_EQ(table.entries()[0].match[0].prefix + table.entries()[1].match[0].prefix, 1);
}

TEST_F(Tcam, EntriesOfOneMatchMayDifferInPriority) {
    OneTable one(actions, {{"key", MatchKind::Ternary, 16, 0, {}}});
    Table& table = one.make();
    ASSERT_EQ(table.insert(one.entry(masked(1, 0xFFFF), 1, 7)), Status::Ok);
    ASSERT_EQ(table.insert(one.entry(masked(1, 0xFFFF), 2, 8)), Status::Ok);
    ASSERT_EQ(table.erase(masked(1, 0xFFFF), EntryPriority(7)), Status::Ok);
    EXPECT_EQ(one.find({1}), 2U);
}

// Ternary and range keys together, compared with a linear search over all entries.
TEST_F(Tcam, AgreesWithALinearSearchOfOverlappingEntries) {
    OneTable one(actions, {{"a", MatchKind::Ternary, 8, 0, {}}, {"b", MatchKind::Range, 8, 0, {}}}, 100);
    Table& table = one.make();
    unit::Random random(3);
    struct Plain {
        std::uint64_t value, mask, low, high;
        int priority;
    };
    std::vector<Plain> model;
    while (model.size() < 60) {
        const Plain p{random.below(256), random.below(256), random.below(128), 128 + random.below(128),
                      static_cast<int>(model.size() * 7 % 61)};
        ASSERT_EQ(table.insert(one.entry({{{p.value}, {p.mask}, 0}, {{p.low}, {p.high}, 0}}, model.size(),
                                         p.priority)),
                  Status::Ok);
        model.push_back(p);
    }
    for (int i = 0; i < 3000; ++i) {
        const std::uint64_t a = random.below(256), b = random.below(256);
        std::optional<std::uint64_t> best;
        for (std::size_t at = 0; at < model.size(); ++at)
            if (const Plain& p = model[at]; ((a ^ p.value) & p.mask) == 0 && p.low <= b && b <= p.high &&
                                            (!best || p.priority > model[*best].priority))
                best = at;
        ASSERT_EQ(one.find({a, b}), best) << a << ' ' << b;
    }
}

TEST(KeyIndex, FindsKeysWhateverWasErasedBetweenThem) {
    constexpr std::size_t kKeys = 3000;
    std::vector<std::uint64_t> rows;
    KeyIndex index(1);
    std::vector<bool> present(kKeys, false);
    for (std::size_t i = 0; i < kKeys; ++i) rows.push_back(i * 64);  // equal in the low bits
    const KeyRows keys{rows.data(), 1};
    unit::Random random(5);
    for (int i = 0; i < 20000; ++i) {
        const std::size_t at = random.below(kKeys);
        if (present[at]) index.erase(EntryIndex(at), &rows[at]);
        else index.insert(EntryIndex(at), &rows[at]);
        present[at] = !present[at];
        const std::size_t looked = random.below(kKeys);
        ASSERT_EQ(index.find(&rows[looked], keys), present[looked] ? EntryIndex(looked) : EntryIndex());
    }
    EXPECT_EQ(index.size(), static_cast<std::size_t>(std::count(present.begin(), present.end(), true)));
}

TEST(Numbers, FitTheirBitsOrAreRefused) {
    Limbs out;
    EXPECT_TRUE(to_limbs("\x01\x02", 16, out));
    EXPECT_EQ(out, Limbs{0x0102});
    EXPECT_TRUE(to_limbs(std::string_view("\0\0\x01", 3), 1, out));  // leading zeros
    EXPECT_FALSE(to_limbs("\x02", 1, out));
    EXPECT_TRUE(to_limbs(std::string(16, '\xFF'), 128, out));
    EXPECT_EQ(out, (Limbs{~0ULL, ~0ULL}));
    EXPECT_FALSE(to_limbs(std::string(17, '\xFF'), 128, out));
    EXPECT_FALSE(to_limbs(std::string(16, '\xFF'), 127, out));
}

}  // namespace
}  // namespace railyard::tables
