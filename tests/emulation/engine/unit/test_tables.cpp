// SPDX-License-Identifier: Apache-2.0
// One suite over all match kinds and key widths; then what each kind has of its own, and contents that
// switches share.
#include <algorithm>
#include <map>

#include "common.h"
#include "tables/number.h"
#include "tables/table.h"

namespace railyard {
namespace {

using Limbs = std::vector<std::uint64_t>;

// A program with two actions of one parameter each and one without; tables that the tests make refer to it.
struct Actions {
    Program program;
    Index<Action> answer{0}, other{1}, bare{2}, stranger{3};

    Actions() {
        for (const char* const name : {"answer", "other", "bare", "stranger"}) {
            Action action;
            action.name = name;
            action.code = static_cast<Place>(10 * program.actions.size());
            if (action.name != "bare") {
                action.parameter_limbs = 1;
                action.targets = {99};
            }
            program.actions.push_back(action);
        }
    }
};

// One table of a switch, with keys from slot 0 on.
class OneTable {
   public:
    OneTable(Actions& actions, std::vector<Key> keys, std::size_t size = 8) : actions_(actions) {
        Slot slot = 0;
        for (Key& key : keys) {
            key.slot = slot;
            slot = static_cast<Slot>(slot + limbs(key.bits));
        }
        spec.keys = std::move(keys);
        spec.actions = {actions.answer, actions.other, actions.bare};
        spec.next_by_action = {1, 2, 3};
        spec.parameter_limbs = 1;
        spec.default_action = actions.bare;
        spec.size = size;
        spec.counted = true;
    }
    // Call after changes of `spec`.
    Table& make(Profile* profile = nullptr) {
        layout = std::make_unique<TableLayout>(actions_.program, spec);
        content = std::make_shared<TableContent>(*layout);
        table = std::make_unique<Table>(*layout, content, profile);
        return *table;
    }
    EntrySpec entry(std::vector<MatchValue> match, std::uint64_t parameter, int priority = 0) const {
        return {std::move(match), priority, Target::Action, actions_.answer, {parameter}};
    }
    // Parameter of the entry that the key's slots lead to; none on a miss.
    std::optional<std::uint64_t> find(const Limbs& slots) const {
        const LookupResult result = content->lookup(slots.data());
        if (!result.entry) return std::nullopt;
        return *result.parameters;
    }

    TableSpec spec;
    std::unique_ptr<TableLayout> layout;
    std::shared_ptr<TableContent> content;
    std::unique_ptr<Table> table;

   private:
    Actions& actions_;
};

template <MatchKind kKind, unsigned kBits>
struct Match {
    static constexpr MatchKind kind = kKind;
    static constexpr unsigned bits = kBits;
    static constexpr int priority =
        kKind == MatchKind::Exact || kKind == MatchKind::Lpm ? 0 : 10;  // what P4Runtime demands

    // Key number `value`; a wide one differs from others in its first and last limb.
    static Limbs key(std::uint64_t value) {
        Limbs out(limbs(bits), 0);
        out[0] = value & low_mask(bits);
        if (out.size() > 1) out.back() = (value * 3) & low_mask(bits - 64 * (limbs(bits) - 1));
        return out;
    }
    // A match of this key and no other.
    static std::vector<MatchValue> only(std::uint64_t value) {
        MatchValue match{key(value), {}, 0};
        if (kind == MatchKind::Lpm) match.prefix = static_cast<int>(bits);
        if (kind == MatchKind::Optional) match.prefix = 1;
        if (kind == MatchKind::Range) match.extra = match.value;
        if (kind == MatchKind::Ternary)
            for (unsigned limb = 0; limb < limbs(bits); ++limb)
                match.extra.push_back(low_mask(std::min(64U, bits - 64 * limb)));
        return {match};
    }
};

template <typename M>
class AnyTable : public testing::Test {
   protected:
    AnyTable() { one.make(); }
    EntrySpec entry(std::uint64_t value, std::uint64_t parameter) const {
        return one.entry(M::only(value), parameter, M::priority);
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
    this->one.table->count(hit, 100, 0);
    this->one.table->count(hit, 50, 0);
    EXPECT_EQ(this->one.table->counters(TypeParam::only(5), TypeParam::priority),
              std::pair(std::uint64_t{2}, std::uint64_t{150}));
    static_cast<void>(this->erase(5));
    static_cast<void>(this->one.table->insert(this->entry(6, 1)));  // takes the place in memory
    EXPECT_EQ(this->one.table->counters(TypeParam::only(6), TypeParam::priority),
              std::pair(std::uint64_t{0}, std::uint64_t{0}));
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
    ASSERT_EQ(this->one.content, content);  // equal contents are one
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
    EXPECT_EQ(one.table->erase({{{0x0A010200}, {}, 24}, {{1}, {}, 0}}, 0), Status::Ok);
    EXPECT_EQ(one.find({0x0A010203, 1}), 8U);
    EXPECT_EQ(one.content->levels.size(), 1U);
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
    ASSERT_EQ(table.erase(masked(0, 0), 20), Status::Ok);
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
    ASSERT_EQ(table.erase(masked(1, 0xFFFF), 7), Status::Ok);
    EXPECT_EQ(one.find({1}), 2U);
}

// Ternary and lpm together: compared with a linear search over all entries.
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
    EXPECT_EQ(table.next_ageing(), -1);
    ASSERT_EQ(table.set_ttl(key, 0, 100, 1000), Status::Ok);
    EXPECT_EQ(table.next_ageing(), 1100);
    EXPECT_FALSE(table.due(1099));
    EXPECT_TRUE(table.due(1100));
    EXPECT_EQ(table.aged(1100).size(), 1U);
    EXPECT_EQ(table.aged(1200).size(), 0U);  // reported
    EXPECT_EQ(table.next_ageing(), -1);
}

TEST_F(Ageing, AHitStartsTheTimeAgainAndTellsOfARevival) {
    Table& table = *one.table;
    static_cast<void>(table.set_ttl(key, 0, 100, 1000));
    EXPECT_FALSE(table.count(entry, 1, 1050));
    EXPECT_EQ(table.next_ageing(), 1150);
    EXPECT_EQ(table.idle(key, 0, 1070), 20);
    EXPECT_TRUE(table.count(entry, 1, 1150));  // had aged
    EXPECT_EQ(table.aged(1250).size(), 1U);
}

TEST_F(Ageing, ATimeBeyondAllTimesMeansNever) {
    Table& table = *one.table;
    ASSERT_EQ(table.set_ttl(key, 0, std::numeric_limits<Time>::max(), 1000), Status::Ok);
    EXPECT_EQ(table.next_ageing(), -1);
    EXPECT_EQ(table.set_ttl(key, 0, -1, 0), Status::Invalid);
}

TEST(SharedContents, TellsContentsApartThatDifferInTheirDefault) {
    Actions actions;
    OneTable a(actions, {{"key", MatchKind::Exact, 8, 0, {}}});
    a.make();
    auto content = std::make_shared<TableContent>(*a.layout);
    Table other(*a.layout, content, nullptr);
    static_cast<void>(a.table->insert(a.entry({{{1}, {}, 0}}, 1)));
    static_cast<void>(other.insert(a.entry({{{1}, {}, 0}}, 1)));
    static_cast<void>(other.set_default(actions.answer, {5}));
    SharedContents contents;
    a.table->share(contents);
    other.share(contents);
    EXPECT_NE(a.content, content);
}

TEST(KeyIndex, FindsKeysWhateverWasErasedBetweenThem) {
    constexpr std::size_t kKeys = 3000;
    std::vector<std::uint64_t> rows;
    KeyIndex index(1);
    std::vector<bool> present(kKeys, false);
    for (std::size_t i = 0; i < kKeys; ++i) rows.push_back(i * 64);  // collide in the low bits
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

struct Members : testing::Test {
    Actions actions;
    ProfileSpec spec;
    Members() {
        spec.size = 3;
        spec.selector = Index<Calculation>(0);
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
    for (std::uint64_t hash = 0; hash < 40; ++hash) ++taken[profile.choose(9, hash)->parameters[0]];
    EXPECT_EQ(taken, (std::map<std::uint64_t, int>{{1, 10}, {2, 30}}));
    EXPECT_EQ(profile.choose(9, 0)->parameters[0], 1U);  // by handle, not in the order of the group
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
    EXPECT_EQ(profile.choose(9, 0), nullptr);
    EXPECT_EQ(profile.erase(1), Status::Ok);  // no group counts as its user
}

TEST_F(Members, EntriesLeadToTheMembersTheyName) {
    Profile profile(actions.program, spec);
    static_cast<void>(profile.insert(1, actions.answer, {11}));
    static_cast<void>(profile.insert(2, actions.answer, {22}));
    static_cast<void>(profile.set_group(7, {{2, 1}}));
    OneTable one(actions, {{"key", MatchKind::Exact, 8, 0, {}}});
    one.spec.profile = Index<ProfileSpec>(0);
    Table& table = one.make(&profile);
    EntrySpec entry = one.entry({{{3}, {}, 0}}, 1);
    EXPECT_EQ(table.insert(entry), Status::Invalid);  // of an action
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
    EXPECT_EQ(table.erase(entry.match, 0), Status::Ok);
    EXPECT_EQ(profile.erase_group(7), Status::Ok);
}

TEST_F(Members, AnEntryOfAnAbsentMemberIsRefused) {
    Profile profile(actions.program, spec);
    OneTable one(actions, {{"key", MatchKind::Exact, 8, 0, {}}});
    one.spec.profile = Index<ProfileSpec>(0);
    Table& table = one.make(&profile);
    EntrySpec entry = one.entry({{{3}, {}, 0}}, 1);
    entry.target = Target::Member;
    EXPECT_EQ(table.insert(entry), Status::Invalid);
}

constexpr std::int64_t kSecond = 1'000'000'000'000;

TEST(Meter, IsGreenWithoutAConfiguration) {
    Meter meter;
    for (int i = 0; i < 100; ++i) EXPECT_EQ(meter.execute(1'000'000, i), 0U);
}

TEST(Meter, IsYellowAboveTheCommittedAndRedAboveThePeakBurst) {
    Meter meter;
    meter.configure(MeterConfig{1, 2, 1, 4}, 0);
    std::vector<std::uint64_t> colours;
    for (int i = 0; i < 5; ++i) colours.push_back(meter.execute(1, 0));
    EXPECT_EQ(colours, (std::vector<std::uint64_t>{0, 0, 1, 1, 2}));
}

TEST(Meter, FillsAtItsRateUpToTheBurst) {
    Meter meter;
    meter.configure(MeterConfig{10, 5, 1000, 1000}, 0);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(meter.execute(1, 0), 0U);
    EXPECT_EQ(meter.execute(1, kSecond / 10 - 1), 1U);  // just before the next token
    EXPECT_EQ(meter.execute(1, kSecond / 10), 0U);
    int green = 0;
    for (int i = 0; i < 20; ++i) green += meter.execute(1, 100 * kSecond) == 0;
    EXPECT_EQ(green, 5);
}

TEST(Meter, LosesNoFractionOfATokenToRounding) {
    Meter meter;
    meter.configure(MeterConfig{3, 1000, 1'000'000, 1'000'000}, 0);
    for (int i = 0; i < 1000; ++i) static_cast<void>(meter.execute(1, 0));
    int green = 0;
    for (int i = 1; i <= 3000; ++i) green += meter.execute(1, i * (kSecond / 100)) == 0;  // 30 s
    EXPECT_EQ(green, 90);
}

TEST(Meter, ANewConfigurationStartsWithFullBuckets) {
    Meter meter;
    meter.configure(MeterConfig{1, 1, 1, 1}, 0);
    static_cast<void>(meter.execute(1, 0));
    EXPECT_EQ(meter.execute(1, 0), 2U);
    meter.configure(MeterConfig{1, 1, 1, 1}, 0);
    EXPECT_EQ(meter.execute(1, 0), 0U);
    meter.configure(std::nullopt, 0);
    EXPECT_EQ(meter.execute(1, 0), 0U);
    EXPECT_FALSE(meter.config());
}

TEST(Counters, CellsThatWereNeverWrittenAreZero) {
    Counter counter(10);
    EXPECT_EQ(counter.get(9).packets, 0U);
    counter.add(2, 100);
    counter.set(6, {7, 8});
    counter.add(2, 50);
    EXPECT_EQ(counter.get(2).packets, 2U);
    EXPECT_EQ(counter.get(2).bytes, 150U);
    EXPECT_EQ(counter.get(6).packets, 7U);
    EXPECT_EQ(counter.get(3).packets, 0U);
}

TEST(Counters, NothingHappensBeyondTheLastCell) {
    Counter counter(3);
    counter.add(3, 100);
    for (const Count& cell : counter.read(0, 8)) EXPECT_EQ(cell.packets, 0U);
    EXPECT_THROW(counter.get(3), std::out_of_range);
    EXPECT_THROW(counter.set(3, {1, 1}), std::out_of_range);
    EXPECT_THROW(counter.read(4, 1), std::out_of_range);
}

TEST(Counters, APartMayReachBeyondWhatWasWritten) {
    Counter counter(9);
    counter.add(1, 10);
    const std::vector<Count> part = counter.read(1, 4);
    ASSERT_EQ(part.size(), 4U);
    EXPECT_EQ(part[0].bytes, 10U);
    EXPECT_EQ(part[3].bytes, 0U);
    EXPECT_EQ(counter.read(7, 4).size(), 2U);
    EXPECT_TRUE(counter.read(9, 4).empty());
}

}  // namespace
}  // namespace railyard
