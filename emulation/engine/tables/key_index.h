// SPDX-License-Identifier: Apache-2.0
// Hash index over keys of 64-bit limbs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tables/entry.h"

namespace railyard::tables {

// Keys of entries in memory: the key of entry i is at first + i * stride.
struct KeyRows {
    const std::uint64_t* first;
    std::size_t stride;
    [[nodiscard]] const std::uint64_t* at(EntryIndex entry) const { return first + entry.at() * stride; }
};

// Hash table with open addressing. The owner stores the keys; a cell holds an entry's index and its key's
// hash, so that a search rarely reads the key of a wrong entry.
class KeyIndex {
   public:
    explicit KeyIndex(std::size_t key_limbs) : limbs_(key_limbs) {}
    [[nodiscard]] EntryIndex find(const std::uint64_t* key, KeyRows keys) const;
    void insert(EntryIndex entry, const std::uint64_t* key) { insert({entry, hash(key)}); }
    void erase(EntryIndex entry, const std::uint64_t* key);
    [[nodiscard]] std::size_t size() const { return used_; }
    // Append all entries to `entries`.
    void list(std::vector<EntryIndex>& entries) const {
        for (const Cell& cell : cells_)
            if (cell.entry) entries.push_back(cell.entry);
    }
    bool operator==(const KeyIndex&) const = default;

   private:
    struct Cell {
        EntryIndex entry;  // none: free cell
        std::uint32_t hash = 0;

        bool operator==(const Cell&) const = default;
    };
    [[nodiscard]] std::uint32_t hash(const std::uint64_t* key) const;
    void insert(Cell cell);
    void grow();
    std::size_t limbs_, used_ = 0;
    std::vector<Cell> cells_;
};

}  // namespace railyard::tables
