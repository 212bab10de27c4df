// SPDX-License-Identifier: Apache-2.0
// A match-action table's entries and the look-up structures over them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "program.h"

namespace railyard {

enum class Status : int { Ok, AlreadyExists, NotFound, Exhausted, Invalid, Constant };

// Open addressing over keys that the owner stores; holds entry numbers only.
class KeyIndex {
   public:
    explicit KeyIndex(std::size_t key_limbs) : limbs_(key_limbs) {}
    int find(const std::uint64_t* key, const std::vector<std::uint64_t>& keys) const;
    void insert(int entry, const std::vector<std::uint64_t>& keys);
    void erase(int entry, const std::vector<std::uint64_t>& keys);
    std::size_t size() const { return used_; }

   private:
    std::size_t hash(const std::uint64_t* key) const;
    void grow(const std::vector<std::uint64_t>& keys);
    std::size_t limbs_, used_ = 0;
    std::vector<std::int32_t> cells_;  // -1: free
};

struct LookupResult {
    int action;
    const std::uint64_t* parameters;
    int entry;  // kNone on a miss
};

class Table {
   public:
    Table(const Program& program, const TableSpec& spec);

    LookupResult lookup(const std::uint64_t* slots) const;

    Status insert(const EntrySpec& entry);
    Status modify(const EntrySpec& entry);
    Status erase(const std::vector<MatchValue>& match, int priority);
    Status set_default(int action, const std::vector<std::uint64_t>& parameters);
    void reset_default();

    std::optional<EntrySpec> get(const std::vector<MatchValue>& match, int priority) const;
    std::vector<EntrySpec> entries() const;
    EntrySpec default_entry() const;
    std::size_t size() const { return live_; }
    const TableSpec& spec() const { return spec_; }

    void count(int entry, std::uint64_t bytes) {
        if (entry >= 0 && spec_.counted) {
            packets_[static_cast<std::size_t>(entry)] += 1;
            bytes_[static_cast<std::size_t>(entry)] += bytes;
        }
    }
    std::pair<std::uint64_t, std::uint64_t> counters(const std::vector<MatchValue>& match, int priority) const;

   private:
    // What the kinds of its keys make of a table.
    enum class Shape { Keyless, Direct, Exact, Lpm, Tcam };
    struct PrefixLevel {
        int prefix;
        std::vector<std::uint64_t> mask;
        KeyIndex index;
    };

    bool valid(const EntrySpec& entry) const;
    bool pack(const std::vector<MatchValue>& match, std::uint64_t* key, std::uint64_t* extra) const;
    int find(const std::vector<MatchValue>& match, int priority) const;
    int match_tcam(const std::uint64_t* key) const;
    void gather(const std::uint64_t* slots, std::uint64_t* key) const;
    std::size_t direct_index(const std::uint64_t* key) const;
    void store(int entry, const EntrySpec& spec);
    void link(int entry);
    void unlink(int entry);
    EntrySpec read(int entry) const;
    PrefixLevel& level(int prefix);

    const Program& program_;
    const TableSpec& spec_;
    Shape shape_ = Shape::Keyless;
    std::size_t key_limbs_ = 0;
    int lpm_key_ = kNone;
    std::size_t lpm_limb_ = 0;

    std::size_t live_ = 0;
    std::vector<std::uint64_t> keys_, extras_, params_, packets_, bytes_;
    std::vector<std::int32_t> prefixes_, priorities_, actions_;
    std::vector<std::int32_t> free_;

    std::vector<std::int32_t> direct_;
    KeyIndex exact_;
    std::vector<PrefixLevel> levels_;  // longest first
    std::vector<std::int32_t> tcam_;   // highest priority first

    int default_action_ = kNone;
    std::vector<std::uint64_t> default_params_;
};

}  // namespace railyard
