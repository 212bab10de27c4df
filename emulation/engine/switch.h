// SPDX-License-Identifier: Apache-2.0
// One v1model switch: a program, its tables and arrays, and the run of a frame through it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frame.h"
#include "program.h"
#include "table.h"

namespace railyard {

using Time = std::int64_t;  // picoseconds

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

// A generate_digest call: the fields of its list, each in whole bytes.
struct Digest {
    int list;
    std::string fields;
};

class Switch {
   public:
    Switch(std::string name, std::uint32_t cpu_port, FramePool& pool)
        : name_(std::move(name)), cpu_port_(cpu_port), pool_(pool) {}

    void set_program(std::shared_ptr<const Program> program);
    const Program* program() const { return program_.get(); }
    const std::string& name() const { return name_; }
    std::uint32_t cpu_port() const { return cpu_port_; }

    // Runs a frame through parser, ingress, egress and deparser. Every frame that leaves is appended to `out`, its vl
    // set from standard_metadata.priority; frames that do not go back to the pool, the one given included.
    void process(Frame* frame, std::uint32_t ingress_port, Time now, Outputs& out);

    // The same in two steps, for programs that look at the queue between them: ingress gives frames for ports,
    // egress runs once a frame has left its port's queue.
    bool reads_queue() const { return false; }
    void ingress(Frame* frame, std::uint32_t ingress_port, Time now, Outputs& out) { process(frame, ingress_port, now, out); }
    void egress(Frame* frame, std::uint32_t port, const QueueRecord& queue, Time now, Outputs& out) {
        (void)queue, (void)now;
        out.push_back({port, frame});
    }

    // Digests that frames asked for since the last look, in order.
    std::vector<Digest>& digests() { return digests_; }

    Table& table(std::size_t at) { return tables_.at(at); }
    std::size_t table_count() const { return tables_.size(); }

    struct Counter {
        std::vector<std::uint64_t> packets, bytes;
    };
    Counter& counter(std::size_t at) { return counters_.at(at); }
    std::vector<std::uint64_t>& registers(std::size_t at) { return registers_.at(at); }
    std::size_t counter_count() const { return counters_.size(); }
    std::size_t register_count() const { return registers_.size(); }

   private:
    bool run(const Pipeline& pipeline);
    bool execute(const Code& code);  // false: exit
    void parse(const Frame& frame);
    void deparse(Frame& frame, FramePool& pool);
    std::uint32_t process_one(Frame& frame, std::uint32_t ingress_port, FramePool& pool);
    void extract(const Header& header, const std::uint8_t* bytes);
    void emit(const Header& header, std::uint8_t* bytes) const;
    int transition(const ParserState& state, const Frame& frame, bool& too_short) const;

    std::string name_;
    std::uint32_t cpu_port_;
    FramePool& pool_;
    std::vector<Digest> digests_;
    std::shared_ptr<const Program> program_;
    std::vector<std::uint64_t> slots_;
    std::vector<Table> tables_;
    std::vector<Counter> counters_;
    std::vector<std::vector<std::uint64_t>> registers_;
    std::uint64_t length_ = 0;      // of the frame as it came in
    std::uint32_t parsed_ = 0;      // bytes the parser consumed
};

}  // namespace railyard
