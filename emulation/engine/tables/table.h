// SPDX-License-Identifier: Apache-2.0
// A match-action table's entries and the look-up structures over them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tables/key_index.h"
#include "tables/meter.h"
#include "tables/profile.h"
#include "load/program.h"

namespace railyard {

using Time = std::int64_t;  // picoseconds

// What an entry, or the default, leads to. code kNowhere: no action.
struct LookupResult {
    Place code, next;
    const std::uint64_t* parameters;
    unsigned limbs;  // of parameters
    EntryIndex entry;  // none on a miss
};

class Table {
   public:
    // profile: where its entries' members are; null for a table with actions of its own.
    Table(const Program& program, const TableSpec& spec, Profile* profile);

    LookupResult lookup(const std::uint64_t* slots) const;
    // Puts the member that an entry of a table with a profile means in the place of the entry. hash() is called when a
    // group chooses among its members.
    template <typename Hash>
    void resolve(LookupResult& result, const Hash& hash) const {
        if (!result.entry) return;  // the default has an action of its own
        const auto id = static_cast<std::int64_t>(*result.parameters);
        const bool direct = targets_[result.entry.at()] == Target::Member;
        const Profile::Member* m = direct ? profile_->member(id) : profile_->choose(id, hash());
        if (m == nullptr) {
            result.code = kNowhere;
            return;
        }
        result.code = program_.actions[m->action].code;
        result.parameters = m->parameters.data();
        result.limbs = static_cast<unsigned>(m->parameters.size());
        result.next = next(m->action, true);
    }

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
    // Are entries refused any change? A program that has some does not say so of them; its p4info does.
    bool constant() const { return constant_; }
    void set_constant(bool constant) { constant_ = constant; }

    // Is there more to a hit than its action: something kept beside the entry, or a profile?
    bool instrumented() const { return instrumented_; }
    // True when the entry had aged: it may do so anew.
    bool count(EntryIndex entry, std::uint64_t bytes, Time now) {
        const std::size_t at = entry.at();
        packets_[at] += 1;
        bytes_[at] += bytes;
        if (!spec_.ageing) return false;
        const Time aged = ages_[at].hit + ages_[at].ttl;
        ages_[at].hit = now;
        ages_[at].reported = false;
        return ages_[at].ttl > 0 && aged <= now;
    }
    Meter* meter(EntryIndex entry) { return meters_.empty() ? nullptr : &meters_[entry.at()]; }
    std::pair<std::uint64_t, std::uint64_t> counters(const std::vector<MatchValue>& match, int priority) const;
    Status set_counters(const std::vector<MatchValue>& match, int priority, std::uint64_t packets, std::uint64_t bytes);
    Status set_meter(const std::vector<MatchValue>& match, int priority, const std::optional<MeterConfig>& config, Time now);
    std::optional<MeterConfig> meter_config(const std::vector<MatchValue>& match, int priority) const;

    // Ageing. ttl 0: never.
    // Longer than the largest time apart from `now` is for ever.
    Status set_ttl(const std::vector<MatchValue>& match, int priority, Time ttl, Time now);
    Time idle(const std::vector<MatchValue>& match, int priority, Time now) const;
    Time next_ageing() const;           // the soonest moment an entry may be due; -1: none
    bool due(Time now) const;
    std::vector<EntrySpec> aged(Time now);  // due and not told of since their last hit

   private:
    // What the kinds of its keys make of a table.
    enum class Shape { Keyless, Direct, Exact, Lpm, Tcam };
    struct PrefixLevel {
        int prefix;
        std::vector<std::uint64_t> mask;
        KeyIndex index;
    };

    bool valid(const EntrySpec& entry) const;
    bool pack(const std::vector<MatchValue>& match, std::uint64_t* key, std::uint64_t* extra) const;
    EntryIndex find(const std::vector<MatchValue>& match, int priority) const;
    Place next(Index<Action> action, bool hit) const;
    void count_users(EntryIndex entry, int by);
    EntryIndex match_tcam(const std::uint64_t* key) const;
    void gather(const std::uint64_t* slots, std::uint64_t* key) const;
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

    const Program& program_;
    const TableSpec& spec_;
    Profile* profile_;
    bool constant_ = spec_.const_entries;
    bool masked_ = false, single_ = false, instrumented_ = false;
    Shape shape_ = Shape::Keyless;
    std::size_t key_limbs_ = 0;
    std::optional<std::size_t> lpm_key_;
    std::size_t lpm_limb_ = 0;

    std::size_t live_ = 0;
    std::vector<std::uint64_t> keys_, extras_, params_, packets_, bytes_;
    std::vector<std::int32_t> prefixes_, priorities_;
    std::vector<bool> used_;  // false: in free_
    std::vector<Target> targets_;
    std::vector<Index<Action>> actions_;
    std::vector<std::pair<Place, Place>> goes_;  // code and what comes after it
    std::vector<Meter> meters_;
    std::vector<Age> ages_;
    std::vector<EntryIndex> free_;

    std::vector<EntryIndex> direct_;
    KeyIndex exact_;
    std::vector<PrefixLevel> levels_;  // longest first
    std::vector<EntryIndex> tcam_;   // highest priority first

    Index<Action> default_action_;
    std::pair<Place, Place> default_goes_{kNowhere, 0};
    std::vector<std::uint64_t> default_params_;
};

}  // namespace railyard
