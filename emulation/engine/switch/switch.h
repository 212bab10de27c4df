// SPDX-License-Identifier: Apache-2.0
// A v1model switch: its program, tables, arrays, multicast groups and clone sessions, and the processing of
// frames.
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

namespace railyard::switching {

class Switch {
   public:
    Switch(std::string name, Port cpu_port, FramePool& pool, ProgramShares& shares);

    void set_program(std::shared_ptr<const Program> program);  // also clears all entries and state
    [[nodiscard]] const Program* program() const { return state_.program.get(); }
    [[nodiscard]] std::shared_ptr<const Program> shared_program() const { return state_.program; }
    [[nodiscard]] const std::string& name() const { return state_.name; }
    [[nodiscard]] Port cpu_port() const { return cpu_port_; }

    // Run a frame through parser, ingress, egress and deparser. Append each frame that leaves to `out`, with
    // its priority. runtime_error if the program's assert fails or the frame
    // exceeds its budget; the frame and its copies are then lost.
    void process(FrameHandle frame, Port ingress_port, Time now, Outputs& out);

    // process() in two steps, for programs that read queue metadata: ingress appends pending frames for
    // ports; egress runs once such a frame has left its queue, and appends the frame that leaves and further
    // pending frames.
    [[nodiscard]] bool reads_queue() const {
        return state_.program != nullptr && state_.program->reads_queue;
    }
    void ingress(FrameHandle frame, Port ingress_port, Time now, Outputs& out);
    void egress(FrameHandle frame, Port port, const QueueRecord& queue, Time now, Outputs& out);
    // Return a bit of the packet that a pending frame would be without egress, counted from the most
    // significant bit of its first byte. The headers of a pending frame are fields, not yet bytes.
    [[nodiscard]] bool pending_bit(const Frame& frame, std::uint32_t bit) const;

    // Run process(), and append a step for each note of a traced program to `steps`.
    void trace(FrameHandle frame, Port ingress_port, Time now, Outputs& out, std::vector<TraceStep>& steps);

    // Run a frame up to stage `last`, without copies, to profile the stages.
    void run_to(Traversal::Part last, FrameHandle frame, Port ingress_port);

    // Pending digests, oldest first; the caller clears the list.
    std::vector<Digest>& digests() { return state_.digests; }
    // Begin a new sequence of the program's random numbers, which depends on the switch's name and the seed.
    void set_seed(std::uint64_t seed) { state_.set_seed(seed); }
    // Set the receiver of log_msg lines. Without it, lines are not formatted.
    void set_log(std::function<void(const std::string&)> log) { state_.on_log = std::move(log); }
    [[nodiscard]] bool logs() const { return static_cast<bool>(state_.on_log); }
    // Set a function to call before each further pass of a frame and every 1,024 rounds of its loops. It may
    // throw to end the frame.
    void set_checkpoint(std::function<void()> call) { state_.on_checkpoint = std::move(call); }

    // Return a table; the caller may change its content.
    tables::Table& table(std::size_t at) {
        if (!std::exchange(changed_, true)) shares_.changed.push_back(this);
        return state_.tables.at(at);
    }
    // Share equal table contents with other switches of the program.
    void share_contents();
    // Prefetch, in this order, the memory that each frame reads: of the switch, its lists, and its tables.
    void fetch() const { fetch_lines(this, 2); }
    void fetch_lists() const {
        fetch_lines(state_.contents.data(), 3);
        railyard::fetch(state_.counters.data());
    }
    void fetch_tables() const {
        for (std::size_t at = 0; at < looked_up_; ++at) fetch_lines(state_.contents[at].get(), 2);
    }
    [[nodiscard]] std::size_t table_count() const { return state_.tables.size(); }
    tables::Profile& profile(std::size_t at) { return *state_.profiles.at(at); }
    tables::Meter& meter(std::size_t array, std::size_t at) { return state_.meters.at(array).at(at); }
    // Return the earliest time at which an entry ages; kUnset: none. table_due() returns true if an entry of
    // a table has aged.
    [[nodiscard]] Time next_ageing() const;
    [[nodiscard]] bool table_due(std::size_t table, Time now) const {
        return state_.tables.at(table).due(now);
    }
    // Return true if a frame has hit an aged entry since the last call, which changes next_ageing().
    bool take_revived() { return std::exchange(state_.revived, false); }

    tables::Counter& counter(std::size_t at) { return state_.counters.at(at); }
    std::vector<std::uint64_t>& registers(std::size_t at) {
        return state_.registers.at(at);
    }  // limbs(bits) words a cell
    [[nodiscard]] std::size_t counter_count() const { return state_.counters.size(); }
    [[nodiscard]] std::size_t register_count() const { return state_.registers.size(); }

    // Set a multicast group or clone session; an empty list of replicas removes it. truncate: bytes; 0:
    // whole.
    void set_multicast(std::uint32_t group, std::vector<Replica> replicas);
    void set_clone(std::uint32_t session, std::vector<Replica> replicas, std::uint32_t truncate);
    using ByteString = SwitchState::ByteString;
    void set_value_set(
        std::size_t at,
        std::vector<std::pair<ByteString, ByteString>> values);  // value, mask; as wide as the key

   private:
    // A Traversal borrowed for a scope from the idle Traversals of the program.
    class Lease {
       public:
        explicit Lease(Switch& owner);
        ~Lease();
        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;
        Traversal* operator->() const { return traversal_; }

       private:
        Switch& owner_;
        Traversal* traversal_;
    };

    // Members that every frame needs come first, in few lines of the cache.
    alignas(64) std::shared_ptr<ProgramShare> share_;  // null without a program
    Port cpu_port_;
    unsigned leased_ = 0;
    std::uint16_t looked_up_ = 0;  // Program::looked_up
    bool changed_ = false;         // is in ProgramShares::changed
    SwitchState state_;
    ProgramShares& shares_;  // of the switch's partition; SwitchSet owns it
};

}  // namespace railyard::switching
