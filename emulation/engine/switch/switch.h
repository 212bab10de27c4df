// SPDX-License-Identifier: Apache-2.0
// One v1model switch: a program, its tables and arrays, and the run of a frame through it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frames/frame.h"
#include "tables/meter.h"
#include "tables/profile.h"
#include "load/program.h"
#include "tables/table.h"

namespace railyard {

struct Output {
    std::uint32_t port;
    Frame* frame;
};
using Outputs = std::vector<Output>;

// What a frame saw of its egress queue. Depths in frames.
struct QueueRecord {
    Time enqueued = 0, dequeued = 0;
    std::uint32_t enqueue_depth = 0, dequeue_depth = 0;
};

// A generate_digest call: the fields of its list, each in whole bytes. list: the program's number of it.
struct Digest {
    int list;
    std::string fields;
};

// Where a copy of a multicast group or a clone session goes.
struct Replica {
    std::uint32_t port, rid;
};

class Switch {
   public:
    Switch(std::string name, std::uint32_t cpu_port, FramePool& pool);

    void set_program(std::shared_ptr<const Program> program);  // and forgets everything
    const Program* program() const { return program_.get(); }
    std::shared_ptr<const Program> shared_program() const { return program_; }
    const std::string& name() const { return name_; }
    std::uint32_t cpu_port() const { return cpu_port_; }

    // Runs a frame through parser, ingress, egress and deparser. Every frame that leaves is appended to `out`, its vl
    // set from standard_metadata.priority; frames that do not go back to the pool, the one given included. Throws when
    // the program's assert fails or a frame goes round for ever; the frames at work are lost then.
    void process(Frame* frame, std::uint32_t ingress_port, Time now, Outputs& out) { run(frame, ingress_port, now, out, false); }

    // The same in two steps, for programs that look at the queue between them: ingress gives pending frames for ports;
    // egress runs once such a frame has left its port's queue, and gives what leaves, or more pending frames.
    bool reads_queue() const { return program_ != nullptr && program_->reads_queue; }
    void ingress(Frame* frame, std::uint32_t ingress_port, Time now, Outputs& out) { run(frame, ingress_port, now, out, true); }
    void egress(Frame* frame, std::uint32_t port, const QueueRecord& queue, Time now, Outputs& out);

    // For a profile: only so far along the way of a frame without copies; the frame goes back to the pool.
    enum class Part { Copy, Parse, Ingress, Egress, Deparse };
    void run_to(Part last, Frame* frame, std::uint32_t ingress_port);

    // Digests that frames asked for since the last look, in order.
    std::vector<Digest>& digests() { return digests_; }
    std::function<void(const std::string&)> on_log;  // log_msg; unset: not even formatted

    Table& table(std::size_t at) { return tables_.at(at); }
    std::size_t table_count() const { return tables_.size(); }
    Profile& profile(std::size_t at) { return *profiles_.at(at); }
    Meter& meter(std::size_t array, std::size_t at) { return meters_.at(array).at(at); }
    // The soonest moment at which some entry may have aged; -1: none. table_due: whether one of the table's has.
    Time next_ageing() const;
    bool table_due(std::size_t table, Time now) const { return tables_.at(table).due(now); }
    // Whether a frame has hit an entry that had aged, since this was last asked: next_ageing() is another one then.
    bool take_revived() { return std::exchange(revived_, false); }

    struct Counter {
        std::vector<std::uint64_t> packets, bytes;
    };
    Counter& counter(std::size_t at) { return counters_.at(at); }
    std::vector<std::uint64_t>& registers(std::size_t at) { return registers_.at(at); }  // limbs(bits) words a cell
    std::size_t counter_count() const { return counters_.size(); }
    std::size_t register_count() const { return registers_.size(); }

    // Copies: no replicas removes.
    void set_multicast(std::uint32_t group, std::vector<Replica> replicas);
    void set_clone(std::uint32_t session, std::vector<Replica> replicas, std::uint32_t truncate);
    using Bytes = std::vector<std::uint8_t>;
    void set_value_set(std::size_t at, std::vector<std::pair<Bytes, Bytes>> values);  // value, mask; as wide as the key

   private:
    enum Instance : std::uint64_t { kNormal = 0, kIngressClone = 1, kEgressClone = 2, kRecirculated = 4, kReplicated = 5, kResubmitted = 6 };
    struct Clone {
        std::vector<Replica> replicas;
        std::uint32_t truncate = 0;
    };
    // What an action asked to happen to the frame besides.
    struct Asked {
        std::uint64_t clone = 0, clone_fields = 0, resubmit = 0, recirculate = 0, digest = 0;
        bool cloned = false, any = false;
    };
    // A frame that must still run, here and now.
    struct Later {
        Frame* frame;
        std::uint32_t port;
        bool to_ingress;
        bool counts = to_ingress;  // a frame that breeds such for ever never leaves
    };

    // switch.cpp: from place to place
    void begin(const Frame& frame, std::uint32_t ingress_port);
    void run(Frame* frame, std::uint32_t ingress_port, Time now, Outputs& out, bool defer);
    void drain(Outputs& out, bool defer);
    void ingress_pass(Frame* frame, Outputs& out, bool defer);
    void egress_pass(Frame* frame, std::uint32_t port, const QueueRecord& queue, Outputs& out, bool defer);
    bool ingress_requests(Frame* frame, Outputs& out, bool defer);
    void clone_ingress(const Frame& frame, const Clone& clone, Outputs& out, bool defer);
    void copy_out(const Frame& frame, const std::vector<Replica>& replicas, Outputs& out, bool defer, bool counts = false);
    void again(Frame* frame, std::uint64_t list, Instance instance, std::uint64_t length);
    void digest(std::uint64_t id);
    void keep(std::uint64_t list);
    void restore(std::uint64_t list);
    void save(Frame& frame);
    void load(const Frame& frame);
    void lose();

    // execute.cpp
    void execute(Place at);
    void attend(Table& table, LookupResult& found);
    void log(const LogMessage& message) const;
    std::uint64_t random(std::uint64_t low, std::uint64_t high);

    // header_ops.cpp
    void add_header(std::uint64_t header);
    void remove_header(std::uint64_t header);
    void copy_header(std::uint64_t to, std::uint64_t from);
    bool equal_headers(std::uint64_t a, std::uint64_t b) const;
    void shift_stack(const Stack& stack, std::uint64_t by, bool push);
    void copy_stack(const Stack& to, const Stack& from);
    void swap_headers(int a, int b);

    // parse.cpp
    void parse(const Frame& frame);
    std::uint64_t parse_op(const ParserOp& op, const Frame& frame);  // an error, or 0
    std::uint64_t extract(int header, const ParserOp& op, const Frame& frame);
    void extract_fixed(const Header& header, const std::uint8_t* bytes);
    void extract_variable(const Header& header, const std::uint8_t* bytes, std::uint64_t bits);
    int transition(const ParserState& state, const Frame& frame, std::uint64_t& error);
    int wide_transition(const ParserState& state, const Frame& frame, std::uint64_t& error);
    bool in_value_set(const Transition& t, const std::uint8_t* key, unsigned bytes) const;
    const std::uint64_t* key_value(const TransitionKey& key) const;

    // deparse.cpp
    void deparse(Frame& frame);
    unsigned emitted_bytes(const Header& header) const;
    void emit(const Header& header, const std::uint8_t* from, std::uint8_t* to) const;
    void overlay(const Header& header, std::uint8_t* bytes) const;
    std::uint64_t calculate(const Calculation& calculation);
    bool wanted(const Checksum& checksum);
    void verify_checksums();
    void update_checksums();

    std::string name_;
    std::uint32_t cpu_port_;
    FramePool& pool_;
    std::shared_ptr<const Program> program_;
    std::uint64_t epoch_ = 0;  // programs set so far
    std::vector<Table> tables_;
    std::vector<std::unique_ptr<Profile>> profiles_;
    std::vector<Counter> counters_;
    std::vector<std::vector<std::uint64_t>> registers_;
    std::vector<std::vector<Meter>> meters_;
    std::vector<std::vector<std::pair<Bytes, Bytes>>> value_sets_;
    std::unordered_map<std::uint32_t, std::vector<Replica>> multicast_;
    std::unordered_map<std::uint32_t, Clone> clones_;
    std::vector<Digest> digests_;
    bool revived_ = false;

    // Of the frame at work.
    std::vector<std::uint64_t> slots_;
    const Frame* frame_ = nullptr;
    Time now_ = 0;
    std::uint64_t ingress_length_ = 0;  // as it came in: what counters and meters count
    std::uint64_t length_ = 0;          // as v1model's packet_length has it
    std::uint32_t parsed_ = 0;          // bytes the parser consumed
    std::uint32_t truncate_ = 0;        // 0: whole
    Asked asked_;
    unsigned passes_ = 0;
    std::deque<Later> later_;
    std::vector<std::uint64_t> kept_;
    Bytes scratch_;
    std::uint64_t random_;
};

}  // namespace railyard
