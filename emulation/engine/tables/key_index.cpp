// SPDX-License-Identifier: Apache-2.0
#include "tables/key_index.h"

#include <bit>

namespace railyard::tables {

namespace {

// Keys are short: a loop is faster than a call of memcmp.
bool equal(const std::uint64_t* a, const std::uint64_t* b, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i)
        if (a[i] != b[i]) return false;
    return true;
}

}  // namespace

std::uint32_t KeyIndex::hash(const std::uint64_t* key) const {
    std::uint64_t h = 0x9E3779B97F4A7C15ULL;
    for (std::size_t i = 0; i < limbs_; ++i) {
        h = (h ^ key[i]) * 0xBF58476D1CE4E5B9ULL;
        h ^= h >> 29;
    }
    return static_cast<std::uint32_t>(h ^ (h >> 32));
}

EntryIndex KeyIndex::find(const std::uint64_t* key, KeyRows keys) const {
    if (cells_.empty()) return {};
    ASSERT(std::has_single_bit(cells_.size()) && 2 * used_ <= cells_.size());
    const std::size_t mask = cells_.size() - 1;
    const std::uint32_t sought = hash(key);
    for (std::size_t at = sought & mask;; at = (at + 1) & mask) {
        const Cell& cell = cells_[at];
        if (!cell.entry) return {};
        if (cell.hash == sought && equal(key, keys.at(cell.entry), limbs_)) return cell.entry;
    }
}

void KeyIndex::grow() {
    std::vector<Cell> old(cells_.empty() ? 16 : cells_.size() * 2);
    old.swap(cells_);
    used_ = 0;
    for (const Cell& cell : old)
        if (cell.entry) insert(cell);
}

void KeyIndex::insert(Cell cell) {
    if ((used_ + 1) * 2 > cells_.size()) grow();
    const std::size_t mask = cells_.size() - 1;
    std::size_t at = cell.hash & mask;
    while (cells_[at].entry) at = (at + 1) & mask;
    cells_[at] = cell;
    ++used_;
}

void KeyIndex::erase(EntryIndex entry, const std::uint64_t* key) {
    const std::size_t mask = cells_.size() - 1;
    std::size_t at = hash(key) & mask;
    while (cells_[at].entry != entry) {
        ASSERT_ALWAYS(cells_[at].entry);  // the entry exists, else the search would not end
        at = (at + 1) & mask;
    }
    // Move later entries into the gap: probing needs no tombstones.
    for (std::size_t next = (at + 1) & mask; cells_[next].entry; next = (next + 1) & mask) {
        const std::size_t home = cells_[next].hash & mask;
        if (((next - home) & mask) >= ((next - at) & mask)) {
            cells_[at] = cells_[next];
            at = next;
        }
    }
    cells_[at] = {};
    ASSERT(used_ > 0);
    --used_;
}

}  // namespace railyard::tables
