// SPDX-License-Identifier: Apache-2.0
// Prefixes of an LPM table in one array.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "frames/pages.h"
#include "tables/entry.h"

namespace railyard::tables {

// For keys of one limb. A hash table for each prefix length follows the list of lengths, so that a lookup
// reads one cache line of up to four lengths, and as a rule one line for each length that it tries.
class PackedPrefixes {
   public:
    struct Prefix {
        std::uint64_t value, mask;
        EntryIndex entry;
    };

    void clear() { pairs_.clear(); }
    [[nodiscard]] bool used() const { return !pairs_.empty(); }
    // Pack prefixes, longest first.
    void pack(const std::vector<Prefix>& prefixes);
    // Return the entry of the longest prefix of a key; none if there is no such prefix.
    [[nodiscard]] EntryIndex find(std::uint64_t key) const {
        const Pair* const pairs = pairs_.data();
        for (std::size_t length = 0; length < lengths_; ++length) {
            const std::uint64_t value = key & pairs[length].first;
            const Pair* const cells = pairs + (pairs[length].second >> kBits);
            const auto bits = static_cast<unsigned>(pairs[length].second & ((1u << kBits) - 1));
            for (std::size_t at = home_of(value, bits); cells[at].second != kFree;
                 at = (at + 1) & ((std::size_t{1} << bits) - 1))
                if (cells[at].first == value) return EntryIndex(cells[at].second);
        }
        return {};
    }

   private:
    // A prefix length: its mask, then the position of its cells << kBits | log2 of their number. A cell: the
    // value of a prefix, then its entry; kFree: no prefix.
    struct alignas(16) Pair {
        std::uint64_t first = 0, second = kFree;
    };
    static constexpr std::uint64_t kFree = ~std::uint64_t{0};
    static constexpr unsigned kBits = 6;

    static std::size_t home_of(std::uint64_t value, unsigned bits) {
        return static_cast<std::size_t>(value * 0x9E3779B97F4A7C15ULL >> (64 - bits));
    }

    std::vector<Pair, frames::HugePageAllocator<Pair>> pairs_;  // in whole cache lines
    std::size_t lengths_ = 0;
};

}  // namespace railyard::tables
