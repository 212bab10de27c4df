// SPDX-License-Identifier: Apache-2.0
// State of a switch that frames read and change. The control plane accesses it through Switch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frames/frame.h"
#include "load/program/program.h"
#include "tables/counter.h"
#include "tables/meter.h"
#include "tables/profile.h"
#include "tables/table.h"

namespace railyard::switching {

using frames::Frame, frames::FrameHandle, frames::FramePool;
using load::Calculation, load::Checksum, load::Field, load::FieldList, load::Header, load::Instruction,
    load::Note, load::Op, load::ParserOp, load::ParserState, load::Piece, load::Place, load::Program,
    load::Slot, load::Stack, load::StandardSlots, load::TableSpec, load::Transition, load::TransitionKey,
    load::kDropPort, load::kNoSlot, load::kNowhere, load::limbs, load::low_mask;

// A digest of generate_digest: its field list, and the values of the fields, each padded to whole bytes.
struct Digest {
    Index<FieldList> list;
    std::string fields;
};

// Egress port and replication id of a copy by a multicast group or clone session.
struct Replica {
    Port port;
    std::uint32_t rid;
};

struct CloneSession {
    std::vector<Replica> replicas;
    std::uint32_t truncate = 0;
};

// A step of a frame in a traced program, which executes a Note.
struct TraceStep {
    Index<Note> note;
    bool outcome = false;                 // value of a condition; true for a table hit
    std::vector<std::uint64_t> values{};  // table key, or value of the statement's target
    tables::Table::Choice choice{};       // entry chosen by a table
};

struct SwitchState {
    using ByteString = std::vector<std::uint8_t>;

    SwitchState(std::string of, FramePool& frames);
    // Remove the program with its entries, arrays, groups and digests.
    void clear();
    // Create the tables and arrays of a program, after clear(). empty: contents without entries, by table.
    void load(std::shared_ptr<const Program> of, const std::vector<tables::TableLayout>& layouts,
              const std::vector<std::shared_ptr<tables::TableContent>>& empty);
    // Seed of switches that get none, and of scenarios that name none.
    static constexpr std::uint64_t kUnseeded = 1;
    // Begin the sequence of random() that belongs to the switch's name and a seed; kUnseeded at first.
    void set_seed(std::uint64_t seed);
    // Return a random number from `low` to `high`, inclusive.
    std::uint64_t random(std::uint64_t low, std::uint64_t high);

    // Members that every frame needs come first, in few lines of the cache.
    std::shared_ptr<const Program> program;
    std::vector<std::shared_ptr<tables::TableContent>> contents;  // by TableSpec::position
    std::vector<tables::Counter> counters;
    std::vector<Digest> digests;  // pending, oldest first
    std::uint64_t epoch = 0;      // number of clear() calls, to recognise frames of earlier programs
    FramePool& pool;
    std::vector<TraceStep>* trace = nullptr;  // null: not tracing
    bool revived = false;                     // a frame has hit an aged entry

    std::vector<tables::Table> tables;
    std::vector<std::unique_ptr<tables::Profile>> profiles;
    std::vector<std::vector<std::uint64_t>> registers;  // limbs(bits) words a cell
    std::vector<std::vector<tables::Meter>> meters;
    std::vector<std::vector<std::pair<ByteString, ByteString>>> value_sets;  // values and masks
    std::unordered_map<std::uint32_t, std::vector<Replica>> multicast;
    std::unordered_map<std::uint32_t, CloneSession> clones;
    std::string name;
    std::function<void(const std::string&)> on_log;  // if unset, messages are not formatted
    std::function<void()> on_checkpoint;

   private:
    std::uint64_t random_ = 0;
};

}  // namespace railyard::switching
