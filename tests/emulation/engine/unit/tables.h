// SPDX-License-Identifier: Apache-2.0
// Helpers of the tests of tables: a program with actions, and a table with any keys.
#pragma once

#include "common.h"
#include "tables/table.h"

namespace railyard::unit {

using Limbs = std::vector<std::uint64_t>;

// A program with four actions, which have one parameter each, except for `bare`. The tables of the tests
// refer to it, and `stranger` belongs to none of them.
struct Actions {
    load::Program program;
    Index<load::Action> answer{0}, other{1}, bare{2}, stranger{3};

    Actions() {
        for (const char* const name : {"answer", "other", "bare", "stranger"}) {
            load::Action action;
            action.name = name;
            action.code = static_cast<load::Place>(10 * program.actions.size());
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
    OneTable(Actions& actions, std::vector<load::Key> keys, std::size_t size = 8) : actions_(actions) {
        load::Slot slot = 0;
        for (load::Key& key : keys) {
            key.slot = slot;
            slot = static_cast<load::Slot>(slot + load::limbs(key.bits));
        }
        spec.keys = std::move(keys);
        spec.actions = {actions.answer, actions.other, actions.bare};
        spec.next_by_action = {1, 2, 3};
        spec.parameter_limbs = 1;
        spec.default_action = actions.bare;
        spec.size = size;
        spec.counted = true;
    }
    // Make the table. Call this again after a change of `spec`.
    tables::Table& make(tables::Profile* profile = nullptr) {
        layout = std::make_unique<tables::TableLayout>(actions_.program, spec);
        content = std::make_shared<tables::TableContent>(*layout);
        table = std::make_unique<tables::Table>(*layout, content, profile);
        return *table;
    }
    tables::EntrySpec entry(std::vector<tables::MatchValue> match, std::uint64_t parameter,
                            int priority = 0) const {
        return {std::move(match),
                tables::EntryPriority(priority),
                tables::Target::Action,
                actions_.answer,
                {parameter}};
    }
    // Return the parameter of the entry that matches these slots of the key; nothing on a miss.
    std::optional<std::uint64_t> find(const Limbs& slots) const {
        const tables::LookupResult result = content->lookup(slots.data());
        compare_by_word(result, slots);
        if (!result.entry) return std::nullopt;
        return *result.parameters;
    }

    load::TableSpec spec;
    std::unique_ptr<tables::TableLayout> layout;
    std::shared_ptr<tables::TableContent> content;
    std::unique_ptr<tables::Table> table;

   private:
    // The look-up of translated programs, by a key of one word, agrees with that of the interpreter.
    void compare_by_word(const tables::LookupResult& result, const Limbs& slots) const {
        using Shape = tables::TableLayout::Shape;
        std::uint64_t key = 0;
        for (const tables::TableLayout::KeyLimb& limb : layout->key)
            key = (limb.bits < 64 ? key << limb.bits : 0) | (slots[limb.slot] & limb.mask);
        const bool exact =
            (layout->shape == Shape::Exact || layout->shape == Shape::Direct) && layout->key_bits < 64;
        const bool prefix = layout->shape == Shape::Lpm && layout->key.size() == 1;
        if (!exact && !prefix) return;
        const tables::Selection selection = exact ? content->select(key) : content->select_prefix(key);
        EXPECT_EQ(selection.hit, static_cast<bool>(result.entry));
        EXPECT_EQ(selection.action, result.then->number);
        if (selection.hit) {
            EXPECT_EQ(*selection.parameters, *result.parameters);
        }
    }

    Actions& actions_;
};

}  // namespace railyard::unit
