// SPDX-License-Identifier: Apache-2.0
// State of a switch that frames read and change. The control plane acts on it by `Switch`.
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

namespace railyard {

// A generate_digest call: the fields of its list, each in whole bytes.
struct Digest {
    Index<FieldList> list;
    std::string fields;
};

// Destination of a copy of a multicast group or clone session.
struct Replica {
    std::uint32_t port, rid;
};

struct CloneSession {
    std::vector<Replica> replicas;
    std::uint32_t truncate = 0;
};

// Execution of a note of a traced program by a frame.
struct TraceStep {
    Index<Note> note;
    bool outcome = false;                 // of a condition; whether a table was hit
    std::vector<std::uint64_t> values{};  // of the table's key, or of the statement's target
    Table::Choice choice{};               // of a table
};

struct SwitchState {
    using Bytes = std::vector<std::uint8_t>;

    SwitchState(std::string of, FramePool& frames);
    // Forget the program, its entries and all that frames have left behind.
    void clear();
    // Make the tables and arrays of a program, after clear(). empty: contents without entries, by table.
    void load(std::shared_ptr<const Program> of, const std::vector<TableLayout>& layouts,
              const std::vector<std::shared_ptr<TableContent>>& empty);
    // A number from `low` to `high`; the sequence depends on the switch's name only.
    std::uint64_t random(std::uint64_t low, std::uint64_t high);

    // Members that every frame needs come first, in few lines of the cache.
    std::shared_ptr<const Program> program;
    std::vector<std::shared_ptr<TableContent>> contents;  // by table
    std::vector<Counter> counters;
    std::vector<Digest> digests;  // pending, oldest first
    std::uint64_t epoch = 0;      // programs set so far
    FramePool& pool;
    std::vector<TraceStep>* trace = nullptr;  // null: no frame is followed
    bool revived = false;                     // a frame has hit an aged entry

    std::vector<Table> tables;
    std::vector<std::unique_ptr<Profile>> profiles;
    std::vector<std::vector<std::uint64_t>> registers;  // limbs(bits) words a cell
    std::vector<std::vector<Meter>> meters;
    std::vector<std::vector<std::pair<Bytes, Bytes>>> value_sets;  // values and masks
    std::unordered_map<std::uint32_t, std::vector<Replica>> multicast;
    std::unordered_map<std::uint32_t, CloneSession> clones;
    std::string name;
    std::function<void(const std::string&)> on_log;  // if unset, messages are not formatted
    std::function<void()> on_checkpoint;

   private:
    std::uint64_t random_ = 0xCBF29CE484222325ULL;
};

}  // namespace railyard
