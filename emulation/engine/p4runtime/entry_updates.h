// SPDX-License-Identifier: Apache-2.0
// Fast path for table updates: applies them directly from the bytes of a P4Runtime WriteRequest.
//
// It handles the most frequent updates: entries with match, priority and an action, in tables without action
// profile, meter and idle timeout. Any other update, and any update that fails, is left to the P4Runtime
// server in Python, which also reports errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "load/program/program.h"
#include "p4runtime/update_pattern.h"
#include "p4runtime/wire_format.h"
#include "switch/switch.h"
#include "tables/entry.h"

namespace railyard::p4runtime {

// A match field.
struct MatchFieldLayout {
    std::uint32_t id;
    load::MatchKind kind;  // in the p4info
    bool masked;           // true: the field is optional in the p4info, ternary in the program
    unsigned bits;
};

struct ParameterLayout {
    std::uint32_t id;
    unsigned bits;
};

// An action that entries may have.
struct ActionLayout {
    std::uint32_t id;
    Index<load::Action> action;
    std::vector<ParameterLayout> parameters;
};

// P4Runtime ids of a table, of its match fields in the order of the program's key, and of its actions.
struct EntryLayout {
    std::uint32_t id;
    std::size_t table;
    bool ordered;  // true: keys can overlap, so that entries need priorities
    std::vector<MatchFieldLayout> fields;
    std::vector<ActionLayout> actions;
};

// The tables of a pipeline that the fast path handles.
class EntryLayouts {
   public:
    explicit EntryLayouts(std::vector<EntryLayout> layouts) : layouts_(std::move(layouts)) {}
    [[nodiscard]] const EntryLayout* find(std::uint32_t table_id) const;

   private:
    std::vector<EntryLayout> layouts_;
};

// The updates of a WriteRequest.
class EntryUpdates {
   public:
    // std::invalid_argument if the bytes are no WriteRequest.
    explicit EntryUpdates(std::string_view request);
    EntryUpdates(const EntryUpdates&) = delete;  // updates_ refers to request_

    // Serialised request without its updates.
    [[nodiscard]] const std::string& head() const { return head_; }
    [[nodiscard]] std::size_t count() const { return updates_.size(); }
    // Index of the next update.
    [[nodiscard]] std::size_t position() const { return position_; }
    [[nodiscard]] bool ended() const { return position_ == updates_.size(); }
    // Return true if the fast path can read every update.
    bool plain(const EntryLayouts& layouts);
    // Apply up to `most` updates. Return false if the server must handle an update; position() is its index.
    bool apply(switching::Switch& to, const EntryLayouts& layouts, std::size_t most);
    void skip() { ++position_; }

   private:
    // Updates of at least this many bytes get no pattern.
    static constexpr std::size_t kLongestPattern = 256;
    // Most patterns kept for updates with the same number of bytes, which may differ in the sizes of their
    // numbers, for example.
    static constexpr std::size_t kMostAlike = 4;
    // A pattern, with the properties common to its updates.
    struct Known {
        UpdatePattern pattern;
        std::uint64_t type = 0;
        const EntryLayout* layout = nullptr;
        Index<load::Action> action;
        tables::EntryPriority priority;
        bool has_action = false;
        std::size_t parameters = 0;
    };

    // Read a serialised Update into the members below; return false if the fast path cannot read it.
    bool read(const EntryLayouts& layouts, std::string_view message);
    // Read an update by a known pattern; return false if no pattern matches.
    bool read_like_known(std::string_view message);
    bool read_like(const Known& known, std::string_view message);
    // Keep the layout of the update decoded last as a pattern for later updates, if it has only exact fields
    // and numbers of up to 64 bits.
    void remember(std::string_view message);
    // Decode a serialised Update, and the parts of its TableEntry.
    bool decode_update(const EntryLayouts& layouts, std::string_view message);
    bool decode(const EntryLayouts& layouts, std::string_view message);
    bool decode_match(std::string_view message);
    bool decode_action(std::string_view message);
    void note(std::string_view bytes, unsigned bits, std::size_t index);
    bool complete();
    bool carry_out(switching::Switch& to);

    std::string request_, head_;  // the request ends with kPadding added bytes
    std::vector<std::string_view> updates_;
    std::size_t position_ = 0;

    // The update read last; its vectors keep their memory from update to update.
    std::uint64_t type_ = 0;
    const EntryLayout* layout_ = nullptr;
    tables::EntrySpec entry_;
    std::vector<bool> given_;  // by match field: true if the entry has the field
    bool has_action_ = false;
    std::vector<std::uint64_t> number_;
    // Numbers that fit a pattern. The index of an exact field's number is the field's; the index of a
    // parameter's number is the parameter's plus the number of fields.
    std::vector<UpdatePattern::Number> numbers_;

    const EntryLayouts* layouts_ = nullptr;  // layouts to which `known_` refers
    std::vector<std::vector<Known>> known_;  // patterns by length of the update
    std::size_t replaced_ = 0;               // number of patterns replaced so far
};

}  // namespace railyard::p4runtime
