// SPDX-License-Identifier: Apache-2.0
// Table entries as a control plane writes and reads them.
#pragma once

#include <cstdint>
#include <vector>

#include "index.h"
#include "units.h"

namespace railyard::load {

struct Action;

}  // namespace railyard::load

namespace railyard::tables {

// Result of an operation of the control plane.
enum class [[nodiscard]] Status : int { Ok, AlreadyExists, NotFound, Exhausted, Invalid, Constant };

// Value of a match field, in limbs. extra: mask (ternary, optional) or high end (range), in limbs.
struct MatchValue {
    std::vector<std::uint64_t> value, extra;
    int prefix = 0;  // lpm: prefix length in bits; optional: 1 present, 0 wildcard
};

// Index of an entry's row in its table.
using EntryIndex = Index<struct EntrySpec>;

// Target of an entry: an action of the table, or a member or group of its action profile.
enum class Target : std::uint8_t { Action, Member, Group };

// Priority of an entry among entries whose keys overlap; the highest is chosen.
using EntryPriority = Number<struct EntryPriorityKind, std::int32_t>;

struct EntrySpec {
    std::vector<MatchValue> match;
    EntryPriority priority;
    Target target = Target::Action;
    Index<load::Action> action;             // none: default entry of a table without a default action
    std::vector<std::uint64_t> parameters;  // limbs of the action's parameters; or the member's or group's id
};

}  // namespace railyard::tables
