// SPDX-License-Identifier: Apache-2.0
// Tables of every match kind and several key widths: entries, counters, contents that switches share.
#include <algorithm>
#include <map>

#include "tables.h"

namespace railyard::tables {
namespace {

using load::MatchKind;
using unit::Actions;
using unit::Limbs;
using unit::OneTable;

template <MatchKind kKind, unsigned kBits>
struct Match {
    static constexpr MatchKind kind = kKind;
    static constexpr unsigned bits = kBits;
    static constexpr EntryPriority priority{
        kKind == MatchKind::Exact || kKind == MatchKind::Lpm ? 0 : 10};  // as P4Runtime requires

    // Return key number `value`. Two wide keys differ in the first and in the last limb.
    static Limbs key(std::uint64_t value) {
        Limbs out(load::limbs(bits), 0);
        out[0] = value & load::low_mask(bits);
        if (out.size() > 1) out.back() = (value * 3) & load::low_mask(bits - 64 * (load::limbs(bits) - 1));
        return out;
    }
    // Return a match of this key and of no other.
    static std::vector<MatchValue> only(std::uint64_t value) {
        MatchValue match{key(value), {}, 0};
        if (kind == MatchKind::Lpm) match.prefix = static_cast<int>(bits);
        if (kind == MatchKind::Optional) match.prefix = 1;
        if (kind == MatchKind::Range) match.extra = match.value;
        if (kind == MatchKind::Ternary)
            for (unsigned limb = 0; limb < load::limbs(bits); ++limb)
                match.extra.push_back(load::low_mask(std::min(64U, bits - 64 * limb)));
        return {match};
    }
};

template <typename M>
class AnyTable : public testing::Test {
   protected:
    AnyTable() { one.make(); }
    EntrySpec entry(std::uint64_t value, std::uint64_t parameter) const {
        return one.entry(M::only(value), parameter, M::priority.value());
    }
    Status erase(std::uint64_t value) { return one.table->erase(M::only(value), M::priority); }
    std::optional<std::uint64_t> find(std::uint64_t value) const { return one.find(M::key(value)); }

    Actions actions;
    OneTable one{actions, {{"key", M::kind, M::bits, 0, {}}}};
};

using Matches =
    testing::Types<Match<MatchKind::Exact, 8>, Match<MatchKind::Exact, 32>, Match<MatchKind::Exact, 100>,
                   Match<MatchKind::Lpm, 32>, Match<MatchKind::Lpm, 100>, Match<MatchKind::Ternary, 16>,
                   Match<MatchKind::Ternary, 100>, Match<MatchKind::Range, 16>, Match<MatchKind::Range, 100>,
                   Match<MatchKind::Optional, 8>, Match<MatchKind::Optional, 100>>;
struct Names {
    template <typename M>
    static std::string GetName(int) {
        constexpr const char* kKinds[] = {"Exact", "Lpm", "Ternary", "Range", "Optional"};
        return kKinds[static_cast<int>(M::kind)] + std::to_string(M::bits);
    }
};
TYPED_TEST_SUITE(AnyTable, Matches, Names);

TYPED_TEST(AnyTable, AnEntryAnswersItsKeyAndNoOther) {
    EXPECT_EQ(this->find(5), std::nullopt);
    ASSERT_EQ(this->one.table->insert(this->entry(5, 77)), Status::Ok);
    EXPECT_EQ(this->find(5), 77U);
    for (const std::uint64_t other : {4, 6, 21, 133}) EXPECT_EQ(this->find(other), std::nullopt) << other;
}

TYPED_TEST(AnyTable, AHitAndAMissContinueWithTheirActions) {
    static_cast<void>(this->one.table->insert(this->entry(5, 77)));
    const Limbs hit = TypeParam::key(5), miss = TypeParam::key(6);
    const LookupResult found = this->one.content->lookup(hit.data()),
                       none = this->one.content->lookup(miss.data());
    EXPECT_EQ(found.then->action, this->actions.program.actions[this->actions.answer].code);
    EXPECT_EQ(found.then->next, 1U);
    EXPECT_EQ(none.then->action, this->actions.program.actions[this->actions.bare].code);
    EXPECT_EQ(none.then->next, 3U);
}

TYPED_TEST(AnyTable, RefusesASecondEntryOfAMatch) {
    EXPECT_EQ(this->one.table->insert(this->entry(5, 77)), Status::Ok);
    EXPECT_EQ(this->one.table->insert(this->entry(5, 78)), Status::AlreadyExists);
    EXPECT_EQ(this->find(5), 77U);
    EXPECT_EQ(this->one.table->size(), 1U);
}

TYPED_TEST(AnyTable, ModifyChangesTheActionInPlace) {
    static_cast<void>(this->one.table->insert(this->entry(5, 77)));
    EntrySpec changed = this->entry(5, 78);
    changed.action = this->actions.other;
    EXPECT_EQ(this->one.table->modify(changed), Status::Ok);
    EXPECT_EQ(this->find(5), 78U);
    EXPECT_EQ(this->one.table->get(changed.match, changed.priority)->action, this->actions.other);
    EXPECT_EQ(this->one.table->modify(this->entry(6, 1)), Status::NotFound);
}

TYPED_TEST(AnyTable, EraseTakesOneEntryAndLeavesTheOthers) {
    for (const std::uint64_t value : {1, 2, 3})
        static_cast<void>(this->one.table->insert(this->entry(value, value)));
    EXPECT_EQ(this->erase(2), Status::Ok);
    EXPECT_EQ(this->find(1), 1U);
    EXPECT_EQ(this->find(2), std::nullopt);
    EXPECT_EQ(this->find(3), 3U);
    EXPECT_EQ(this->erase(2), Status::NotFound);
}

TYPED_TEST(AnyTable, HoldsAsManyEntriesAsItsSizeAndFreesErasedOnes) {
    for (std::uint64_t value = 0; value < 8; ++value)
        ASSERT_EQ(this->one.table->insert(this->entry(value, value)), Status::Ok);
    EXPECT_EQ(this->one.table->insert(this->entry(8, 8)), Status::Exhausted);
    ASSERT_EQ(this->erase(3), Status::Ok);
    EXPECT_EQ(this->one.table->insert(this->entry(8, 8)), Status::Ok);
    EXPECT_EQ(this->find(8), 8U);
    EXPECT_EQ(this->find(3), std::nullopt);
}

TYPED_TEST(AnyTable, ReadsBackWhatWasWritten) {
    const EntrySpec written = this->entry(9, 1234);
    static_cast<void>(this->one.table->insert(written));
    const std::optional<EntrySpec> read = this->one.table->get(written.match, written.priority);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->match[0].value, written.match[0].value);
    EXPECT_EQ(read->match[0].prefix, written.match[0].prefix);
    EXPECT_EQ(read->parameters, written.parameters);
    EXPECT_EQ(read->priority, written.priority);
    EXPECT_EQ(read->action, written.action);
    EXPECT_EQ(this->one.table->entries().size(), 1U);
    EXPECT_FALSE(this->one.table->get(TypeParam::only(10), TypeParam::priority));
}

TYPED_TEST(AnyTable, RefusesAValueOrPrefixWiderThanItsKey) {
    EntrySpec wide = this->entry(1, 1);
    wide.match[0].value.back() = ~std::uint64_t{0};
    if (TypeParam::bits % 64 != 0) {
        EXPECT_EQ(this->one.table->insert(wide), Status::Invalid);
    }
    EntrySpec prefix = this->entry(1, 1);
    prefix.match[0].prefix = static_cast<int>(TypeParam::bits) + 1;
    EXPECT_EQ(this->one.table->insert(prefix), Status::Invalid);
    prefix.match[0].prefix = -1;
    EXPECT_EQ(this->one.table->insert(prefix), Status::Invalid);
    EXPECT_EQ(this->one.table->size(), 0U);
}

TYPED_TEST(AnyTable, RefusesActionsAndParametersThatAreNotItsOwn) {
    EntrySpec stranger = this->entry(1, 1);
    stranger.action = this->actions.stranger;
    EXPECT_EQ(this->one.table->insert(stranger), Status::Invalid);
    EntrySpec many = this->entry(1, 1);
    many.parameters = {1, 2};
    EXPECT_EQ(this->one.table->insert(many), Status::Invalid);
    EntrySpec keys = this->entry(1, 1);
    keys.match.push_back(keys.match[0]);
    EXPECT_EQ(this->one.table->insert(keys), Status::Invalid);
    EntrySpec member = this->entry(1, 1);
    member.target = Target::Member;
    EXPECT_EQ(this->one.table->insert(member), Status::Invalid);
}

TYPED_TEST(AnyTable, CountsHitsOfEachEntryFromZero) {
    static_cast<void>(this->one.table->insert(this->entry(5, 1)));
    const Limbs key = TypeParam::key(5);
    const EntryIndex hit = this->one.content->lookup(key.data()).entry;
    this->one.table->count(hit, CountedBytes(100), Time(0));
    this->one.table->count(hit, CountedBytes(50), Time(0));
    EXPECT_EQ(this->one.table->counters(TypeParam::only(5), TypeParam::priority),
              (Count{2, CountedBytes(150)}));
    static_cast<void>(this->erase(5));
    static_cast<void>(this->one.table->insert(this->entry(6, 1)));  // takes its place in memory
    EXPECT_EQ(this->one.table->counters(TypeParam::only(6), TypeParam::priority), Count{});
}

TYPED_TEST(AnyTable, PackedContentAnswersAsBefore) {
    for (const std::uint64_t value : {1, 2, 3, 200})
        static_cast<void>(this->one.table->insert(this->entry(value, 10 * value)));
    std::vector<std::optional<std::uint64_t>> before;
    for (std::uint64_t value = 0; value < 256; ++value) before.push_back(this->find(value));
    SharedContents contents;
    this->one.table->share(contents);
    for (std::uint64_t value = 0; value < 256; ++value) ASSERT_EQ(this->find(value), before[value]) << value;
    ASSERT_EQ(this->one.table->insert(this->entry(4, 40)), Status::Ok);  // unpacks
    EXPECT_EQ(this->find(4), 40U);
    EXPECT_EQ(this->find(200), 2000U);
}

TYPED_TEST(AnyTable, AChangeOfASharedContentLeavesTheOtherTableAlone) {
    auto content = this->one.content;
    Table other(*this->one.layout, content, nullptr);
    SharedContents contents;
    static_cast<void>(this->one.table->insert(this->entry(1, 10)));
    static_cast<void>(other.insert(this->entry(1, 10)));
    EXPECT_NE(this->one.content, content);
    this->one.table->share(contents);
    other.share(contents);
    ASSERT_EQ(this->one.content, content);  // equal contents are shared
    ASSERT_EQ(other.modify(this->entry(1, 11)), Status::Ok);
    EXPECT_NE(this->one.content, content);
    EXPECT_EQ(this->find(1), 10U);
    EXPECT_EQ(*content->lookup(TypeParam::key(1).data()).parameters, 11U);
}

TYPED_TEST(AnyTable, AgreesWithAModelOverManyRandomChanges) {
    this->one.spec.size = 1000;
    this->one.make();
    std::map<std::uint64_t, std::uint64_t> model;
    unit::Random random(11);
    for (int i = 0; i < 4000; ++i) {
        const std::uint64_t value = random.below(200), parameter = random.word();
        const bool exists = model.contains(value);
        switch (random.below(4)) {
            case 0:
            case 1:
                ASSERT_EQ(this->one.table->insert(this->entry(value, parameter)),
                          exists ? Status::AlreadyExists : Status::Ok);
                model.emplace(value, parameter);
                break;
            case 2:
                ASSERT_EQ(this->erase(value), exists ? Status::Ok : Status::NotFound);
                model.erase(value);
                break;
            default: {
                const auto at = model.find(value);
                ASSERT_EQ(this->find(value), at == model.end() ? std::nullopt : std::optional(at->second));
            }
        }
        ASSERT_EQ(this->one.table->size(), model.size());
    }
    EXPECT_EQ(this->one.table->entries().size(), model.size());
}

}  // namespace
}  // namespace railyard::tables
