// SPDX-License-Identifier: Apache-2.0
// Reading of table entries, and their counters, meters and ages.
#include <algorithm>
#include <limits>

#include "tables/table.h"

namespace railyard::tables {

namespace {

constexpr Time kLongest =
    std::numeric_limits<Time>::max() / 2;  // longest ttl: its sum with the time of a hit does not overflow

}  // namespace

EntrySpec Table::default_entry() const {
    EntrySpec entry;
    entry.action = content_->default_action;
    entry.parameters = content_->default_parameters;
    return entry;
}

EntrySpec Table::read(EntryIndex entry) const {
    const std::size_t e = entry.at();
    EntrySpec spec;
    spec.priority = priorities_[e];
    spec.target = targets_[e];
    spec.action = actions_[e];
    const TableContent& content = *content_;
    const std::uint64_t* const params = content.row_of(entry) + layout_.parameters_at;
    const std::uint64_t* const key = content.key_of(entry);
    spec.parameters.assign(
        params, params + (profile_ != nullptr ? 1 : program_.actions[spec.action].parameter_limbs));
    std::size_t at = 0;
    for (const load::Key& k : spec_.keys) {
        MatchValue m;
        const auto n = static_cast<std::ptrdiff_t>(load::limbs(k.bits));
        m.value.assign(key + at, key + at + n);
        if (layout_.shape == Shape::Tcam) {
            const std::uint64_t* const extra = content.extras.data() + e * layout_.key.size() + at;
            m.extra.assign(extra, extra + n);
        }
        if (k.kind == load::MatchKind::Lpm) m.prefix = prefixes_[e];
        if (k.kind == load::MatchKind::Optional)
            m.prefix = std::any_of(m.extra.begin(), m.extra.end(), [](auto v) { return v != 0; });
        at += static_cast<std::size_t>(n);
        spec.match.push_back(std::move(m));
    }
    return spec;
}

std::optional<EntrySpec> Table::get(const std::vector<MatchValue>& match, EntryPriority priority) const {
    const EntryIndex at = find(match, priority);
    return at ? std::optional(read(at)) : std::nullopt;
}

Count Table::counters(const std::vector<MatchValue>& match, EntryPriority priority) const {
    const EntryIndex at = find(match, priority);
    return at ? counts_[at.at()] : Count{};
}

Status Table::set_counters(const std::vector<MatchValue>& match, EntryPriority priority, Count count) {
    const EntryIndex at = find(match, priority);
    if (!at) return Status::NotFound;
    if (!spec_.counted) return Status::Invalid;
    counts_[at.at()] = count;
    return Status::Ok;
}

Status Table::set_meter(const std::vector<MatchValue>& match, EntryPriority priority,
                        const std::optional<MeterConfig>& config, Time now) {
    const EntryIndex at = find(match, priority);
    if (!at) return Status::NotFound;
    if (meters_.empty()) return Status::Invalid;
    meters_[at.at()].configure(config, now);
    return Status::Ok;
}

std::optional<MeterConfig> Table::meter_config(const std::vector<MatchValue>& match,
                                               EntryPriority priority) const {
    const EntryIndex at = find(match, priority);
    return !at || meters_.empty() ? std::nullopt : meters_[at.at()].config();
}

Status Table::set_ttl(const std::vector<MatchValue>& match, EntryPriority priority, Time ttl, Time now) {
    const EntryIndex at = find(match, priority);
    if (!at) return Status::NotFound;
    if (!spec_.ageing || ttl < Time()) return Status::Invalid;
    ages_[at.at()] = {ttl > kLongest ? Time() : ttl, now, false};
    return Status::Ok;
}

Time Table::idle(const std::vector<MatchValue>& match, EntryPriority priority, Time now) const {
    const EntryIndex at = find(match, priority);
    return !at || !spec_.ageing ? Time() : now - ages_[at.at()].hit;
}

Time Table::next_ageing() const {
    Time soonest = kUnset;
    for (std::size_t e = 0; e < ages_.size(); ++e)
        if (used_[e] && ages_[e].ttl > Time() && !ages_[e].reported &&
            (soonest < Time() || ages_[e].hit + ages_[e].ttl < soonest))
            soonest = ages_[e].hit + ages_[e].ttl;
    return soonest;
}

bool Table::due(Time now) const {
    const Time soonest = next_ageing();
    return soonest >= Time() && soonest <= now;
}

std::vector<EntrySpec> Table::aged(Time now) {
    std::vector<EntrySpec> out;
    for (std::size_t e = 0; e < ages_.size(); ++e) {
        if (!used_[e] || ages_[e].ttl == Time() || ages_[e].reported || ages_[e].hit + ages_[e].ttl > now)
            continue;
        ages_[e].reported = true;
        out.push_back(read(EntryIndex(e)));
    }
    return out;
}

std::vector<EntrySpec> Table::entries() const {
    std::vector<EntrySpec> all;
    all.reserve(size());
    for (std::size_t e = 0; e < actions_.size(); ++e)
        if (used_[e]) all.push_back(read(EntryIndex(e)));
    return all;
}

}  // namespace railyard::tables
