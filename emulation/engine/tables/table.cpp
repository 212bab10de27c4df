// SPDX-License-Identifier: Apache-2.0
#include "tables/table.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace railyard {

namespace {

// Keys of up to this many bits index an array instead of a hash.
constexpr unsigned kDirectBits = 12;

std::vector<std::uint64_t> prefix_mask(unsigned bits, int prefix) {
    std::vector<std::uint64_t> mask(limbs(bits), 0);
    for (unsigned bit = bits - static_cast<unsigned>(prefix); bit < bits; ++bit)
        mask[bit / 64] |= 1ULL << (bit % 64);
    return mask;
}

}  // namespace

TableLayout::TableLayout(const Program& of, const TableSpec& given) : program(of), spec(given) {
    for (const Key& part : spec.keys)
        for (unsigned k = 0; k < limbs(part.bits); ++k) {
            const unsigned n = std::min(64u, part.bits - 64 * k);
            key.push_back(
                {static_cast<Slot>(part.slot + k), n, part.mask.empty() ? low_mask(n) : part.mask[k]});
        }
    for (const Index<Action> action : spec.actions) then.push_back(continuation(action, true));
    then.push_back(continuation({}, true));
}

Continuation TableLayout::continuation(Index<Action> action, bool hit) const {
    Continuation after;
    after.next = spec.next_default;
    const auto at = std::find(spec.actions.begin(), spec.actions.end(), action);
    if (spec.by_hit) after.next = hit ? spec.next_hit : spec.next_miss;
    else if (at != spec.actions.end())
        after.next = spec.next_by_action[static_cast<std::size_t>(at - spec.actions.begin())];
    if (action) {
        const Action& a = program.actions[action];
        after.action = a.code;
        after.targets = a.targets.data();
        after.limbs = a.parameter_limbs;
    }
    return after;
}

Table::Table(const TableLayout& layout, Profile* profile)
    : layout_(layout), program_(layout.program), spec_(layout.spec), profile_(profile), exact_(0) {
    const TableSpec& spec = spec_;
    unsigned bits = 0;
    bool tcam = false;
    for (std::size_t i = 0; i < spec.keys.size(); ++i) {
        const Key& key = spec.keys[i];
        if (key.kind == MatchKind::Lpm) {
            lpm_key_ = i;
            lpm_limb_ = key_limbs_;
        } else if (key.kind != MatchKind::Exact) {
            tcam = true;
        }
        bits += key.bits;
        key_limbs_ += limbs(key.bits);
    }
    instrumented_ = profile != nullptr || spec.counted || spec.ageing || bool(spec.meter);
    exact_ = KeyIndex(key_limbs_);
    parameters_at_ = static_cast<std::uint32_t>(1 + key_limbs_);
    stride_ = parameters_at_ + spec.parameter_limbs;
    if (spec.keys.empty()) {
        shape_ = Shape::Keyless;
    } else if (tcam) {
        shape_ = Shape::Tcam;
    } else if (lpm_key_) {
        shape_ = Shape::Lpm;
    } else if (bits <= kDirectBits) {
        shape_ = Shape::Direct;
        direct_.assign(1ULL << bits, {});
    } else {
        shape_ = Shape::Exact;
    }
    reset_default();
    for (const EntrySpec& entry : spec.entries) insert(entry);
}

std::size_t Table::direct_index(const std::uint64_t* key) const {
    std::uint64_t index = 0;
    for (std::size_t i = 0; i < key_limbs_; ++i) index = (index << layout_.key[i].bits) | key[i];
    return static_cast<std::size_t>(index);
}

EntryIndex Table::match_tcam(const std::uint64_t* key) const {
    for (const EntryIndex entry : tcam_) {
        const std::uint64_t* value = key_of(entry);
        const std::uint64_t* extra = &extras_[entry.at() * key_limbs_];
        std::size_t at = 0;
        bool hit = true;
        for (const Key& k : spec_.keys) {
            const unsigned n = limbs(k.bits);
            if (k.kind == MatchKind::Range) {
                // The most significant limb that differs decides.
                int low = 0, high = 0;
                for (unsigned i = n; i-- > 0;) {
                    if (low == 0) low = key[at + i] < value[at + i] ? -1 : key[at + i] > value[at + i];
                    if (high == 0) high = key[at + i] < extra[at + i] ? -1 : key[at + i] > extra[at + i];
                }
                hit = low >= 0 && high <= 0;
            } else {
                for (unsigned i = 0; i < n && hit; ++i)
                    hit = ((key[at + i] ^ value[at + i]) & extra[at + i]) == 0;
            }
            if (!hit) break;
            at += n;
        }
        if (hit) return entry;
    }
    return {};
}

EntryIndex Table::match_prefix(const std::uint64_t* key) const {
    std::array<std::uint64_t, kMaxKeyLimbs> prefix;
    std::copy_n(key, key_limbs_, prefix.begin());
    for (const PrefixLevel& level : levels_) {
        for (std::size_t i = 0; i < level.mask.size(); ++i)
            prefix[lpm_limb_ + i] = key[lpm_limb_ + i] & level.mask[i];
        if (const EntryIndex entry = level.index.find(prefix.data(), keys())) return entry;
    }
    return {};
}

EntryIndex Table::search(const std::uint64_t* slots) const {
    std::array<std::uint64_t, kMaxKeyLimbs> key;
    for (std::size_t i = 0; i < key_limbs_; ++i) key[i] = slots[layout_.key[i].slot] & layout_.key[i].mask;
    switch (shape_) {
        case Shape::Exact: return exact_.find(key.data(), keys());
        case Shape::Lpm: return match_prefix(key.data());
        case Shape::Tcam: return match_tcam(key.data());
        default: return {};
    }
}

// Adjust the number of users of the entry's member or group.
void Table::count_users(EntryIndex entry, int by) {
    if (profile_ != nullptr)
        profile_->count_users(targets_[entry.at()], static_cast<std::int64_t>(row_of(entry)[parameters_at_]),
                              by);
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

// Write the canonical limbs of a key; false if a value does not fit its field.
bool Table::pack(const std::vector<MatchValue>& match, std::uint64_t* key, std::uint64_t* extra) const {
    if (match.size() != spec_.keys.size()) return false;
    std::size_t at = 0;
    for (std::size_t i = 0; i < match.size(); ++i) {
        const Key& k = spec_.keys[i];
        const MatchValue& m = match[i];
        const unsigned n = limbs(k.bits);
        if (m.prefix < 0 || m.prefix > static_cast<int>(k.bits)) return false;
        // Bits below this one do not count.
        const unsigned from = k.kind == MatchKind::Lpm ? k.bits - static_cast<unsigned>(m.prefix)
                              : k.kind == MatchKind::Optional && m.prefix == 0 ? k.bits
                                                                               : 0;
        for (unsigned limb = 0; limb < n; ++limb) {
            const std::uint64_t top = limb + 1 == n ? low_mask(k.bits - 64 * limb) : ~0ULL;
            const std::uint64_t v = limb < m.value.size() ? m.value[limb] : 0;
            const std::uint64_t e = limb < m.extra.size() ? m.extra[limb] : 0;
            if ((v & ~top) != 0 || (e & ~top) != 0) return false;
            const bool own_extra = k.kind == MatchKind::Ternary || k.kind == MatchKind::Range;
            const unsigned below = from <= 64 * limb ? 0 : std::min(64u, from - 64 * limb);
            extra[at] = own_extra ? e : top & ~low_mask(below);
            key[at] = k.kind == MatchKind::Range ? v : v & extra[at];
            ++at;
        }
    }
    return true;
}

EntryIndex Table::find(const std::vector<MatchValue>& match, int priority) const {
    std::array<std::uint64_t, kMaxKeyLimbs> key, extra;
    if (shape_ == Shape::Keyless || !pack(match, key.data(), extra.data())) return {};
    return find(match, key.data(), extra.data(), priority);
}

EntryIndex Table::find(const std::vector<MatchValue>& match, const std::uint64_t* key,
                       const std::uint64_t* extra, int priority) const {
    switch (shape_) {
        case Shape::Direct: return direct_[direct_index(key)];
        case Shape::Exact: return exact_.find(key, keys());
        case Shape::Lpm:
            for (const PrefixLevel& l : levels_)
                if (l.prefix == match[*lpm_key_].prefix) return l.index.find(key, keys());
            return {};
        default: break;
    }
    for (const EntryIndex entry : tcam_) {
        const auto at = entry.at() * key_limbs_;
        if (priorities_[entry.at()] == priority && std::equal(key, key + key_limbs_, key_of(entry)) &&
            std::equal(extra, extra + key_limbs_, extras_.begin() + static_cast<std::ptrdiff_t>(at)))
            return entry;
    }
    return {};
}

Table::PrefixLevel& Table::level(int prefix) {
    auto at = std::find_if(levels_.begin(), levels_.end(),
                           [&](const PrefixLevel& l) { return l.prefix <= prefix; });
    if (at == levels_.end() || at->prefix != prefix) {
        const unsigned bits = spec_.keys[*lpm_key_].bits;
        at = levels_.insert(at, PrefixLevel{prefix, prefix_mask(bits, prefix), KeyIndex(key_limbs_)});
    }
    return *at;
}

void Table::link(EntryIndex entry) {
    const std::size_t e = entry.at();
    const std::uint64_t* const key = key_of(entry);
    switch (shape_) {
        case Shape::Direct: direct_[direct_index(key)] = entry; break;
        case Shape::Exact: exact_.insert(entry, key); break;
        case Shape::Lpm: level(prefixes_[e]).index.insert(entry, key); break;
        case Shape::Tcam: {
            auto at = std::find_if(tcam_.begin(), tcam_.end(), [&](EntryIndex other) {
                return priorities_[other.at()] < priorities_[e];
            });
            tcam_.insert(at, entry);
            break;
        }
        case Shape::Keyless: break;
    }
}

void Table::unlink(EntryIndex entry) {
    const std::size_t e = entry.at();
    const std::uint64_t* const key = key_of(entry);
    switch (shape_) {
        case Shape::Direct: direct_[direct_index(key)] = {}; break;
        case Shape::Exact: exact_.erase(entry, key); break;
        case Shape::Lpm: {
            PrefixLevel& l = level(prefixes_[e]);
            l.index.erase(entry, key);
            if (l.index.size() == 0) levels_.erase(levels_.begin() + (&l - levels_.data()));
            break;
        }
        case Shape::Tcam: tcam_.erase(std::find(tcam_.begin(), tcam_.end(), entry)); break;
        case Shape::Keyless: break;
    }
}

void Table::store(EntryIndex entry, const EntrySpec& spec) {
    const std::size_t e = entry.at();
    targets_[e] = spec.target;
    actions_[e] = spec.action;
    const auto& actions = spec_.actions;
    const auto action =
        profile_ != nullptr ? actions.end() : std::find(actions.begin(), actions.end(), spec.action);
    std::uint64_t* const row = rows_.data() + e * stride_;
    row[0] = static_cast<std::uint64_t>(action - actions.begin());
    std::uint64_t* const params = row + parameters_at_;
    std::fill(params, params + spec_.parameter_limbs, 0);
    std::copy(spec.parameters.begin(), spec.parameters.end(), params);
}

Status Table::insert(const EntrySpec& entry) {
    std::array<std::uint64_t, kMaxKeyLimbs> key, extra;
    if (shape_ == Shape::Keyless || !valid(entry) || !pack(entry.match, key.data(), extra.data()))
        return Status::Invalid;
    if (find(entry.match, key.data(), extra.data(), entry.priority)) return Status::AlreadyExists;
    if (live_ >= spec_.size) return Status::Exhausted;
    EntryIndex at;
    if (!free_.empty()) {
        at = free_.back();
        free_.pop_back();
    } else {
        at = EntryIndex(actions_.size());
        rows_.resize(rows_.size() + stride_);
        if (shape_ == Shape::Tcam) extras_.resize(extras_.size() + key_limbs_);
        prefixes_.push_back(0);
        priorities_.push_back(0);
        used_.push_back(false);
        targets_.push_back(Target::Action);
        actions_.emplace_back();
        if (spec_.meter) meters_.emplace_back();
        if (spec_.ageing) ages_.emplace_back();
        counts_.emplace_back();
    }
    const std::size_t e = at.at();
    std::copy_n(key.begin(), key_limbs_, rows_.begin() + static_cast<std::ptrdiff_t>(e * stride_ + 1));
    if (shape_ == Shape::Tcam)
        std::copy_n(extra.begin(), key_limbs_, extras_.begin() + static_cast<std::ptrdiff_t>(e * key_limbs_));
    prefixes_[e] = lpm_key_ ? entry.match[*lpm_key_].prefix : 0;
    priorities_[e] = entry.priority;
    counts_[e] = {};
    if (!meters_.empty()) meters_[e] = {};
    if (!ages_.empty()) ages_[e] = {};
    used_[e] = true;
    store(at, entry);
    count_users(at, 1);
    link(at);
    ++live_;
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

Status Table::erase(const std::vector<MatchValue>& match, int priority) {
    const EntryIndex at = find(match, priority);
    if (!at) return Status::NotFound;
    unlink(at);
    count_users(at, -1);
    used_[at.at()] = false;
    free_.push_back(at);
    --live_;
    return Status::Ok;
}

Status Table::set_default(Index<Action> action, const std::vector<std::uint64_t>& parameters) {
    EntrySpec entry;
    entry.action = action;
    entry.parameters = parameters;
    if (profile_ != nullptr || !valid(entry)) return Status::Invalid;
    if (spec_.const_default) return Status::Constant;
    default_action_ = action;
    default_params_ = parameters;
    default_then_ = layout_.continuation(action, false);
    return Status::Ok;
}

void Table::reset_default() {
    default_action_ = spec_.default_action;
    default_params_ = spec_.default_parameters;
    default_then_ = layout_.continuation(default_action_, false);
}

}  // namespace railyard
