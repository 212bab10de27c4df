// SPDX-License-Identifier: Apache-2.0
// A v1model switch: a program, its tables and arrays, its copies, and the frames that run through it.
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
#include "switch/traversal.h"
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

// Execution of a note of a traced program by a frame.
struct TraceStep {
    Index<Note> note;
    bool outcome = false;                 // of a condition; whether a table was hit
    std::vector<std::uint64_t> values{};  // of the table's key, or of the statement's target
    Table::Choice choice{};               // of a table
};

class Switch {
   public:
    Switch(std::string name, std::uint32_t cpu_port, FramePool& pool, ProgramShares& shares);

    void set_program(std::shared_ptr<const Program> program);  // also clears all entries and state
    const Program* program() const { return program_.get(); }
    std::shared_ptr<const Program> shared_program() const { return program_; }
    const std::string& name() const { return name_; }
    std::uint32_t cpu_port() const { return cpu_port_; }

    // Runs a frame through parser, ingress, egress and deparser. Every frame that leaves is appended to
    // `out`, its vl set from standard_metadata.priority. Throws when the program's assert fails or a frame
    // exceeds its passes; the frames at work are lost then.
    void process(FrameHandle frame, std::uint32_t ingress_port, Time now, Outputs& out);

    // process() in two steps, for programs that read queue metadata: ingress returns pending frames for
    // ports; egress runs after such a frame has left its queue, and returns frames that leave and further
    // pending frames.
    bool reads_queue() const { return program_ != nullptr && program_->reads_queue; }
    void ingress(FrameHandle frame, std::uint32_t ingress_port, Time now, Outputs& out);
    void egress(FrameHandle frame, std::uint32_t port, const QueueRecord& queue, Time now, Outputs& out);

    // process(), with a step for each note of a traced program.
    void trace(FrameHandle frame, std::uint32_t ingress_port, Time now, Outputs& out,
               std::vector<TraceStep>& steps);

    // For a profile: run a frame without copies as far as `last`.
    void run_to(Traversal::Part last, FrameHandle frame, std::uint32_t ingress_port);

    // Pending digests, oldest first; the caller clears the list.
    std::vector<Digest>& digests() { return digests_; }
    std::function<void(const std::string&)> on_log;  // receives log_msg; if unset, messages are not formatted
    // Called before each further pass of a frame and every 1,024 rounds of its loops; may throw to end the
    // frame.
    std::function<void()> on_checkpoint;

    // A table, whose content the caller may change.
    Table& table(std::size_t at) {
        if (!std::exchange(changed_, true)) shares_.changed.push_back(this);
        return tables_.at(at);
    }
    // Share contents that have changed with other switches of the program.
    void share_contents();
    // Let the processor fetch what each frame reads: of the switch, then its lists, then its tables.
    void fetch() const { fetch_lines(&program_, 2); }
    void fetch_lists() const {
        fetch_lines(contents_.data(), 2);
        railyard::fetch(counters_.data());
    }
    void fetch_tables() const {
        for (const auto& content : contents_) fetch_lines(content.get(), 2);
    }
    std::size_t table_count() const { return tables_.size(); }
    Profile& profile(std::size_t at) { return *profiles_.at(at); }
    Meter& meter(std::size_t array, std::size_t at) { return meters_.at(array).at(at); }
    // Earliest time at which an entry ages; -1: none. table_due: whether an entry of a table has aged.
    Time next_ageing() const;
    bool table_due(std::size_t table, Time now) const { return tables_.at(table).due(now); }
    // True if a frame hit an aged entry since the last call; next_ageing() has changed then.
    bool take_revived() { return std::exchange(revived_, false); }

    Counter& counter(std::size_t at) { return counters_.at(at); }
    std::vector<std::uint64_t>& registers(std::size_t at) {
        return registers_.at(at);
    }  // limbs(bits) words a cell
    std::size_t counter_count() const { return counters_.size(); }
    std::size_t register_count() const { return registers_.size(); }

    // Copies; an empty list of replicas removes the group or session.
    void set_multicast(std::uint32_t group, std::vector<Replica> replicas);
    void set_clone(std::uint32_t session, std::vector<Replica> replicas, std::uint32_t truncate);
    using Bytes = std::vector<std::uint8_t>;
    void set_value_set(std::size_t at,
                       std::vector<std::pair<Bytes, Bytes>> values);  // value, mask; as wide as the key

   private:
    friend class Traversal;
    friend struct TranslatedProgram;

    // A traversal for one frame, back with the switch at the end of the scope.
    class Lease {
       public:
        explicit Lease(Switch& owner);
        ~Lease();
        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;
        Traversal* operator->() const { return traversal_.get(); }

       private:
        Switch& owner_;
        std::unique_ptr<Traversal> traversal_;
    };

    std::uint64_t random(std::uint64_t low, std::uint64_t high);

    // Members that every frame needs come first, in few lines of the cache.
    alignas(64) std::shared_ptr<const Program> program_;
    std::shared_ptr<ProgramShare> share_;                  // of the program
    std::vector<std::shared_ptr<TableContent>> contents_;  // by table
    std::uint32_t cpu_port_;
    unsigned leased_ = 0;
    std::vector<Counter> counters_;
    std::vector<Digest> digests_;
    std::uint64_t epoch_ = 0;  // programs set so far
    bool changed_ = false;     // is in ProgramShares::changed
    bool revived_ = false;
    std::vector<TraceStep>* trace_ = nullptr;  // null: no frame is followed

    std::string name_;
    FramePool& pool_;
    ProgramShares& shares_;
    std::vector<Table> tables_;
    std::vector<std::unique_ptr<Profile>> profiles_;
    std::vector<std::vector<std::uint64_t>> registers_;
    std::vector<std::vector<Meter>> meters_;
    std::vector<std::vector<std::pair<Bytes, Bytes>>> value_sets_;
    std::unordered_map<std::uint32_t, std::vector<Replica>> multicast_;
    std::unordered_map<std::uint32_t, CloneSession> clones_;
    std::uint64_t random_ = 0xCBF29CE484222325ULL;
};

}  // namespace railyard
