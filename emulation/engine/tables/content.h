// SPDX-License-Identifier: Apache-2.0
// Content of a table in the form that lookups read. Switches of a program share equal contents, which saves
// cache.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "frames/pages.h"
#include "load/program/program.h"
#include "tables/key_index.h"
#include "tables/packed_prefixes.h"

namespace railyard::tables {

// Continuation of a lookup: the action's parameters are copied to `targets`, then its code at `action` runs
// (kNowhere: none), then the code at `next`, after the table.
struct Continuation {
    load::Place action = load::kNowhere, next = 0;
    const load::Slot* targets = nullptr;
    unsigned limbs = 0;   // limbs of the parameters
    unsigned number = 0;  // index of the action in TableSpec::actions; their count for none

    bool operator==(const Continuation&) const = default;
};

// Properties of a table that are equal on all switches of a program.
struct TableLayout {
    // Look-up structure, by the match kinds of the keys.
    enum class Shape { Keyless, Direct, Exact, Lpm, Tcam };
    // A limb of the key: its slot, its width in bits, and the mask of matched bits.
    struct KeyLimb {
        load::Slot slot;
        unsigned bits;
        std::uint64_t mask;
    };

    TableLayout(const load::Program& of, const load::TableSpec& given);
    [[nodiscard]] Continuation continuation(Index<load::Action> action, bool hit) const;

    const load::Program& program;
    const load::TableSpec& spec;
    Shape shape = Shape::Keyless;
    // True if a hit changes state (counter, meter, age) or goes through a profile.
    bool instrumented = false;
    std::uint32_t parameters_at = 0, stride = 0;  // words of a row before its parameters; of the whole row
    unsigned key_bits = 0;
    std::size_t lpm_key = SIZE_MAX,
                lpm_limb = 0;  // index of the LPM key and of its first limb; SIZE_MAX: none
    std::vector<KeyLimb> key;
    std::vector<Continuation> then;  // for hits, by index in TableSpec::actions; last: no action
};

// Array of the rows of exact entries, indexed by the key bits in which entries differ: a lookup reads a
// single row. Only for keys of less than 64 bits whose entries fill the array densely enough.
class PackedRows {
   public:
    // A run of adjacent key bits in the index: `rotr(key, rotation) & mask` puts them at their place in the
    // position of a row, which is the row's index times the words of a row.
    struct Run {
        std::uint32_t rotation, mask;
    };
    // Words of a row: entry index << 32 | index in TableLayout::then; key; parameters. kFree: key of an empty
    // row.
    static constexpr std::size_t kParametersAt = 2;
    static constexpr std::uint64_t kFree = ~std::uint64_t{0};

    void clear() { rows_.clear(); }
    [[nodiscard]] bool used() const { return !rows_.empty(); }
    // Pack entries, if they are dense enough; otherwise used() returns false.
    void pack(const std::vector<EntryIndex>& entries, const struct TableContent& content);
    // Return the row of a key; null if there is none.
    [[nodiscard]] const std::uint64_t* find(std::uint64_t key) const {
        ASSERT(used());
        const std::uint64_t* const row = rows_.data() + position(key);
        return row[1] == key ? row : nullptr;
    }

   private:
    static constexpr unsigned kMostRuns = 4;

    [[nodiscard]] std::size_t position(std::uint64_t key) const {
        const auto part = [&](const Run& run) {
            return std::rotr(key, static_cast<int>(run.rotation)) & run.mask;
        };
        std::size_t at = part(runs_[0]);
        for (unsigned run = 1; run < kMostRuns && run < count_; ++run) at |= part(runs_[run]);
        return at;
    }

    std::vector<std::uint64_t, frames::HugePageAllocator<std::uint64_t>>
        rows_;  // short rows cross no cache line
    std::uint32_t stride_ = 0;
    unsigned count_ = 0;  // number of runs; runs_[0] selects nothing if there is none
    std::array<Run, kMostRuns> runs_{};
};

// Result of a lookup: the continuation and parameters of the hit entry or of the default entry.
struct LookupResult {
    const Continuation* then = nullptr;
    const std::uint64_t* parameters = nullptr;
    EntryIndex entry;  // none on a miss
};

// Result of a lookup in the form that translated programs read: it fits in two registers.
struct Selection {
    const std::uint64_t* parameters;
    std::uint32_t action;  // index in TableSpec::actions; their count for none
    bool hit;

    Selection(const std::uint64_t* parameters_at, std::uint32_t number, bool of_entry)
        : parameters(parameters_at), action(number), hit(of_entry) {}
    explicit Selection(const LookupResult& result)
        : Selection(result.parameters, result.then->number, static_cast<bool>(result.entry)) {}
};

struct alignas(64) TableContent {
    // The entries of an LPM table with a prefix length.
    struct PrefixLevel {
        int prefix;
        std::vector<std::uint64_t> mask;
        KeyIndex index;

        bool operator==(const PrefixLevel&) const = default;
    };

    explicit TableContent(const TableLayout& of);

    [[nodiscard]] LookupResult lookup(
        const std::uint64_t* slots) const;  // defined below, so that the interpreter inlines it
    // Look up an exact key of less than 64 bits, of all limbs one after the other.
    [[nodiscard, gnu::always_inline]] Selection select(std::uint64_t key) const {
        if (!packed.used()) [[unlikely]]
            return search_word(key);
        const std::uint64_t* const row = packed.find(key);
        if (row == nullptr) return miss();
        return {row + PackedRows::kParametersAt, static_cast<std::uint32_t>(row[0]), true};
    }
    // Look up the longest prefix of a key of up to 64 bits.
    [[nodiscard, gnu::always_inline]] Selection select_prefix(std::uint64_t key) const {
        if (!prefixes.used()) [[unlikely]]
            return search_word(key);
        const EntryIndex entry = prefixes.find(key);
        return entry ? hit(entry) : miss();
    }
    std::uint64_t* row_of(EntryIndex entry) { return rows.data() + entry.at() * layout->stride; }
    [[nodiscard]] const std::uint64_t* row_of(EntryIndex entry) const {
        return rows.data() + entry.at() * layout->stride;
    }
    [[nodiscard]] const std::uint64_t* key_of(EntryIndex entry) const { return row_of(entry) + 1; }
    [[nodiscard]] KeyRows keys() const { return {rows.data() + 1, layout->stride}; }
    [[nodiscard]] std::size_t direct_index(const std::uint64_t* key) const;
    // Build `packed` or `prefixes` for faster lookups, unless done; clear them before the content changes.
    void pack();
    void unpack() {
        is_packed = false;
        packed.clear();
        prefixes.clear();
    }
    void set_default(Index<load::Action> action, const std::vector<std::uint64_t>& parameters);

    // Return true if all lookups have equal results. `packed` and `prefixes` follow from the rest.
    [[nodiscard]] bool same_entries(const TableContent& other) const;
    [[nodiscard]] std::uint64_t hash() const;

    // Members that lookups read come first, in two lines of the cache.
    const TableLayout* layout;
    PackedRows packed;  // replaces `direct` and `exact` in lookups unless empty
    // Row of each entry: index in TableLayout::then, key, parameters.
    std::vector<std::uint64_t> rows;
    PackedPrefixes prefixes;         // replaces `levels` in lookups unless empty
    std::size_t live = 0;            // number of entries
    bool is_packed = false;          // pack() has run since the last change
    std::vector<EntryIndex> direct;  // by key
    Index<load::Action> default_action;
    std::vector<std::uint64_t> default_parameters;
    Continuation default_then;
    KeyIndex exact;
    std::vector<PrefixLevel> levels;    // longest prefix first
    std::vector<EntryIndex> tcam;       // highest priority first
    std::vector<std::uint64_t> extras;  // by entry of a TCAM: masks or high ends, as many limbs as the key

   private:
    [[nodiscard]] LookupResult lookup_packed(std::uint64_t key) const {
        const std::uint64_t* const row = packed.find(key);
        if (row == nullptr) return {&default_then, default_parameters.data(), {}};
        return {&layout->then[static_cast<std::uint32_t>(row[0])], row + PackedRows::kParametersAt,
                EntryIndex(row[0] >> 32)};
    }
    [[nodiscard]] EntryIndex match_tcam(const std::uint64_t* key) const;
    [[nodiscard]] EntryIndex search(const std::uint64_t* key) const;
    [[nodiscard]] Selection search_word(std::uint64_t word) const;
    [[nodiscard]] Selection miss() const { return {default_parameters.data(), default_then.number, false}; }
    // The index of a continuation is its number.
    [[nodiscard]] Selection hit(EntryIndex entry) const {
        const std::uint64_t* const row = row_of(entry);
        ASSERT(layout->then[row[0]].number == row[0]);
        return {row + layout->parameters_at, static_cast<std::uint32_t>(row[0]), true};
    }
    [[nodiscard]] EntryIndex match_prefix(const std::uint64_t* key) const;
};

inline LookupResult TableContent::lookup(const std::uint64_t* slots) const {
    EntryIndex entry;
    if (packed.used() || layout->shape == TableLayout::Shape::Direct) {
        std::uint64_t key = 0;
        for (const TableLayout::KeyLimb& k : layout->key) key = key << k.bits | (slots[k.slot] & k.mask);
        if (packed.used()) [[likely]]
            return lookup_packed(key);
        ASSERT(key < direct.size());
        entry = direct[key];
    } else if (live > 0) {
        std::array<std::uint64_t, load::kMaxKeyLimbs> key;
        std::size_t at = 0;
        for (const TableLayout::KeyLimb& k : layout->key) key[at++] = slots[k.slot] & k.mask;
        entry = search(key.data());
    }
    if (!entry) return {&default_then, default_parameters.data(), {}};
    const std::uint64_t* const row = row_of(entry);
    ASSERT(row[0] < layout->then.size());
    return {&layout->then[row[0]], row + layout->parameters_at, entry};
}

// Distinct contents of a table over all switches of a program.
class SharedContents {
   public:
    // Return an equal content of another switch, else `given` itself, packed for lookups.
    std::shared_ptr<TableContent> share(const std::shared_ptr<TableContent>& given);

   private:
    std::unordered_map<std::uint64_t, std::weak_ptr<TableContent>> known_;  // by hash
    std::size_t sweep_at_ = 64;  // size of known_ at which expired contents are removed
};

}  // namespace railyard::tables
