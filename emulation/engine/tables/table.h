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
#include "tables/status.h"

namespace railyard {

using Time = std::int64_t;  // picoseconds

// What an entry, or the default, leads to. code kNowhere: no action.
struct LookupResult {
    Place code, next;
    const std::uint64_t* parameters;
    unsigned limbs;  // of parameters
    int entry;       // kNone on a miss
};

class Table {
   public:
    // profile: where its entries' members are; null for a table with actions of its own.
    Table(const Program& program, const TableSpec& spec, Profile* profile);

    LookupResult lookup(const std::uint64_t* slots) const;
    // Of a table with a profile: what the entry found points to. hash: computed when a group must choose.
    template <typename Hash>
    void resolve(LookupResult& found, const Hash& hash) const {
        if (found.entry == kNone) return;  // the default has an action of its own
        const auto kind = actions_[static_cast<std::size_t>(found.entry)];
        const auto id = static_cast<std::int64_t>(*found.parameters);
        const Profile::Member* m = kind == kMember ? profile_->member(id) : profile_->choose(id, hash());
        if (m == nullptr) {
            found.code = kNowhere;
            return;
        }
        found.code = program_.actions[static_cast<std::size_t>(m->action)].code;
        found.parameters = m->parameters.data();
        found.limbs = static_cast<unsigned>(m->parameters.size());
        found.next = next(m->action, true);
    }

    Status insert(const EntrySpec& entry);
    Status modify(const EntrySpec& entry);
    Status erase(const std::vector<MatchValue>& match, int priority);
    Status set_default(int action, const std::vector<std::uint64_t>& parameters);
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
    bool count(int entry, std::uint64_t bytes, Time now) {
        const auto at = static_cast<std::size_t>(entry);
        packets_[at] += 1;
        bytes_[at] += bytes;
        if (!spec_.ageing) return false;
        const Time aged = ages_[at].hit + ages_[at].ttl;
        ages_[at].hit = now;
        ages_[at].reported = false;
        return ages_[at].ttl > 0 && aged <= now;
    }
    Meter* meter(int entry) { return meters_.empty() ? nullptr : &meters_[static_cast<std::size_t>(entry)]; }
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
    int find(const std::vector<MatchValue>& match, int priority) const;
    Place next(int action, bool hit) const;
    void point(int entry, int by);
    int match_tcam(const std::uint64_t* key) const;
    void gather(const std::uint64_t* slots, std::uint64_t* key) const;
    std::size_t direct_index(const std::uint64_t* key) const;
    void store(int entry, const EntrySpec& spec);
    void link(int entry);
    void unlink(int entry);
    EntrySpec read(int entry) const;
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
    int lpm_key_ = kNone;
    std::size_t lpm_limb_ = 0;

    std::size_t live_ = 0;
    std::vector<std::uint64_t> keys_, extras_, params_, packets_, bytes_;
    std::vector<std::int32_t> prefixes_, priorities_, actions_;
    std::vector<std::pair<Place, Place>> goes_;  // code and what comes after it
    std::vector<Meter> meters_;
    std::vector<Age> ages_;
    std::vector<std::int32_t> free_;

    std::vector<std::int32_t> direct_;
    KeyIndex exact_;
    std::vector<PrefixLevel> levels_;  // longest first
    std::vector<std::int32_t> tcam_;   // highest priority first

    int default_action_ = kNone;
    std::pair<Place, Place> default_goes_{kNowhere, 0};
    std::vector<std::uint64_t> default_params_;
};

}  // namespace railyard
