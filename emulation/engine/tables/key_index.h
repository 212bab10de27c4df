// SPDX-License-Identifier: Apache-2.0
// Hash index over keys of 64-bit words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tables/entry.h"

namespace railyard {

// Open addressing. The owner stores the keys; the index holds positions of entries.
class KeyIndex {
   public:
    explicit KeyIndex(std::size_t key_limbs) : limbs_(key_limbs) {}
    EntryIndex find(const std::uint64_t* key, const std::vector<std::uint64_t>& keys) const;
    void insert(EntryIndex entry, const std::vector<std::uint64_t>& keys);
    void erase(EntryIndex entry, const std::vector<std::uint64_t>& keys);
    std::size_t size() const { return used_; }

   private:
    std::size_t hash(const std::uint64_t* key) const;
    void grow(const std::vector<std::uint64_t>& keys);
    std::size_t limbs_, used_ = 0;
    std::vector<EntryIndex> cells_;  // none: free cell
};

}  // namespace railyard
