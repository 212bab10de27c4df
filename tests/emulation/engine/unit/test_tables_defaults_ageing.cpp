// SPDX-License-Identifier: Apache-2.0
// Default actions, initial entries of a program, and ageing of entries.
#include <limits>
#include <memory>
#include <optional>

#include "tables.h"

namespace railyard::tables {
namespace {

using load::MatchKind;
using unit::Actions;
using unit::Limbs;
using unit::OneTable;

struct Defaults : testing::Test {
    Actions actions;
    OneTable one{actions, {{"key", MatchKind::Exact, 8, 0, {}}}};
};

TEST_F(Defaults, ANewDefaultActionAnswersMisses) {
    Table& table = one.make();
    EXPECT_EQ(table.set_default(actions.answer, {55}), Status::Ok);
    const std::uint64_t key = 3;
    EXPECT_EQ(*one.content->lookup(&key).parameters, 55U);
    EXPECT_EQ(table.default_entry().parameters, Limbs{55});
    table.reset_default();
    EXPECT_EQ(table.default_entry().action, actions.bare);
}

TEST_F(Defaults, AConstantDefaultActionStays) {
    one.spec.const_default = true;
    EXPECT_EQ(one.make().set_default(actions.answer, {55}), Status::Constant);
}

TEST_F(Defaults, ATableWithoutKeysHasADefaultActionOnly) {
    OneTable keyless(actions, {});
    Table& table = keyless.make();
    EXPECT_EQ(table.insert(keyless.entry({}, 1)), Status::Invalid);
    EXPECT_EQ(table.set_default(actions.answer, {5}), Status::Ok);
    EXPECT_EQ(*keyless.content->lookup(nullptr).parameters, 5U);
}

TEST_F(Defaults, HitAndMissLeadOnWhereTheProgramSwitchesOnThem) {
    one.spec.by_hit = true;
    one.spec.next_hit = 100;
    one.spec.next_miss = 200;
    Table& table = one.make();
    static_cast<void>(table.insert(one.entry({{{1}, {}, 0}}, 1)));
    const std::uint64_t hit = 1, miss = 2;
    EXPECT_EQ(one.content->lookup(&hit).then->next, 100U);
    EXPECT_EQ(one.content->lookup(&miss).then->next, 200U);
}

TEST_F(Defaults, InitialEntriesOfTheProgramAreThereFromTheStart) {
    one.spec.entries = {one.entry({{{9}, {}, 0}}, 90)};
    one.make();
    EXPECT_EQ(one.find({9}), 90U);
}

// Two tables of the same layout, each with a content of its own that has the same entry.
struct TwoContents : testing::Test {
    Actions actions;
    OneTable a{actions, {{"key", MatchKind::Exact, 8, 0, {}}}};
    std::shared_ptr<TableContent> content;
    std::optional<Table> other;
    SharedContents contents;

    TwoContents() {
        a.make();
        content = std::make_shared<TableContent>(*a.layout);
        other.emplace(*a.layout, content, nullptr);
        for (Table* const table : {&*a.table, &*other}) static_cast<void>(table->insert(entry(1)));
    }
    EntrySpec entry(std::uint64_t parameter) { return a.entry({{{1}, {}, 0}}, parameter); }
};

TEST_F(TwoContents, StayApartIfTheyDifferInTheirDefault) {
    static_cast<void>(other->set_default(actions.answer, {5}));
    a.table->share(contents);
    other->share(contents);
    EXPECT_NE(a.content, content);
}

TEST_F(TwoContents, ArePackedAfterAChangeBack) {
    a.table->share(contents);
    EXPECT_TRUE(a.content->packed.used());
    for (const std::uint64_t parameter : {2, 1}) static_cast<void>(a.table->modify(entry(parameter)));
    EXPECT_FALSE(a.content->packed.used());
    other->share(contents);
    EXPECT_EQ(a.content, content);
    EXPECT_TRUE(content->packed.used());
}

struct Ageing : testing::Test {
    Actions actions;
    OneTable one{actions, {{"key", MatchKind::Exact, 8, 0, {}}}};
    std::vector<MatchValue> key{{{1}, {}, 0}};
    EntryIndex entry;
    Ageing() {
        one.spec.ageing = true;
        Table& table = one.make();
        static_cast<void>(table.insert(one.entry(key, 1)));
        const std::uint64_t slot = 1;
        entry = one.content->lookup(&slot).entry;
    }
};

TEST_F(Ageing, AnEntryAgesOnceAfterItsTimeWithoutAHit) {
    Table& table = *one.table;
    EXPECT_EQ(table.next_ageing(), kUnset);
    ASSERT_EQ(table.set_ttl(key, {}, Time(100), Time(1000)), Status::Ok);
    EXPECT_EQ(table.next_ageing(), Time(1100));
    EXPECT_FALSE(table.due(Time(1099)));
    EXPECT_TRUE(table.due(Time(1100)));
    EXPECT_EQ(table.aged(Time(1100)).size(), 1U);
    EXPECT_EQ(table.aged(Time(1200)).size(), 0U);  // already reported
    EXPECT_EQ(table.next_ageing(), kUnset);
}

TEST_F(Ageing, AHitStartsTheTimeAgainAndTellsOfARevival) {
    Table& table = *one.table;
    static_cast<void>(table.set_ttl(key, {}, Time(100), Time(1000)));
    EXPECT_FALSE(table.count(entry, CountedBytes(1), Time(1050)));
    EXPECT_EQ(table.next_ageing(), Time(1150));
    EXPECT_EQ(table.idle(key, {}, Time(1070)), Time(20));
    EXPECT_TRUE(table.count(entry, CountedBytes(1), Time(1150)));  // the entry had aged
    EXPECT_EQ(table.aged(Time(1250)).size(), 1U);
}

TEST_F(Ageing, ATimeBeyondAllTimesMeansNever) {
    Table& table = *one.table;
    ASSERT_EQ(table.set_ttl(key, {}, std::numeric_limits<Time>::max(), Time(1000)), Status::Ok);
    EXPECT_EQ(table.next_ageing(), kUnset);
    EXPECT_EQ(table.set_ttl(key, {}, Time(-1), Time(0)), Status::Invalid);
}

}  // namespace
}  // namespace railyard::tables
