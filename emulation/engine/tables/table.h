// SPDX-License-Identifier: Apache-2.0
// Entries of a match-action table and the structures that look them up.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "load/program.h"
#include "tables/key_index.h"
#include "tables/meter.h"
#include "tables/profile.h"

namespace railyard {

using Time = std::int64_t;  // picoseconds

struct LookupResult;

// Continuation of a lookup: the parameters of an action go to their targets, then its code runs (kNowhere: it
// has none), then the instruction after the table.
struct Continuation {
    Place action = kNowhere, next = 0;
    const Slot* targets = nullptr;
    unsigned limbs = 0;  // of the parameters
};

// Properties that the tables of a specification have in common on all switches.
struct TableLayout {
    // A limb of the key: a slot, and the bits of it that are matched.
    struct KeyLimb {
        Slot slot;
        unsigned bits;
        std::uint64_t mask;
    };

    TableLayout(const Program& of, const TableSpec& given);
    Continuation continuation(Index<Action> action, bool hit) const;

    const Program& program;
    const TableSpec& spec;
    std::vector<KeyLimb> key;
    std::vector<Continuation> then;  // of hits, by place of the action in the specification; last: no action
};

class Table {
   public:
    // profile: action profile of the table; null for a table whose entries have actions.
    Table(const TableLayout& layout, Profile* profile);

    LookupResult lookup(const std::uint64_t* slots) const;  // defined below, for the interpreter to inline
    // Follow the reference of an entry to a member or group: result.then becomes `chosen`, which gets what
    // follows for the member's action. hash() is called for a group only.
    template <typename Hash>
    void resolve(LookupResult& result, Continuation& chosen, const Hash& hash) const;

    // Result of a lookup in terms of the control plane. Without an entry the table's default action runs.
    struct Choice {
        std::optional<EntrySpec> entry;
        Index<Action>
            action;  // that runs, of the entry or of a member of its action profile; none: nothing runs
        std::vector<std::uint64_t> parameters;
        std::uint64_t packets = 0, bytes = 0;  // of the entry's counter, before this frame
    };
    template <typename Hash>
    Choice explain(const std::uint64_t* slots, const Hash& hash) const;

    Status insert(const EntrySpec& entry);
    Status modify(const EntrySpec& entry);
    Status erase(const std::vector<MatchValue>& match, int priority);
    Status set_default(Index<Action> action, const std::vector<std::uint64_t>& parameters);
    void reset_default();

    std::optional<EntrySpec> get(const std::vector<MatchValue>& match, int priority) const;
    std::vector<EntrySpec> entries() const;
    EntrySpec default_entry() const;
    std::size_t size() const { return live_; }
    const TableSpec& spec() const { return spec_; }
    // True if entries may not change. The p4info decides where the program has initial entries.
    bool constant() const { return constant_; }
    void set_constant(bool constant) { constant_ = constant; }

    // True if a hit changes state (counter, meter, age) or goes through a profile.
    bool instrumented() const { return instrumented_; }
    // Count a hit; true if the entry had aged, and may age again.
    bool count(EntryIndex entry, std::uint64_t bytes, Time now) {
        const std::size_t at = entry.at();
        counts_[at].packets += 1;
        counts_[at].bytes += bytes;
        if (!spec_.ageing) return false;
        const Time aged = ages_[at].hit + ages_[at].ttl;
        ages_[at].hit = now;
        ages_[at].reported = false;
        return ages_[at].ttl > 0 && aged <= now;
    }
    Meter* meter(EntryIndex entry) { return meters_.empty() ? nullptr : &meters_[entry.at()]; }
    std::pair<std::uint64_t, std::uint64_t> counters(const std::vector<MatchValue>& match,
                                                     int priority) const;
    Status set_counters(const std::vector<MatchValue>& match, int priority, std::uint64_t packets,
                        std::uint64_t bytes);
    Status set_meter(const std::vector<MatchValue>& match, int priority,
                     const std::optional<MeterConfig>& config, Time now);
    std::optional<MeterConfig> meter_config(const std::vector<MatchValue>& match, int priority) const;

    // Ageing. ttl 0: never. A ttl beyond the largest difference of times means never, too.
    Status set_ttl(const std::vector<MatchValue>& match, int priority, Time ttl, Time now);
    Time idle(const std::vector<MatchValue>& match, int priority, Time now) const;
    Time next_ageing() const;  // earliest time at which an entry ages; -1: none
    bool due(Time now) const;
    std::vector<EntrySpec> aged(Time now);  // aged and not reported since their last hit

   private:
    // Look-up structure, by the match kinds of the keys.
    enum class Shape { Keyless, Direct, Exact, Lpm, Tcam };
    struct PrefixLevel {
        int prefix;
        std::vector<std::uint64_t> mask;
        KeyIndex index;
    };

    const std::uint64_t* row_of(EntryIndex entry) const { return rows_.data() + entry.at() * stride_; }
    const std::uint64_t* key_of(EntryIndex entry) const { return row_of(entry) + 1; }
    KeyRows keys() const { return {rows_.data() + 1, stride_}; }
    bool valid(const EntrySpec& entry) const;
    bool pack(const std::vector<MatchValue>& match, std::uint64_t* key, std::uint64_t* extra) const;
    EntryIndex find(const std::vector<MatchValue>& match, int priority) const;
    // key, extra: the packed form of the match.
    EntryIndex find(const std::vector<MatchValue>& match, const std::uint64_t* key,
                    const std::uint64_t* extra, int priority) const;
    void count_users(EntryIndex entry, int by);
    EntryIndex match_tcam(const std::uint64_t* key) const;
    EntryIndex search(const std::uint64_t* slots) const;
    EntryIndex match_prefix(const std::uint64_t* key) const;
    std::size_t direct_index(const std::uint64_t* key) const;
    void store(EntryIndex entry, const EntrySpec& spec);
    void link(EntryIndex entry);
    void unlink(EntryIndex entry);
    EntrySpec read(EntryIndex entry) const;
    PrefixLevel& level(int prefix);

    struct Age {
        Time ttl = 0, hit = 0;
        bool reported = false;
    };

    const TableLayout& layout_;
    // Members that a lookup needs come first, in few lines of the cache.
    Shape shape_ = Shape::Keyless;
    bool instrumented_ = false;
    std::uint32_t stride_ = 0, parameters_at_ = 0;  // words of a row; those before its parameters
    std::vector<EntryIndex> direct_;
    // A row for each entry: number of what follows in TableLayout::then, key, parameters.
    std::vector<std::uint64_t> rows_;
    std::size_t live_ = 0;
    std::vector<std::uint64_t> default_params_;
    Continuation default_then_;

    const Program& program_;
    const TableSpec& spec_;
    Profile* profile_;
    bool constant_ = spec_.const_entries;
    std::size_t key_limbs_ = 0;
    std::optional<std::size_t> lpm_key_;
    std::size_t lpm_limb_ = 0;

    struct Count {
        std::uint64_t packets = 0, bytes = 0;
    };
    std::vector<Count> counts_;
    std::vector<std::uint64_t> extras_;
    std::vector<std::int32_t> prefixes_, priorities_;
    std::vector<bool> used_;  // false: in free_
    std::vector<Target> targets_;
    std::vector<Index<Action>> actions_;
    std::vector<Meter> meters_;
    std::vector<Age> ages_;
    std::vector<EntryIndex> free_;

    KeyIndex exact_;
    std::vector<PrefixLevel> levels_;  // longest first
    std::vector<EntryIndex> tcam_;     // highest priority first

    Index<Action> default_action_;
};

// Action of an entry or of the default entry, and its parameters.
struct LookupResult {
    const Continuation* then = nullptr;
    const std::uint64_t* parameters = nullptr;
    EntryIndex entry;  // none on a miss
};

inline LookupResult Table::lookup(const std::uint64_t* slots) const {
    EntryIndex entry;
    if (shape_ == Shape::Direct) {
        std::size_t index = 0;
        for (const TableLayout::KeyLimb& k : layout_.key) index = index << k.bits | (slots[k.slot] & k.mask);
        entry = direct_[index];
    } else if (live_ > 0) {
        entry = search(slots);
    }
    if (!entry) return {&default_then_, default_params_.data(), {}};
    const std::uint64_t* const row = row_of(entry);
    return {&layout_.then[row[0]], row + parameters_at_, entry};
}

template <typename Hash>
Table::Choice Table::explain(const std::uint64_t* slots, const Hash& hash) const {
    const LookupResult result = lookup(slots);
    if (!result.entry) return {{}, default_action_, default_params_, 0, 0};
    const std::size_t at = result.entry.at();
    Choice out{read(result.entry), {}, {}, counts_[at].packets, counts_[at].bytes};
    if (profile_ == nullptr) {
        out.action = out.entry->action;
        out.parameters = out.entry->parameters;
        return out;
    }
    const auto id = static_cast<std::int64_t>(*result.parameters);
    const bool direct = targets_[at] == Target::Member;
    const Profile::Member* m = direct ? profile_->member(id) : profile_->choose(id, hash());
    if (m == nullptr) return out;
    out.action = m->action;
    out.parameters = m->parameters;
    return out;
}

template <typename Hash>
void Table::resolve(LookupResult& result, Continuation& chosen, const Hash& hash) const {
    const auto id = static_cast<std::int64_t>(*result.parameters);
    const bool direct = targets_[result.entry.at()] == Target::Member;
    const Profile::Member* m = direct ? profile_->member(id) : profile_->choose(id, hash());
    if (m == nullptr) return;  // no action
    chosen = layout_.continuation(m->action, true);
    result = {&chosen, m->parameters.data(), result.entry};
}

}  // namespace railyard
