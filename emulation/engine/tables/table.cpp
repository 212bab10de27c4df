// SPDX-License-Identifier: Apache-2.0
#include "tables/table.h"

#include <algorithm>
#include <array>
#include <utility>

namespace railyard::tables {

namespace {

std::vector<std::uint64_t> prefix_mask(unsigned bits, int prefix) {
    std::vector<std::uint64_t> mask(load::limbs(bits), 0);
    for (unsigned bit = bits - static_cast<unsigned>(prefix); bit < bits; ++bit)
        mask[bit / 64] |= 1ULL << (bit % 64);
    return mask;
}

}  // namespace

Table::Table(const TableLayout& layout, std::shared_ptr<TableContent>& content, Profile* profile)
    : layout_(layout), content_(content), program_(layout.program), spec_(layout.spec), profile_(profile) {
    // As in BMv2, an initial entry that is refused, such as a second equal one, is left out.
    for (const EntrySpec& entry : spec_.entries) static_cast<void>(insert(entry));
}

TableContent& Table::own() {
    changed_ = true;
    if (content_.use_count() > 1) content_ = std::make_shared<TableContent>(*content_);
    ASSERT(content_.use_count() == 1);
    content_->unpack();
    return *content_;
}

void Table::share(SharedContents& contents) {
    if (!std::exchange(changed_, false)) return;
    content_ = contents.share(content_);
}

// Add `by` to the number of users of the entry's member or group.
void Table::count_users(EntryIndex entry, int by) {
    if (profile_ != nullptr)
        profile_->count_users(targets_[entry.at()],
                              static_cast<std::int64_t>(content_->row_of(entry)[layout_.parameters_at]), by);
}

bool Table::valid(const EntrySpec& entry) const {
    if (profile_ != nullptr)
        return (entry.target == Target::Member ||
                (entry.target == Target::Group && profile_->spec().selector)) &&
               entry.parameters.size() == 1 &&
               profile_->exists(entry.target, static_cast<std::int64_t>(entry.parameters[0]));
    if (entry.target != Target::Action) return false;
    if (std::find(spec_.actions.begin(), spec_.actions.end(), entry.action) == spec_.actions.end())
        return false;
    return entry.parameters.size() == program_.actions[entry.action].parameter_limbs;
}

// Write the canonical limbs of a match: unmatched bits of `key` are 0; `extra` has masks, or high ends of
// ranges. Return false if a value does not fit its field.
bool Table::pack(const std::vector<MatchValue>& match, std::uint64_t* key, std::uint64_t* extra) const {
    if (match.size() != spec_.keys.size()) return false;
    std::size_t at = 0;
    for (std::size_t i = 0; i < match.size(); ++i) {
        const load::Key& k = spec_.keys[i];
        const MatchValue& m = match[i];
        const unsigned n = load::limbs(k.bits);
        if (m.prefix < 0 || m.prefix > static_cast<int>(k.bits)) return false;
        // Bits below `from` are not matched.
        const unsigned from = k.kind == load::MatchKind::Lpm ? k.bits - static_cast<unsigned>(m.prefix)
                              : k.kind == load::MatchKind::Optional && m.prefix == 0 ? k.bits
                                                                                     : 0;
        for (unsigned limb = 0; limb < n; ++limb) {
            const std::uint64_t top = limb + 1 == n ? load::low_mask(k.bits - 64 * limb) : ~0ULL;
            const std::uint64_t v = limb < m.value.size() ? m.value[limb] : 0;
            const std::uint64_t e = limb < m.extra.size() ? m.extra[limb] : 0;
            if ((v & ~top) != 0 || (e & ~top) != 0) return false;
            const bool own_extra = k.kind == load::MatchKind::Ternary || k.kind == load::MatchKind::Range;
            const unsigned below = from <= 64 * limb ? 0 : std::min(64u, from - 64 * limb);
            extra[at] = own_extra ? e : top & ~load::low_mask(below);
            key[at] = k.kind == load::MatchKind::Range ? v : v & extra[at];
            ++at;
        }
    }
    return true;
}

EntryIndex Table::find(const std::vector<MatchValue>& match, EntryPriority priority) const {
    std::array<std::uint64_t, load::kMaxKeyLimbs> key, extra;
    if (layout_.shape == Shape::Keyless || !pack(match, key.data(), extra.data())) return {};
    return find(match, key.data(), extra.data(), priority);
}

EntryIndex Table::find(const std::vector<MatchValue>& match, const std::uint64_t* key,
                       const std::uint64_t* extra, EntryPriority priority) const {
    const TableContent& content = *content_;
    const std::size_t width = layout_.key.size();
    switch (layout_.shape) {
        case Shape::Direct: return content.direct[content.direct_index(key)];
        case Shape::Exact: return content.exact.find(key, content.keys());
        case Shape::Lpm:
            for (const PrefixLevel& l : content.levels)
                if (l.prefix == match[layout_.lpm_key].prefix) return l.index.find(key, content.keys());
            return {};
        default: break;
    }
    for (const EntryIndex entry : content.tcam) {
        const auto at = entry.at() * width;
        if (priorities_[entry.at()] == priority && std::equal(key, key + width, content.key_of(entry)) &&
            std::equal(extra, extra + width, content.extras.begin() + static_cast<std::ptrdiff_t>(at)))
            return entry;
    }
    return {};
}

Table::PrefixLevel& Table::level(int prefix) {
    auto& levels = own().levels;
    auto at =
        std::find_if(levels.begin(), levels.end(), [&](const PrefixLevel& l) { return l.prefix <= prefix; });
    if (at == levels.end() || at->prefix != prefix) {
        const unsigned bits = spec_.keys[layout_.lpm_key].bits;
        at = levels.insert(at, PrefixLevel{prefix, prefix_mask(bits, prefix), KeyIndex(layout_.key.size())});
    }
    return *at;
}

void Table::link(EntryIndex entry) {
    const std::size_t e = entry.at();
    TableContent& content = own();
    const std::uint64_t* const key = content.key_of(entry);
    switch (layout_.shape) {
        case Shape::Direct: content.direct[content.direct_index(key)] = entry; break;
        case Shape::Exact: content.exact.insert(entry, key); break;
        case Shape::Lpm: level(prefixes_[e]).index.insert(entry, key); break;
        case Shape::Tcam: {
            auto at = std::find_if(content.tcam.begin(), content.tcam.end(), [&](EntryIndex other) {
                return priorities_[other.at()] < priorities_[e];
            });
            content.tcam.insert(at, entry);
            ASSERT(content.tcam.size() == content.live + 1);
            break;
        }
        case Shape::Keyless: break;
    }
}

void Table::unlink(EntryIndex entry) {
    const std::size_t e = entry.at();
    TableContent& content = own();
    const std::uint64_t* const key = content.key_of(entry);
    switch (layout_.shape) {
        case Shape::Direct: content.direct[content.direct_index(key)] = {}; break;
        case Shape::Exact: content.exact.erase(entry, key); break;
        case Shape::Lpm: {
            PrefixLevel& l = level(prefixes_[e]);
            l.index.erase(entry, key);
            if (l.index.size() == 0)
                content.levels.erase(content.levels.begin() + (&l - content.levels.data()));
            break;
        }
        case Shape::Tcam: std::erase(content.tcam, entry); break;
        case Shape::Keyless: break;
    }
}

void Table::store(EntryIndex entry, const EntrySpec& spec) {
    const std::size_t e = entry.at();
    resolved_.clear();
    targets_[e] = spec.target;
    actions_[e] = spec.action;
    const auto& actions = spec_.actions;
    const auto action =
        profile_ != nullptr ? actions.end() : std::find(actions.begin(), actions.end(), spec.action);
    std::uint64_t* const row = own().row_of(entry);
    row[0] = static_cast<std::uint64_t>(action - actions.begin());
    std::uint64_t* const params = row + layout_.parameters_at;
    std::fill(params, params + spec_.parameter_limbs, 0);
    std::copy(spec.parameters.begin(), spec.parameters.end(), params);
}

Status Table::insert(const EntrySpec& entry) {
    std::array<std::uint64_t, load::kMaxKeyLimbs> key, extra;
    if (layout_.shape == Shape::Keyless || !valid(entry) || !pack(entry.match, key.data(), extra.data()))
        return Status::Invalid;
    if (find(entry.match, key.data(), extra.data(), entry.priority)) return Status::AlreadyExists;
    if (content_->live >= spec_.size) return Status::Exhausted;
    TableContent& content = own();
    const std::size_t width = layout_.key.size();
    EntryIndex at;
    if (!free_.empty()) {
        at = free_.back();
        free_.pop_back();
        ASSERT(!used_[at.at()]);
    } else {
        at = EntryIndex(actions_.size());
        content.rows.resize(content.rows.size() + layout_.stride);
        if (layout_.shape == Shape::Tcam) content.extras.resize(content.extras.size() + width);
        prefixes_.push_back(0);
        priorities_.emplace_back();
        used_.push_back(false);
        targets_.push_back(Target::Action);
        actions_.emplace_back();
        if (spec_.meter) meters_.emplace_back();
        if (spec_.ageing) ages_.emplace_back();
        counts_.emplace_back();
    }
    const std::size_t e = at.at();
    ASSERT(content.rows.size() == actions_.size() * layout_.stride && used_.size() == actions_.size());
    std::copy_n(key.begin(), width, content.row_of(at) + 1);
    if (layout_.shape == Shape::Tcam)
        std::copy_n(extra.begin(), width, content.extras.begin() + static_cast<std::ptrdiff_t>(e * width));
    prefixes_[e] = layout_.lpm_key != SIZE_MAX ? entry.match[layout_.lpm_key].prefix : 0;
    priorities_[e] = entry.priority;
    counts_[e] = {};
    if (!meters_.empty()) meters_[e] = {};
    if (!ages_.empty()) ages_[e] = {};
    used_[e] = true;
    store(at, entry);
    count_users(at, 1);
    link(at);
    ++content.live;
    ASSERT(content.live + free_.size() == actions_.size() && find(entry.match, entry.priority) == at);
    return Status::Ok;
}

Status Table::modify(const EntrySpec& entry) {
    if (!valid(entry)) return Status::Invalid;
    const EntryIndex at = find(entry.match, entry.priority);
    if (!at) return Status::NotFound;
    count_users(at, -1);
    store(at, entry);
    count_users(at, 1);
    return Status::Ok;
}

Status Table::erase(const std::vector<MatchValue>& match, EntryPriority priority) {
    const EntryIndex at = find(match, priority);
    if (!at) return Status::NotFound;
    ASSERT(used_[at.at()] && content_->live > 0);
    unlink(at);
    count_users(at, -1);
    used_[at.at()] = false;
    free_.push_back(at);
    --own().live;
    return Status::Ok;
}

Status Table::set_default(Index<load::Action> action, const std::vector<std::uint64_t>& parameters) {
    EntrySpec entry;
    entry.action = action;
    entry.parameters = parameters;
    if (profile_ != nullptr || !valid(entry)) return Status::Invalid;
    if (spec_.const_default) return Status::Constant;
    own().set_default(action, parameters);
    return Status::Ok;
}

void Table::reset_default() { own().set_default(spec_.default_action, spec_.default_parameters); }

}  // namespace railyard::tables
