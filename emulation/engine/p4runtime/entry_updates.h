// SPDX-License-Identifier: Apache-2.0
// Updates of table entries, carried out from the bytes of a P4Runtime WriteRequest.
//
// The P4Runtime server in Python says what an update does and why it is refused. This is a short cut for the
// most frequent updates: entries with match, priority and an action, of tables without action profile, meter
// and idle timeout. An update that differs in anything from such an entry, or that fails, is left to the
// server.
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

namespace railyard {

// A match field. `masked`: optional in the p4info, ternary in the program.
struct MatchFieldLayout {
    std::uint32_t id;
    MatchKind kind;  // in the p4info
    bool masked;
    unsigned bits;
};

struct ParameterLayout {
    std::uint32_t id;
    unsigned bits;
};

// An action that entries may have.
struct ActionLayout {
    std::uint32_t id;
    Index<Action> action;
    std::vector<ParameterLayout> parameters;
};

// P4Runtime ids of a table, in the order of the program's key and parameters.
struct EntryLayout {
    std::uint32_t id;
    std::size_t table;
    bool ordered;  // a key can overlap with others, so that entries have priorities
    std::vector<MatchFieldLayout> fields;
    std::vector<ActionLayout> actions;
};

// The tables of a pipeline whose entries the short cut knows.
class EntryLayouts {
   public:
    explicit EntryLayouts(std::vector<EntryLayout> layouts) : layouts_(std::move(layouts)) {}
    const EntryLayout* find(std::uint32_t table_id) const;

   private:
    std::vector<EntryLayout> layouts_;
};

// The updates of one request.
class EntryUpdates {
   public:
    // Throws std::invalid_argument if the bytes are no WriteRequest.
    explicit EntryUpdates(std::string_view request);
    EntryUpdates(const EntryUpdates&) = delete;  // updates_ refers to request_

    // The request without its updates.
    const std::string& head() const { return head_; }
    std::size_t count() const { return updates_.size(); }
    // Position of the next update.
    std::size_t position() const { return position_; }
    bool ended() const { return position_ == updates_.size(); }
    // True if each update is an entry that apply() can read.
    bool plain(const EntryLayouts& layouts);
    // Carry out at most `most` updates, up to one that is left; false if one is.
    bool apply(Switch& to, const EntryLayouts& layouts, std::size_t most);
    void skip() { ++position_; }

   private:
    // Updates that are not shorter than this are decoded one by one.
    static constexpr std::size_t kLongestPattern = 256;
    // Patterns of the same length: numbers may exchange their sizes.
    static constexpr std::size_t kMostAlike = 4;
    // An update that was decoded: what it has in common with others of its pattern.
    struct Known {
        UpdatePattern pattern;
        std::uint64_t type = 0;
        const EntryLayout* layout = nullptr;
        Index<Action> action;
        int priority = 0;
        bool has_action = false;
        std::size_t parameters = 0;
    };

    // Read a serialised Update; false for anything unusual.
    bool read(const EntryLayouts& layouts, std::string_view message);
    // Read an update that is like an earlier one, but for its numbers.
    bool read_like_known(std::string_view message);
    bool read_like(const Known& known, std::string_view message);
    // Note the update that was decoded last, if all its numbers have up to 64 bits.
    void remember(std::string_view message);
    // The parts of a serialised Update, then those of its TableEntry.
    bool decode_update(const EntryLayouts& layouts, std::string_view message);
    bool decode(const EntryLayouts& layouts, std::string_view message);
    bool decode_match(std::string_view message);
    bool decode_action(std::string_view message);
    void note(std::string_view bytes, unsigned bits, std::size_t index);
    bool complete();
    bool carry_out(Switch& to);

    std::string request_, head_;  // behind the request are kPadding bytes
    std::vector<std::string_view> updates_;
    std::size_t position_ = 0;

    // The update at work; its vectors keep their memory from entry to entry.
    std::uint64_t type_ = 0;
    const EntryLayout* layout_ = nullptr;
    EntrySpec entry_;
    std::vector<bool> given_;  // by match field
    bool has_action_ = false;
    std::vector<std::uint64_t> number_;
    // Numbers of exact fields, by field, and of parameters, behind the fields, as long as a pattern takes.
    std::vector<UpdatePattern::Number> numbers_;

    const EntryLayouts* layouts_ = nullptr;  // to which `known_` refers
    std::vector<std::vector<Known>> known_;  // by length; empty before the first
    std::size_t replaced_ = 0;               // patterns that gave way to others
};

}  // namespace railyard
