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
    explicit EntryUpdates(std::string request);
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
    // The parts of a serialised Update, then those of its TableEntry; false for anything unusual.
    bool decode_update(const EntryLayouts& layouts, std::string_view message);
    bool decode(const EntryLayouts& layouts, std::string_view message);
    bool decode_match(std::string_view message);
    bool decode_action(std::string_view message);
    bool complete();
    bool carry_out(Switch& to);

    std::string request_, head_;
    std::vector<std::string_view> updates_;
    std::size_t position_ = 0;

    // The update at work; its vectors keep their memory from entry to entry.
    std::uint64_t type_ = 0;
    const EntryLayout* layout_ = nullptr;
    EntrySpec entry_;
    std::vector<bool> given_;  // by match field
    bool has_action_ = false;
    std::vector<std::uint64_t> number_;
};

}  // namespace railyard
