// SPDX-License-Identifier: Apache-2.0
#include "table.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace railyard {

namespace {

// Keys of up to this many bits index an array instead of a hash.
constexpr unsigned kDirectBits = 12;

bool equal(const std::uint64_t* a, const std::uint64_t* b, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i)
        if (a[i] != b[i]) return false;
    return true;
}

std::vector<std::uint64_t> prefix_mask(unsigned bits, int prefix) {
    std::vector<std::uint64_t> mask(limbs(bits), 0);
    for (unsigned bit = bits - static_cast<unsigned>(prefix); bit < bits; ++bit) mask[bit / 64] |= 1ULL << (bit % 64);
    return mask;
}

}  // namespace

std::size_t KeyIndex::hash(const std::uint64_t* key) const {
    std::uint64_t h = 0x9E3779B97F4A7C15ULL;
    for (std::size_t i = 0; i < limbs_; ++i) {
        h = (h ^ key[i]) * 0xBF58476D1CE4E5B9ULL;
        h ^= h >> 29;
    }
    return static_cast<std::size_t>(h ^ (h >> 32));
}

int KeyIndex::find(const std::uint64_t* key, const std::vector<std::uint64_t>& keys) const {
    if (cells_.empty()) return kNone;
    const std::size_t mask = cells_.size() - 1;
    for (std::size_t at = hash(key) & mask;; at = (at + 1) & mask) {
        const std::int32_t entry = cells_[at];
        if (entry < 0) return kNone;
        if (equal(key, &keys[static_cast<std::size_t>(entry) * limbs_], limbs_)) return entry;
    }
}

void KeyIndex::grow(const std::vector<std::uint64_t>& keys) {
    std::vector<std::int32_t> old(cells_.empty() ? 16 : cells_.size() * 2, -1);
    old.swap(cells_);
    used_ = 0;
    for (const std::int32_t entry : old)
        if (entry >= 0) insert(entry, keys);
}

void KeyIndex::insert(int entry, const std::vector<std::uint64_t>& keys) {
    if ((used_ + 1) * 2 > cells_.size()) grow(keys);
    const std::size_t mask = cells_.size() - 1;
    std::size_t at = hash(&keys[static_cast<std::size_t>(entry) * limbs_]) & mask;
    while (cells_[at] >= 0) at = (at + 1) & mask;
    cells_[at] = entry;
    ++used_;
}

void KeyIndex::erase(int entry, const std::vector<std::uint64_t>& keys) {
    const std::size_t mask = cells_.size() - 1;
    std::size_t at = hash(&keys[static_cast<std::size_t>(entry) * limbs_]) & mask;
    while (cells_[at] != entry) at = (at + 1) & mask;
    // Close the gap, so that probing never needs tombstones.
    for (std::size_t next = (at + 1) & mask; cells_[next] >= 0; next = (next + 1) & mask) {
        const std::size_t home = hash(&keys[static_cast<std::size_t>(cells_[next]) * limbs_]) & mask;
        if (((next - home) & mask) >= ((next - at) & mask)) {
            cells_[at] = cells_[next];
            at = next;
        }
    }
    cells_[at] = -1;
    --used_;
}

Table::Table(const Program& program, const TableSpec& spec) : program_(program), spec_(spec), exact_(0) {
    unsigned bits = 0;
    bool tcam = false;
    for (std::size_t i = 0; i < spec.keys.size(); ++i) {
        const Key& key = spec.keys[i];
        if (key.kind == MatchKind::Lpm) {
            lpm_key_ = static_cast<int>(i);
            lpm_limb_ = key_limbs_;
        } else if (key.kind != MatchKind::Exact) {
            tcam = true;
        }
        bits += key.bits;
        key_limbs_ += limbs(key.bits);
    }
    exact_ = KeyIndex(key_limbs_);
    if (spec.keys.empty()) {
        shape_ = Shape::Keyless;
    } else if (tcam) {
        shape_ = Shape::Tcam;
    } else if (lpm_key_ != kNone) {
        shape_ = Shape::Lpm;
    } else if (bits <= kDirectBits) {
        shape_ = Shape::Direct;
        direct_.assign(1ULL << bits, -1);
    } else {
        shape_ = Shape::Exact;
    }
    reset_default();
    for (const EntrySpec& entry : spec.entries) insert(entry);
}

void Table::gather(const std::uint64_t* slots, std::uint64_t* key) const {
    std::size_t at = 0;
    for (const Key& k : spec_.keys)
        for (unsigned i = 0; i < limbs(k.bits); ++i) key[at++] = slots[k.slot + i];
}

std::size_t Table::direct_index(const std::uint64_t* key) const {
    std::uint64_t index = 0;
    for (std::size_t i = 0; i < spec_.keys.size(); ++i) index = (index << spec_.keys[i].bits) | key[i];
    return static_cast<std::size_t>(index);
}

int Table::match_tcam(const std::uint64_t* key) const {
    for (const std::int32_t entry : tcam_) {
        const std::uint64_t* value = &keys_[static_cast<std::size_t>(entry) * key_limbs_];
        const std::uint64_t* extra = &extras_[static_cast<std::size_t>(entry) * key_limbs_];
        std::size_t at = 0;
        bool hit = true;
        for (const Key& k : spec_.keys) {
            const unsigned n = limbs(k.bits);
            if (k.kind == MatchKind::Range) {
                // From the most significant limb down, the first that differs decides.
                int low = 0, high = 0;
                for (unsigned i = n; i-- > 0;) {
                    if (low == 0) low = key[at + i] < value[at + i] ? -1 : key[at + i] > value[at + i];
                    if (high == 0) high = key[at + i] < extra[at + i] ? -1 : key[at + i] > extra[at + i];
                }
                hit = low >= 0 && high <= 0;
            } else {
                for (unsigned i = 0; i < n && hit; ++i) hit = ((key[at + i] ^ value[at + i]) & extra[at + i]) == 0;
            }
            if (!hit) break;
            at += n;
        }
        if (hit) return entry;
    }
    return kNone;
}

LookupResult Table::lookup(const std::uint64_t* slots) const {
    int entry = kNone;
    if (shape_ != Shape::Keyless && live_ > 0) {
        std::array<std::uint64_t, kMaxKeyLimbs> key;
        gather(slots, key.data());
        switch (shape_) {
            case Shape::Direct: entry = direct_[direct_index(key.data())]; break;
            case Shape::Exact: entry = exact_.find(key.data(), keys_); break;
            case Shape::Tcam: entry = match_tcam(key.data()); break;
            case Shape::Lpm: {
                std::array<std::uint64_t, kMaxKeyLimbs> masked = key;
                for (const PrefixLevel& level : levels_) {
                    for (std::size_t i = 0; i < level.mask.size(); ++i)
                        masked[lpm_limb_ + i] = key[lpm_limb_ + i] & level.mask[i];
                    entry = level.index.find(masked.data(), keys_);
                    if (entry != kNone) break;
                }
                break;
            }
            case Shape::Keyless: break;
        }
    }
    if (entry == kNone) return {default_action_, default_params_.data(), kNone};
    const auto at = static_cast<std::size_t>(entry);
    return {actions_[at], params_.data() + at * spec_.parameter_limbs, entry};
}

bool Table::valid(const EntrySpec& entry) const {
    if (std::find(spec_.actions.begin(), spec_.actions.end(), entry.action) == spec_.actions.end()) return false;
    return entry.parameters.size() == program_.actions[static_cast<std::size_t>(entry.action)].parameter_limbs;
}

// Canonical key limbs; false where a value does not fit its field.
bool Table::pack(const std::vector<MatchValue>& match, std::uint64_t* key, std::uint64_t* extra) const {
    if (match.size() != spec_.keys.size()) return false;
    std::size_t at = 0;
    for (std::size_t i = 0; i < match.size(); ++i) {
        const Key& k = spec_.keys[i];
        const MatchValue& m = match[i];
        const unsigned n = limbs(k.bits);
        if (m.prefix < 0 || m.prefix > static_cast<int>(k.bits)) return false;
        std::vector<std::uint64_t> mask(n, ~0ULL);
        if (k.kind == MatchKind::Lpm) mask = prefix_mask(k.bits, m.prefix);
        if (k.kind == MatchKind::Optional && m.prefix == 0) mask.assign(n, 0);
        for (unsigned limb = 0; limb < n; ++limb) {
            const std::uint64_t top = limb + 1 == n ? low_mask(k.bits - 64 * limb) : ~0ULL;
            const std::uint64_t v = limb < m.value.size() ? m.value[limb] : 0;
            const std::uint64_t e = limb < m.extra.size() ? m.extra[limb] : 0;
            if ((v & ~top) != 0 || (e & ~top) != 0) return false;
            const bool own_extra = k.kind == MatchKind::Ternary || k.kind == MatchKind::Range;
            extra[at] = own_extra ? e : mask[limb] & top;
            key[at] = k.kind == MatchKind::Range ? v : v & extra[at];
            ++at;
        }
    }
    return true;
}

int Table::find(const std::vector<MatchValue>& match, int priority) const {
    std::array<std::uint64_t, kMaxKeyLimbs> key, extra;
    if (shape_ == Shape::Keyless || !pack(match, key.data(), extra.data())) return kNone;
    switch (shape_) {
        case Shape::Direct: return direct_[direct_index(key.data())];
        case Shape::Exact: return exact_.find(key.data(), keys_);
        case Shape::Lpm:
            for (const PrefixLevel& l : levels_)
                if (l.prefix == match[static_cast<std::size_t>(lpm_key_)].prefix) return l.index.find(key.data(), keys_);
            return kNone;
        default: break;
    }
    for (const std::int32_t entry : tcam_) {
        const auto at = static_cast<std::size_t>(entry) * key_limbs_;
        if (priorities_[static_cast<std::size_t>(entry)] == priority && equal(&keys_[at], key.data(), key_limbs_) &&
            equal(&extras_[at], extra.data(), key_limbs_))
            return entry;
    }
    return kNone;
}

Table::PrefixLevel& Table::level(int prefix) {
    auto at = std::find_if(levels_.begin(), levels_.end(), [&](const PrefixLevel& l) { return l.prefix <= prefix; });
    if (at == levels_.end() || at->prefix != prefix) {
        const unsigned bits = spec_.keys[static_cast<std::size_t>(lpm_key_)].bits;
        at = levels_.insert(at, PrefixLevel{prefix, prefix_mask(bits, prefix), KeyIndex(key_limbs_)});
    }
    return *at;
}

void Table::link(int entry) {
    const auto e = static_cast<std::size_t>(entry);
    switch (shape_) {
        case Shape::Direct: direct_[direct_index(&keys_[e * key_limbs_])] = entry; break;
        case Shape::Exact: exact_.insert(entry, keys_); break;
        case Shape::Lpm: level(prefixes_[e]).index.insert(entry, keys_); break;
        case Shape::Tcam: {
            auto at = std::find_if(tcam_.begin(), tcam_.end(), [&](std::int32_t other) {
                return priorities_[static_cast<std::size_t>(other)] < priorities_[e];
            });
            tcam_.insert(at, entry);
            break;
        }
        case Shape::Keyless: break;
    }
}

void Table::unlink(int entry) {
    const auto e = static_cast<std::size_t>(entry);
    switch (shape_) {
        case Shape::Direct: direct_[direct_index(&keys_[e * key_limbs_])] = -1; break;
        case Shape::Exact: exact_.erase(entry, keys_); break;
        case Shape::Lpm: {
            PrefixLevel& l = level(prefixes_[e]);
            l.index.erase(entry, keys_);
            if (l.index.size() == 0) levels_.erase(levels_.begin() + (&l - levels_.data()));
            break;
        }
        case Shape::Tcam: tcam_.erase(std::find(tcam_.begin(), tcam_.end(), entry)); break;
        case Shape::Keyless: break;
    }
}

void Table::store(int entry, const EntrySpec& spec) {
    const auto e = static_cast<std::size_t>(entry);
    actions_[e] = spec.action;
    std::uint64_t* params = params_.data() + e * spec_.parameter_limbs;
    std::fill(params, params + spec_.parameter_limbs, 0);
    std::copy(spec.parameters.begin(), spec.parameters.end(), params);
}

Status Table::insert(const EntrySpec& entry) {
    std::array<std::uint64_t, kMaxKeyLimbs> key, extra;
    if (shape_ == Shape::Keyless || !valid(entry) || !pack(entry.match, key.data(), extra.data())) return Status::Invalid;
    if (find(entry.match, entry.priority) != kNone) return Status::AlreadyExists;
    if (live_ >= spec_.size) return Status::Exhausted;
    int at;
    if (!free_.empty()) {
        at = free_.back();
        free_.pop_back();
    } else {
        at = static_cast<int>(actions_.size());
        keys_.resize(keys_.size() + key_limbs_);
        if (shape_ == Shape::Tcam) extras_.resize(keys_.size());
        params_.resize(params_.size() + spec_.parameter_limbs);
        prefixes_.push_back(0);
        priorities_.push_back(0);
        actions_.push_back(0);
        packets_.push_back(0);
        bytes_.push_back(0);
    }
    const auto e = static_cast<std::size_t>(at);
    std::copy_n(key.begin(), key_limbs_, keys_.begin() + static_cast<std::ptrdiff_t>(e * key_limbs_));
    if (shape_ == Shape::Tcam)
        std::copy_n(extra.begin(), key_limbs_, extras_.begin() + static_cast<std::ptrdiff_t>(e * key_limbs_));
    prefixes_[e] = lpm_key_ == kNone ? 0 : entry.match[static_cast<std::size_t>(lpm_key_)].prefix;
    priorities_[e] = entry.priority;
    packets_[e] = bytes_[e] = 0;
    store(at, entry);
    link(at);
    ++live_;
    return Status::Ok;
}

Status Table::modify(const EntrySpec& entry) {
    if (!valid(entry)) return Status::Invalid;
    const int at = find(entry.match, entry.priority);
    if (at == kNone) return Status::NotFound;
    store(at, entry);
    return Status::Ok;
}

Status Table::erase(const std::vector<MatchValue>& match, int priority) {
    const int at = find(match, priority);
    if (at == kNone) return Status::NotFound;
    unlink(at);
    actions_[static_cast<std::size_t>(at)] = kNone;
    free_.push_back(at);
    --live_;
    return Status::Ok;
}

Status Table::set_default(int action, const std::vector<std::uint64_t>& parameters) {
    EntrySpec entry;
    entry.action = action;
    entry.parameters = parameters;
    if (!valid(entry)) return Status::Invalid;
    if (spec_.const_default) return Status::Constant;
    default_action_ = action;
    default_params_ = parameters;
    return Status::Ok;
}

void Table::reset_default() {
    default_action_ = spec_.default_action;
    default_params_ = spec_.default_parameters;
}

EntrySpec Table::default_entry() const {
    EntrySpec entry;
    entry.action = default_action_;
    entry.parameters = default_params_;
    return entry;
}

EntrySpec Table::read(int entry) const {
    const auto e = static_cast<std::size_t>(entry);
    EntrySpec spec;
    spec.priority = priorities_[e];
    spec.action = actions_[e];
    const std::uint64_t* params = params_.data() + e * spec_.parameter_limbs;
    spec.parameters.assign(params, params + program_.actions[static_cast<std::size_t>(spec.action)].parameter_limbs);
    std::size_t at = e * key_limbs_;
    for (const Key& k : spec_.keys) {
        MatchValue m;
        const auto n = static_cast<std::ptrdiff_t>(limbs(k.bits));
        m.value.assign(keys_.begin() + static_cast<std::ptrdiff_t>(at), keys_.begin() + static_cast<std::ptrdiff_t>(at) + n);
        if (shape_ == Shape::Tcam)
            m.extra.assign(extras_.begin() + static_cast<std::ptrdiff_t>(at), extras_.begin() + static_cast<std::ptrdiff_t>(at) + n);
        if (k.kind == MatchKind::Lpm) m.prefix = prefixes_[e];
        if (k.kind == MatchKind::Optional) m.prefix = std::any_of(m.extra.begin(), m.extra.end(), [](auto v) { return v != 0; });
        at += static_cast<std::size_t>(n);
        spec.match.push_back(std::move(m));
    }
    return spec;
}

std::optional<EntrySpec> Table::get(const std::vector<MatchValue>& match, int priority) const {
    const int at = find(match, priority);
    return at == kNone ? std::nullopt : std::optional(read(at));
}

std::pair<std::uint64_t, std::uint64_t> Table::counters(const std::vector<MatchValue>& match, int priority) const {
    const int at = find(match, priority);
    if (at == kNone) return {0, 0};
    return {packets_[static_cast<std::size_t>(at)], bytes_[static_cast<std::size_t>(at)]};
}

std::vector<EntrySpec> Table::entries() const {
    std::vector<EntrySpec> all;
    all.reserve(live_);
    for (std::size_t e = 0; e < actions_.size(); ++e)
        if (actions_[e] != kNone) all.push_back(read(static_cast<int>(e)));
    return all;
}

}  // namespace railyard
