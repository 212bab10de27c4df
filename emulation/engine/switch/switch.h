// SPDX-License-Identifier: Apache-2.0
// A v1model switch: a program, its tables and arrays, its copies, and the frames that run through it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "switch/program_shares.h"
#include "switch/state.h"
#include "switch/traversal.h"

namespace railyard {

class Switch {
   public:
    Switch(std::string name, std::uint32_t cpu_port, FramePool& pool, ProgramShares& shares);

    void set_program(std::shared_ptr<const Program> program);  // also clears all entries and state
    const Program* program() const { return state_.program.get(); }
    std::shared_ptr<const Program> shared_program() const { return state_.program; }
    const std::string& name() const { return state_.name; }
    std::uint32_t cpu_port() const { return cpu_port_; }

    // Runs a frame through parser, ingress, egress and deparser. Every frame that leaves is appended to
    // `out`, its vl set from standard_metadata.priority. Throws when the program's assert fails or a frame
    // exceeds its passes; the frames at work are lost then.
    void process(FrameHandle frame, std::uint32_t ingress_port, Time now, Outputs& out);

    // process() in two steps, for programs that read queue metadata: ingress returns pending frames for
    // ports; egress runs after such a frame has left its queue, and returns frames that leave and further
    // pending frames.
    bool reads_queue() const { return state_.program != nullptr && state_.program->reads_queue; }
    void ingress(FrameHandle frame, std::uint32_t ingress_port, Time now, Outputs& out);
    void egress(FrameHandle frame, std::uint32_t port, const QueueRecord& queue, Time now, Outputs& out);

    // process(), with a step for each note of a traced program.
    void trace(FrameHandle frame, std::uint32_t ingress_port, Time now, Outputs& out,
               std::vector<TraceStep>& steps);

    // For a profile: run a frame without copies as far as `last`.
    void run_to(Traversal::Part last, FrameHandle frame, std::uint32_t ingress_port);

    // Pending digests, oldest first; the caller clears the list.
    std::vector<Digest>& digests() { return state_.digests; }
    // Receives lines of log_msg. Without it lines are not formatted.
    void set_log(std::function<void(const std::string&)> log) { state_.on_log = std::move(log); }
    [[nodiscard]] bool logs() const { return static_cast<bool>(state_.on_log); }
    // Called before each further pass of a frame and every 1,024 rounds of its loops; may throw to end the
    // frame.
    void set_checkpoint(std::function<void()> call) { state_.on_checkpoint = std::move(call); }

    // A table, whose content the caller may change.
    Table& table(std::size_t at) {
        if (!std::exchange(changed_, true)) shares_.changed.push_back(this);
        return state_.tables.at(at);
    }
    // Share contents that have changed with other switches of the program.
    void share_contents();
    // Let the processor fetch what each frame reads: of the switch, then its lists, then its tables.
    void fetch() const { fetch_lines(this, 2); }
    void fetch_lists() const {
        fetch_lines(state_.contents.data(), 2);
        railyard::fetch(state_.counters.data());
    }
    void fetch_tables() const {
        for (const auto& content : state_.contents) fetch_lines(content.get(), 2);
    }
    std::size_t table_count() const { return state_.tables.size(); }
    Profile& profile(std::size_t at) { return *state_.profiles.at(at); }
    Meter& meter(std::size_t array, std::size_t at) { return state_.meters.at(array).at(at); }
    // Earliest time at which an entry ages; -1: none. table_due: whether an entry of a table has aged.
    Time next_ageing() const;
    bool table_due(std::size_t table, Time now) const { return state_.tables.at(table).due(now); }
    // True if a frame hit an aged entry since the last call; next_ageing() has changed then.
    bool take_revived() { return std::exchange(state_.revived, false); }

    Counter& counter(std::size_t at) { return state_.counters.at(at); }
    std::vector<std::uint64_t>& registers(std::size_t at) {
        return state_.registers.at(at);
    }  // limbs(bits) words a cell
    std::size_t counter_count() const { return state_.counters.size(); }
    std::size_t register_count() const { return state_.registers.size(); }

    // Copies; an empty list of replicas removes the group or session.
    void set_multicast(std::uint32_t group, std::vector<Replica> replicas);
    void set_clone(std::uint32_t session, std::vector<Replica> replicas, std::uint32_t truncate);
    using Bytes = SwitchState::Bytes;
    void set_value_set(std::size_t at,
                       std::vector<std::pair<Bytes, Bytes>> values);  // value, mask; as wide as the key

   private:
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

    // Members that every frame needs come first, in few lines of the cache.
    alignas(64) std::shared_ptr<ProgramShare> share_;  // of the program
    std::uint32_t cpu_port_;
    unsigned leased_ = 0;
    bool changed_ = false;  // is in ProgramShares::changed
    SwitchState state_;
    ProgramShares& shares_;  // of the switch's thread, which the set of switches owns
};

}  // namespace railyard
