// SPDX-License-Identifier: Apache-2.0
#include "tables/content.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

namespace railyard::tables {

namespace {

// Most bits of a key that indexes an array (Shape::Direct) instead of a hash table.
constexpr unsigned kDirectBits = 12;

}  // namespace

TableLayout::TableLayout(const load::Program& of, const load::TableSpec& given) : program(of), spec(given) {
    bool tcam = false;
    for (std::size_t i = 0; i < spec.keys.size(); ++i) {
        const load::Key& part = spec.keys[i];
        if (part.kind == load::MatchKind::Lpm) {
            lpm_key = i;
            lpm_limb = key.size();
        } else if (part.kind != load::MatchKind::Exact) {
            tcam = true;
        }
        key_bits += part.bits;
        for (unsigned k = 0; k < load::limbs(part.bits); ++k) {
            const unsigned n = std::min(64u, part.bits - 64 * k);
            key.push_back({static_cast<load::Slot>(part.slot + k), n,
                           part.mask.empty() ? load::low_mask(n) : part.mask[k]});
        }
    }
    if (tcam) shape = Shape::Tcam;
    else if (lpm_key != SIZE_MAX) shape = Shape::Lpm;
    else if (!spec.keys.empty()) shape = key_bits <= kDirectBits ? Shape::Direct : Shape::Exact;
    instrumented = bool(spec.profile) || spec.counted || spec.ageing || bool(spec.meter);
    parameters_at = static_cast<std::uint32_t>(1 + key.size());
    stride = parameters_at + spec.parameter_limbs;
    for (const Index<load::Action> action : spec.actions) then.push_back(continuation(action, true));
    then.push_back(continuation({}, true));
}

Continuation TableLayout::continuation(Index<load::Action> action, bool hit) const {
    Continuation after;
    after.next = spec.next_default;
    const auto at = std::find(spec.actions.begin(), spec.actions.end(), action);
    after.number = static_cast<unsigned>(at - spec.actions.begin());
    if (spec.by_hit) after.next = hit ? spec.next_hit : spec.next_miss;
    else if (at != spec.actions.end())
        after.next = spec.next_by_action[static_cast<std::size_t>(at - spec.actions.begin())];
    if (action) {
        const load::Action& a = program.actions[action];
        after.action = a.code;
        after.targets = a.targets.data();
        after.limbs = a.parameter_limbs;
    }
    return after;
}

TableContent::TableContent(const TableLayout& of) : layout(&of), exact(of.key.size()) {
    if (of.shape == TableLayout::Shape::Direct) direct.assign(std::size_t{1} << of.key_bits, {});
    set_default(of.spec.default_action, of.spec.default_parameters);
}

void TableContent::set_default(Index<load::Action> action, const std::vector<std::uint64_t>& parameters) {
    default_action = action;
    default_parameters = parameters;
    default_then = layout->continuation(action, false);
}

std::size_t TableContent::direct_index(const std::uint64_t* key) const {
    std::uint64_t index = 0;
    for (const TableLayout::KeyLimb& limb : layout->key) index = (index << limb.bits) | *key++;
    ASSERT(index < direct.size());
    return static_cast<std::size_t>(index);
}

EntryIndex TableContent::match_tcam(const std::uint64_t* key) const {
    for (const EntryIndex entry : tcam) {
        const std::uint64_t* value = key_of(entry);
        const std::uint64_t* extra = &extras[entry.at() * layout->key.size()];
        std::size_t at = 0;
        bool hit = true;
        for (const load::Key& k : layout->spec.keys) {
            const unsigned n = load::limbs(k.bits);
            if (k.kind == load::MatchKind::Range) {
                // Compare with both ends: the most significant limb that differs decides.
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

EntryIndex TableContent::match_prefix(const std::uint64_t* key) const {
    std::array<std::uint64_t, load::kMaxKeyLimbs> prefix;
    std::copy_n(key, layout->key.size(), prefix.begin());
    const std::size_t limb = layout->lpm_limb;
    ASSERT(std::is_sorted(levels.begin(), levels.end(),
                          [](const PrefixLevel& a, const PrefixLevel& b) { return a.prefix > b.prefix; }));
    for (const PrefixLevel& level : levels) {
        for (std::size_t i = 0; i < level.mask.size(); ++i) prefix[limb + i] = key[limb + i] & level.mask[i];
        if (const EntryIndex entry = level.index.find(prefix.data(), keys())) return entry;
    }
    return {};
}

EntryIndex TableContent::search(const std::uint64_t* key) const {
    switch (layout->shape) {
        case TableLayout::Shape::Exact: return exact.find(key, keys());
        case TableLayout::Shape::Lpm: return prefixes.used() ? prefixes.find(key[0]) : match_prefix(key);
        case TableLayout::Shape::Tcam: return match_tcam(key);
        default: return {};
    }
}

// Look up a key of up to 64 bits in a table that is not packed.
Selection TableContent::search_word(std::uint64_t word) const {
    if (live == 0) return miss();
    std::array<std::uint64_t, load::kMaxKeyLimbs> key;
    for (std::size_t at = layout->key.size(); at-- > 0;) {
        const unsigned bits = layout->key[at].bits;
        key[at] = word & load::low_mask(bits);
        word = bits < 64 ? word >> bits : 0;
    }
    const EntryIndex entry =
        layout->shape == TableLayout::Shape::Direct ? direct[direct_index(key.data())] : search(key.data());
    return entry ? hit(entry) : miss();
}

void PackedRows::pack(const std::vector<EntryIndex>& entries, const TableContent& content) {
    const TableLayout& layout = *content.layout;
    const auto key_of = [&](EntryIndex entry) {
        std::uint64_t key = 0;
        const std::uint64_t* limb = content.key_of(entry);
        for (const TableLayout::KeyLimb& k : layout.key) key = key << k.bits | *limb++;
        return key;
    };
    rows_.clear();
    runs_ = {};
    count_ = 0;
    if (entries.empty() || layout.key_bits >= 64) return;
    std::uint64_t differing = 0;
    for (const EntryIndex entry : entries) differing |= key_of(entry) ^ key_of(entries.front());
    const auto bits = static_cast<unsigned>(std::popcount(differing));
    // Rows are of a power of two words, so that a position is a selection of bits, and so that short rows
    // cross no cache line.
    stride_ = std::bit_ceil(static_cast<std::uint32_t>(kParametersAt + layout.spec.parameter_limbs));
    const auto in_row = static_cast<unsigned>(std::countr_zero(stride_));
    // Arrays above kSmall rows must be at least half full. Smaller arrays may be sparse, as with port
    // numbers, of which the CPU port is much larger than the rest.
    constexpr std::size_t kSmall = 512;
    if (bits + in_row > 32 || std::size_t{1} << bits > std::max(2 * entries.size(), kSmall)) return;
    unsigned placed = 0;  // index bits assigned so far
    for (unsigned at = 0; at < 64 && differing >> at != 0;) {
        if (count_ == kMostRuns) return;
        at += static_cast<unsigned>(std::countr_zero(differing >> at));
        const auto length = static_cast<unsigned>(std::countr_one(differing >> at));
        const unsigned to = placed + in_row;
        runs_[count_++] = {(at - to) % 64, static_cast<std::uint32_t>(load::low_mask(length) << to)};
        placed += length;
        at += length;
    }
    rows_.assign(std::size_t{stride_} << bits, 0);
    for (std::size_t row = 0; row < rows_.size(); row += stride_) rows_[row + 1] = kFree;
    for (const EntryIndex entry : entries) {
        const std::uint64_t key = key_of(entry);
        std::uint64_t* const row = rows_.data() + position(key);
        ASSERT(row[1] == kFree);  // keys have distinct rows
        const std::uint64_t* const from = content.row_of(entry);
        row[0] = static_cast<std::uint64_t>(entry.at()) << 32 | from[0];
        row[1] = key;
        std::copy_n(from + layout.parameters_at, layout.spec.parameter_limbs, row + kParametersAt);
    }
}

void TableContent::pack() {
    if (std::exchange(is_packed, true)) return;
    std::vector<EntryIndex> entries;
    if (layout->shape == TableLayout::Shape::Direct) {
        for (const EntryIndex entry : direct)
            if (entry) entries.push_back(entry);
    } else if (layout->shape == TableLayout::Shape::Exact) {
        exact.list(entries);
    }
    packed.pack(entries, *this);
    if (layout->shape != TableLayout::Shape::Lpm || layout->key.size() != 1) return;
    std::vector<PackedPrefixes::Prefix> sorted;
    for (const PrefixLevel& level : levels) {
        entries.clear();
        level.index.list(entries);
        for (const EntryIndex entry : entries) sorted.push_back({*key_of(entry), level.mask[0], entry});
    }
    prefixes.pack(sorted);
}

bool TableContent::same_entries(const TableContent& other) const {
    const auto parts = [](const TableContent& c) {
        return std::tie(c.layout, c.rows, c.live, c.default_action, c.default_parameters, c.default_then,
                        c.exact, c.levels, c.tcam, c.extras);
    };
    // The comparison of `direct` as bytes is several times as fast as that of its elements.
    static_assert(std::has_unique_object_representations_v<EntryIndex>);
    return parts(*this) == parts(other) && direct.size() == other.direct.size() &&
           (direct.empty() ||
            std::memcmp(direct.data(), other.direct.data(), direct.size() * sizeof(EntryIndex)) == 0);
}

// Return a hash of the entry count, the rows and the default entry; same_entries() compares the rest.
std::uint64_t TableContent::hash() const {
    std::uint64_t h = live;
    const auto mix = [&h](std::uint64_t word) {
        h = (h ^ word) * 0xBF58476D1CE4E5B9ULL;
        h ^= h >> 29;
    };
    for (const std::uint64_t word : rows) mix(word);
    for (const std::uint64_t word : default_parameters) mix(word);
    mix(default_then.action);
    return h;
}

std::shared_ptr<TableContent> SharedContents::share(const std::shared_ptr<TableContent>& given) {
    if (known_.size() >= sweep_at_) {
        std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
        sweep_at_ = 64 + 2 * known_.size();
    }
    std::weak_ptr<TableContent>& known = known_[given->hash()];
    std::shared_ptr<TableContent> content = known.lock();
    if (content == nullptr || !content->same_entries(*given)) known = content = given;
    content->pack();
    return content;
}

}  // namespace railyard::tables
