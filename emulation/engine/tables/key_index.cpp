// SPDX-License-Identifier: Apache-2.0
#include "tables/key_index.h"

namespace railyard {

namespace {

bool equal(const std::uint64_t* a, const std::uint64_t* b, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i)
        if (a[i] != b[i]) return false;
    return true;
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

EntryIndex KeyIndex::find(const std::uint64_t* key, const std::vector<std::uint64_t>& keys) const {
    if (cells_.empty()) return {};
    const std::size_t mask = cells_.size() - 1;
    for (std::size_t at = hash(key) & mask;; at = (at + 1) & mask) {
        const EntryIndex entry = cells_[at];
        if (!entry) return {};
        if (equal(key, &keys[entry.at() * limbs_], limbs_)) return entry;
    }
}

void KeyIndex::grow(const std::vector<std::uint64_t>& keys) {
    std::vector<EntryIndex> old(cells_.empty() ? 16 : cells_.size() * 2);
    old.swap(cells_);
    used_ = 0;
    for (const EntryIndex entry : old)
        if (entry) insert(entry, keys);
}

void KeyIndex::insert(EntryIndex entry, const std::vector<std::uint64_t>& keys) {
    if ((used_ + 1) * 2 > cells_.size()) grow(keys);
    const std::size_t mask = cells_.size() - 1;
    std::size_t at = hash(&keys[entry.at() * limbs_]) & mask;
    while (cells_[at]) at = (at + 1) & mask;
    cells_[at] = entry;
    ++used_;
}

void KeyIndex::erase(EntryIndex entry, const std::vector<std::uint64_t>& keys) {
    const std::size_t mask = cells_.size() - 1;
    std::size_t at = hash(&keys[entry.at() * limbs_]) & mask;
    while (cells_[at] != entry) at = (at + 1) & mask;
    // Move later entries into the gap: probing needs no tombstones.
    for (std::size_t next = (at + 1) & mask; cells_[next]; next = (next + 1) & mask) {
        const std::size_t home = hash(&keys[cells_[next].at() * limbs_]) & mask;
        if (((next - home) & mask) >= ((next - at) & mask)) {
            cells_[at] = cells_[next];
            at = next;
        }
    }
    cells_[at] = {};
    --used_;
}

}  // namespace railyard
