// SPDX-License-Identifier: Apache-2.0
// Match-action table for the control plane: entries, and their counters, meters and ages.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "load/program/program.h"
#include "tables/content.h"
#include "tables/counter.h"
#include "tables/meter.h"
#include "tables/profile.h"
#include "units.h"

namespace railyard::tables {

class Table {
   public:
    // content: a content without entries; other tables may share it, so the table copies it before a change.
    // profile: action profile of the table; null for a table whose entries have actions.
    Table(const TableLayout& layout, std::shared_ptr<TableContent>& content, Profile* profile);

    // If the content has changed, pack it for lookups, and share it with equal tables of other switches.
    void share(SharedContents& contents);
    // Replace a hit's reference to a member or group by the member's action and parameters. `chosen` is
    // memory for the continuation; hash() is called only for a group. If there is no member, the result has
    // no action.
    template <typename Hash>
    void resolve(LookupResult& result, Continuation& chosen, const Hash& hash);

    // Result of a lookup in the terms of the control plane. No entry: the default action runs.
    struct Choice {
        std::optional<EntrySpec> entry;
        Index<load::Action>
            action;  // action that runs, of the entry or of its action profile member; none: no action
        std::vector<std::uint64_t> parameters;
        Count count;  // the entry's counter before this frame
    };
    template <typename Hash>
    Choice explain(const std::uint64_t* slots, const Hash& hash) const;

    Status insert(const EntrySpec& entry);
    Status modify(const EntrySpec& entry);
    Status erase(const std::vector<MatchValue>& match, EntryPriority priority);
    Status set_default(Index<load::Action> action, const std::vector<std::uint64_t>& parameters);
    void reset_default();

    [[nodiscard]] std::optional<EntrySpec> get(const std::vector<MatchValue>& match,
                                               EntryPriority priority) const;
    [[nodiscard]] std::vector<EntrySpec> entries() const;
    [[nodiscard]] EntrySpec default_entry() const;
    [[nodiscard]] std::size_t size() const { return content_->live; }
    [[nodiscard]] const load::TableSpec& spec() const { return spec_; }
    // True if entries may not change. Tables with initial entries are constant unless the p4info says
    // otherwise.
    [[nodiscard]] bool constant() const { return constant_; }
    void set_constant(bool constant) { constant_ = constant; }

    // Count a hit, and restart the entry's age; return true if the entry had aged.
    bool count(EntryIndex entry, CountedBytes bytes, Time now) {
        const std::size_t at = entry.at();
        ASSERT(used_[at]);
        if (spec_.counted) {
            counts_[at].packets += 1;
            counts_[at].bytes += bytes;
        }
        if (!spec_.ageing) return false;
        const Time aged = ages_[at].hit + ages_[at].ttl;
        ages_[at].hit = now;
        ages_[at].reported = false;
        return ages_[at].ttl > Time() && aged <= now;
    }
    Meter* meter(EntryIndex entry) { return meters_.empty() ? nullptr : &meters_[entry.at()]; }
    [[nodiscard]] Count counters(const std::vector<MatchValue>& match, EntryPriority priority) const;
    Status set_counters(const std::vector<MatchValue>& match, EntryPriority priority, Count count);
    Status set_meter(const std::vector<MatchValue>& match, EntryPriority priority,
                     const std::optional<MeterConfig>& config, Time now);
    [[nodiscard]] std::optional<MeterConfig> meter_config(const std::vector<MatchValue>& match,
                                                          EntryPriority priority) const;

    // Set the idle timeout of an entry. 0, or more than half of the largest Time: the entry never ages.
    Status set_ttl(const std::vector<MatchValue>& match, EntryPriority priority, Time ttl, Time now);
    [[nodiscard]] Time idle(const std::vector<MatchValue>& match, EntryPriority priority,
                            Time now) const;  // time since the last hit
    [[nodiscard]] Time next_ageing() const;   // earliest time at which an entry ages; kUnset: none
    [[nodiscard]] bool due(Time now) const;   // true if an aged entry has not been reported
    std::vector<EntrySpec> aged(Time now);    // reports aged entries, each once until its next hit

   private:
    using Shape = TableLayout::Shape;
    using PrefixLevel = TableContent::PrefixLevel;

    // Return the content for a change: a copy if it was shared.
    TableContent& own();
    [[nodiscard]] bool valid(const EntrySpec& entry) const;
    [[nodiscard]] bool pack(const std::vector<MatchValue>& match, std::uint64_t* key,
                            std::uint64_t* extra) const;
    [[nodiscard]] EntryIndex find(const std::vector<MatchValue>& match, EntryPriority priority) const;
    // Find an entry; key, extra: the match in the form of pack().
    [[nodiscard]] EntryIndex find(const std::vector<MatchValue>& match, const std::uint64_t* key,
                                  const std::uint64_t* extra, EntryPriority priority) const;
    void count_users(EntryIndex entry, int by);
    void store(EntryIndex entry, const EntrySpec& spec);
    void link(EntryIndex entry);
    void unlink(EntryIndex entry);
    [[nodiscard]] EntrySpec read(EntryIndex entry) const;
    PrefixLevel& level(int prefix);

    struct Age {
        Time ttl{}, hit{};
        bool reported = false;
    };

    const TableLayout& layout_;
    // In SwitchState::contents, a list that is prefetched as a whole.
    std::shared_ptr<TableContent>& content_;
    bool changed_ = false;  // since the last call of share()

    const load::Program& program_;
    const load::TableSpec& spec_;
    Profile* profile_;
    // Targets of the entries in the profile; filled by lookups, emptied by changes of the table.
    std::vector<Profile::Reference> resolved_;
    std::uint64_t resolved_at_ = 0;  // Profile::changes() when `resolved_` was emptied last
    bool constant_ = spec_.const_entries;

    std::vector<Count> counts_;
    std::vector<std::int32_t> prefixes_;
    std::vector<EntryPriority> priorities_;
    std::vector<bool> used_;  // false: in free_
    std::vector<Target> targets_;
    std::vector<Index<load::Action>> actions_;
    std::vector<Meter> meters_;
    std::vector<Age> ages_;
    std::vector<EntryIndex> free_;
};

template <typename Hash>
Table::Choice Table::explain(const std::uint64_t* slots, const Hash& hash) const {
    const LookupResult result = content_->lookup(slots);
    if (!result.entry) return {{}, content_->default_action, content_->default_parameters, {}};
    const std::size_t at = result.entry.at();
    Choice out{read(result.entry), {}, {}, counts_[at]};
    if (profile_ == nullptr) {
        out.action = out.entry->action;
        out.parameters = out.entry->parameters;
        return out;
    }
    const auto id = static_cast<std::int64_t>(*result.parameters);
    const Profile::Member* const m = profile_->refer(targets_[at], id).pick(hash);
    if (m == nullptr) return out;
    out.action = m->action;
    out.parameters = m->parameters;
    return out;
}

template <typename Hash>
void Table::resolve(LookupResult& result, Continuation& chosen, const Hash& hash) {
    const std::size_t at = result.entry.at();
    if (at >= resolved_.size() || resolved_at_ != profile_->changes()) [[unlikely]] {
        resolved_.assign(targets_.size(), {});
        resolved_at_ = profile_->changes();
    }
    Profile::Reference& to = resolved_[at];
    if (!to.known) [[unlikely]]
        to = profile_->refer(targets_[at], static_cast<std::int64_t>(*result.parameters));
    const Profile::Member* const m = to.pick(hash);
    if (m == nullptr) return;  // no action
    chosen = layout_.continuation(m->action, true);
    result = {&chosen, m->parameters.data(), result.entry};
}

}  // namespace railyard::tables
