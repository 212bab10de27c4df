// SPDX-License-Identifier: Apache-2.0
// Action profiles: members, weighted groups, and table entries that refer to them.
#include <map>

#include "tables.h"
#include "tables/profile.h"

namespace railyard::tables {
namespace {

using load::MatchKind;
using unit::Actions;
using unit::Limbs;
using unit::OneTable;

// Return the member of a group that a hash selects.
const Profile::Member* chosen(const Profile& profile, std::int64_t group, std::uint64_t hash) {
    return profile.refer(Target::Group, group).pick([hash] { return hash; });
}

struct Members : testing::Test {
    Actions actions;
    load::ProfileSpec spec;
    Members() {
        spec.size = 3;
        spec.selector = Index<load::Calculation>(0);
        spec.actions = {actions.answer, actions.bare};
        spec.parameter_limbs = 1;
    }
};

TEST_F(Members, AreInsertedOnceChangedAndErased) {
    Profile profile(actions.program, spec);
    EXPECT_EQ(profile.insert(1, actions.answer, {5}), Status::Ok);
    EXPECT_EQ(profile.insert(1, actions.answer, {6}), Status::AlreadyExists);
    EXPECT_EQ(profile.modify(1, actions.answer, {7}), Status::Ok);
    EXPECT_EQ(profile.member(1)->parameters, Limbs{7});
    EXPECT_EQ(profile.modify(2, actions.answer, {7}), Status::NotFound);
    EXPECT_EQ(profile.erase(1), Status::Ok);
    EXPECT_EQ(profile.erase(1), Status::NotFound);
    EXPECT_EQ(profile.member(1), nullptr);
}

TEST_F(Members, OfStrangeActionsOrBeyondTheSizeAreRefused) {
    Profile profile(actions.program, spec);
    EXPECT_EQ(profile.insert(1, actions.stranger, {5}), Status::Invalid);
    EXPECT_EQ(profile.insert(1, actions.answer, {}), Status::Invalid);
    for (std::int64_t id = 1; id <= 3; ++id) ASSERT_EQ(profile.insert(id, actions.bare, {}), Status::Ok);
    EXPECT_EQ(profile.insert(4, actions.bare, {}), Status::Exhausted);
}

TEST_F(Members, AGroupTakesEachAsOftenAsItsWeight) {
    Profile profile(actions.program, spec);
    for (std::int64_t id = 1; id <= 3; ++id)
        static_cast<void>(profile.insert(id, actions.answer, {static_cast<std::uint64_t>(id)}));
    ASSERT_EQ(profile.set_group(9, {{2, 3}, {1, 1}}), Status::Ok);
    std::map<std::uint64_t, int> taken;
    for (std::uint64_t hash = 0; hash < 40; ++hash) ++taken[chosen(profile, 9, hash)->parameters[0]];
    EXPECT_EQ(taken, (std::map<std::uint64_t, int>{{1, 10}, {2, 30}}));
    EXPECT_EQ(chosen(profile, 9, 0)->parameters[0], 1U);  // in the order of handles, not of the group
}

TEST_F(Members, InUseCannotBeErased) {
    Profile profile(actions.program, spec);
    static_cast<void>(profile.insert(1, actions.answer, {1}));
    static_cast<void>(profile.insert(2, actions.answer, {2}));
    static_cast<void>(profile.set_group(9, {{1, 1}}));
    EXPECT_EQ(profile.erase(1), Status::Invalid);
    EXPECT_EQ(profile.set_group(9, {{2, 1}}), Status::Ok);  // replaces the members
    EXPECT_EQ(profile.erase(1), Status::Ok);
    EXPECT_EQ(profile.erase(2), Status::Invalid);
    EXPECT_EQ(profile.erase_group(9), Status::Ok);
    EXPECT_EQ(profile.erase(2), Status::Ok);
    EXPECT_EQ(profile.erase_group(9), Status::NotFound);
}

TEST_F(Members, AGroupOfAbsentMembersOrWrongWeightsIsRefusedWhole) {
    Profile profile(actions.program, spec);
    static_cast<void>(profile.insert(1, actions.answer, {1}));
    EXPECT_EQ(profile.set_group(9, {{1, 1}, {5, 1}}), Status::NotFound);
    EXPECT_EQ(profile.set_group(9, {{1, 0}}), Status::Invalid);
    EXPECT_EQ(profile.set_group(9, {{1, 1 << 17}}), Status::Invalid);
    EXPECT_EQ(chosen(profile, 9, 0), nullptr);
    EXPECT_EQ(profile.erase(1), Status::Ok);  // no group uses it
}

TEST_F(Members, EntriesLeadToTheMembersTheyName) {
    Profile profile(actions.program, spec);
    static_cast<void>(profile.insert(1, actions.answer, {11}));
    static_cast<void>(profile.insert(2, actions.answer, {22}));
    static_cast<void>(profile.set_group(7, {{2, 1}}));
    OneTable one(actions, {{"key", MatchKind::Exact, 8, 0, {}}});
    one.spec.profile = Index<load::ProfileSpec>(0);
    Table& table = one.make(&profile);
    EntrySpec entry = one.entry({{{3}, {}, 0}}, 1);
    EXPECT_EQ(table.insert(entry), Status::Invalid);  // an entry with an action of its own
    entry.target = Target::Member;
    EXPECT_EQ(table.insert(entry), Status::Ok);
    EXPECT_EQ(profile.erase(1), Status::Invalid);
    entry.target = Target::Group;
    entry.parameters = {7};
    EXPECT_EQ(table.modify(entry), Status::Ok);
    EXPECT_EQ(profile.erase(1), Status::Ok);
    EXPECT_EQ(profile.erase_group(7), Status::Invalid);
    const std::uint64_t key = 3;
    LookupResult result = one.content->lookup(&key);
    Continuation chosen;
    table.resolve(result, chosen, [] { return std::uint64_t{0}; });
    EXPECT_EQ(*result.parameters, 22U);
    EXPECT_EQ(chosen.action, actions.program.actions[actions.answer].code);
    EXPECT_EQ(table.erase(entry.match, {}), Status::Ok);
    EXPECT_EQ(profile.erase_group(7), Status::Ok);
}

TEST_F(Members, LookupsFollowEveryChange) {
    Profile profile(actions.program, spec);
    for (std::int64_t id = 1; id <= 3; ++id)
        static_cast<void>(profile.insert(id, actions.answer, {static_cast<std::uint64_t>(10 * id)}));
    static_cast<void>(profile.set_group(7, {{1, 1}}));
    OneTable one(actions, {{"key", MatchKind::Exact, 8, 0, {}}});
    one.spec.profile = Index<load::ProfileSpec>(0);
    Table& table = one.make(&profile);
    const auto taken = [&](std::uint64_t key) {
        LookupResult result = one.content->lookup(&key);
        Continuation chosen;
        table.resolve(result, chosen, [] { return std::uint64_t{0}; });
        return *result.parameters;
    };
    EntrySpec grouped = one.entry({{{3}, {}, 0}}, 7), direct = one.entry({{{4}, {}, 0}}, 2);
    grouped.target = Target::Group;
    direct.target = Target::Member;
    ASSERT_EQ(table.insert(grouped), Status::Ok);
    EXPECT_EQ(taken(3), 10U);
    ASSERT_EQ(table.insert(direct), Status::Ok);
    EXPECT_EQ(taken(4), 20U);
    ASSERT_EQ(profile.set_group(7, {{3, 1}}), Status::Ok);
    EXPECT_EQ(taken(3), 30U);
    ASSERT_EQ(profile.modify(3, actions.answer, {33}), Status::Ok);
    EXPECT_EQ(taken(3), 33U);
    direct.parameters = {3};
    ASSERT_EQ(table.modify(direct), Status::Ok);
    EXPECT_EQ(taken(4), 33U);
    ASSERT_EQ(table.erase(direct.match, EntryPriority(0)), Status::Ok);
    direct.match[0].value = {5};  // takes the memory of the erased entry
    direct.parameters = {1};
    ASSERT_EQ(table.insert(direct), Status::Ok);
    EXPECT_EQ(taken(5), 10U);
}

TEST_F(Members, AnEntryOfAnAbsentMemberIsRefused) {
    Profile profile(actions.program, spec);
    OneTable one(actions, {{"key", MatchKind::Exact, 8, 0, {}}});
    one.spec.profile = Index<load::ProfileSpec>(0);
    Table& table = one.make(&profile);
    EntrySpec entry = one.entry({{{3}, {}, 0}}, 1);
    entry.target = Target::Member;
    EXPECT_EQ(table.insert(entry), Status::Invalid);
}

}  // namespace
}  // namespace railyard::tables
