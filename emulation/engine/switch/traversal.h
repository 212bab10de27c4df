// SPDX-License-Identifier: Apache-2.0
// Traversal of a switch by a frame, with all copies and further passes of the frame.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "frames/frame.h"
#include "frames/ring.h"
#include "load/program/program.h"
#include "tables/table.h"

namespace railyard {

class Switch;
struct TraceStep;

struct Output {
    std::uint32_t port;
    FrameHandle frame;
};
using Outputs = std::vector<Output>;

// Queue metadata of a frame. Depths are in frames.
struct QueueRecord {
    Time enqueued = 0, dequeued = 0;
    std::uint32_t enqueue_depth = 0, dequeue_depth = 0;
};

// Destination of a copy of a multicast group or clone session.
struct Replica {
    std::uint32_t port, rid;
};

struct CloneSession {
    std::vector<Replica> replicas;
    std::uint32_t truncate = 0;
};

// All state of a frame at work: values of its fields, position of the parser, requests of the program.
// Traversals are independent of each other. Switches of the same program reuse them in turn: a frame
// allocates nothing, and the slots stay in the cache.
class Traversal {
   public:
    explicit Traversal(std::shared_ptr<const Program> program);

    // Work for a switch, of the same program, from now on.
    void attach(Switch& owner);

    // As Switch::process, Switch::ingress (defer) and Switch::egress; the caller has checked the program. A
    // frame that does not leave stays in its handle or goes back to the pool.
    void run(FrameHandle&& frame, std::uint32_t ingress_port, Time now, Outputs& out, bool defer);
    void run_egress(FrameHandle&& frame, std::uint32_t port, const QueueRecord& queue, Time now,
                    Outputs& out);

    // For a profile: run a frame without copies as far as `last`.
    enum class Part { Copy, Parse, Ingress, Egress, Deparse };
    void run_to(Part last, Frame& frame, std::uint32_t ingress_port);

   private:
    friend struct TranslatedProgram;

    enum Instance : std::uint64_t {
        kNormal = 0,
        kIngressClone = 1,
        kEgressClone = 2,
        kRecirculated = 4,
        kReplicated = 5,
        kResubmitted = 6
    };
    // Requests of actions besides an egress port.
    struct Requests {
        std::uint64_t clone = 0, clone_fields = 0, resubmit = 0, recirculate = 0, digest = 0;
        bool cloned = false, any = false;
    };
    // A frame whose pass follows in this traversal.
    struct Waiting {
        FrameHandle frame;
        std::uint32_t port = 0;
        bool to_ingress = false;
        bool counts = false;  // uses up a further pass
    };

    static constexpr std::uint32_t kCheckedRounds = 1024;

    // traversal.cpp
    void begin(const Frame& frame, std::uint32_t ingress_port, Time now);
    void finish_waiting(Outputs& out, bool defer);
    void divide_budget(Outputs& out, std::size_t first) const;
    void use_pass();
    void use_copies(std::size_t count);
    void use_rounds(unsigned count) {
        if (count > left_.rounds) [[unlikely]]
            refuse_rounds();
        const std::uint32_t before = left_.rounds - 1;
        left_.rounds -= count;
        if ((before ^ (left_.rounds - 1)) >= kCheckedRounds) [[unlikely]]
            check();
    }
    [[noreturn]] void refuse_rounds() const;
    void check() const;  // calls the switch's on_checkpoint, if it has one
    void ingress_pass(FrameHandle&& frame, Outputs& out, bool defer);
    void egress_pass(FrameHandle&& frame, std::uint32_t port, const QueueRecord& queue, Outputs& out,
                     bool defer);
    void clone_ingress(Frame& frame, const CloneSession& clone, Outputs& out, bool defer);
    void clone_egress(const Frame& frame, const CloneSession& clone, Outputs& out, bool defer);
    void copy_out(const Frame& frame, const std::vector<Replica>& replicas, Outputs& out, bool defer,
                  bool counts = false);
    void run_again(FrameHandle&& frame, std::uint64_t list, Instance instance, std::uint64_t length);
    void digest(std::uint64_t id);
    void preserve(std::uint64_t list);
    void restore(std::uint64_t list);
    void save(Frame& frame);
    void load(const Frame& frame);

    // execute.cpp
    void execute(Place at);
    void run_ingress();
    void run_egress();
    const Continuation& apply(std::size_t table);
    LookupResult look_up(std::size_t table);
    LookupResult after_hit(Table& table, LookupResult result);

    // operations.cpp
    void operate(const Instruction& instruction);
    void log(const LogMessage& message) const;

    // trace.cpp
    void note(const Instruction& instruction);
    void note_table(TraceStep& step);

    // header_ops.cpp
    void add_header(std::uint64_t header);
    void remove_header(std::uint64_t header);
    void copy_header(std::uint64_t to, std::uint64_t from);
    bool equal_headers(std::uint64_t a, std::uint64_t b) const;
    void shift_stack(const Stack& stack, std::uint64_t by, bool push);
    void copy_stack(const Stack& to, const Stack& from);
    void swap_headers(Index<Header> a, Index<Header> b);

    // parse.cpp
    bool lacks(Frame& frame, std::uint64_t bytes) const;
    void parse(Frame& frame);
    std::uint64_t parse_op(const ParserOp& op, Frame& frame);  // an error, or 0
    std::uint64_t extract_fixed(const Header& header, Frame& frame);
    std::uint64_t extract_variable(const Header& header, const ParserOp& op, Frame& frame);
    std::uint64_t extract_next(const Stack& stack, const ParserOp& op, Frame& frame);
    void finish_extract(const Header& header, std::uint32_t bytes);
    Index<ParserState> transition(const ParserState& state) const;
    Index<ParserState> wide_transition(const ParserState& state, Frame& frame, std::uint64_t& error);
    bool in_value_set(const Transition& t, const std::uint8_t* key, unsigned bytes) const;
    const std::uint64_t* key_value(const TransitionKey& key) const;

    // deparse.cpp
    void deparse(Frame& frame);
    std::uint8_t* make_room(Frame& frame, unsigned bytes);
    unsigned emitted_bytes(const Header& header) const;
    void emit(const Header& header, const std::uint8_t* from, std::uint8_t* to);
    void overlay(const Header& header, std::uint8_t* bytes) const;
    std::uint64_t calculate(const Calculation& calculation);
    bool applies(const Checksum& checksum);
    void verify_checksums();
    void update_checksums();

    const std::shared_ptr<const Program> owned_program_;
    const Program& program_;
    Switch* switch_ = nullptr;
    std::uint64_t epoch_ = 0;  // of the switch; saved slots of other epochs are of other programs
    std::vector<std::uint64_t> slots_;
    Frame* frame_ = nullptr;
    Time now_ = 0;
    std::uint64_t ingress_length_ = 0;  // at arrival; counted by counters and meters
    std::uint64_t length_ = 0;          // packet_length of v1model
    std::uint32_t parsed_ = 0;          // bytes the parser consumed
    std::uint32_t truncate_ = 0;        // 0: whole
    Requests requests_;
    Continuation member_;  // of the action profile's member that an entry led to
    Budget left_;
    Ring<Waiting> waiting_;
    std::vector<std::uint64_t> preserved_;  // fields that a copy or further pass preserves
    std::vector<std::uint64_t> set_aside_;  // slots while copies are made
    std::vector<std::uint8_t> scratch_, emitted_;
};

// Parts of a program that all its switches share.
struct ProgramShare {
    // Layouts, contents without entries, and contents of all switches, by table.
    std::vector<TableLayout> layouts;
    std::vector<std::shared_ptr<TableContent>> empty;
    std::vector<SharedContents> contents;
    std::vector<std::unique_ptr<Traversal>> idle;
};

class ProgramShares {
   public:
    std::shared_ptr<ProgramShare> of(const Program& program);
    // Let switches share their contents where these are equal.
    void share_contents();

    std::vector<Switch*> changed;  // switches whose tables may have changed since

   private:
    struct Known {
        const Program* program;
        std::weak_ptr<ProgramShare> share;
    };
    std::vector<Known> known_;
};

}  // namespace railyard
