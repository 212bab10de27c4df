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

class Switch {
   public:
    Switch(std::string name, std::uint32_t cpu_port) : name_(std::move(name)), cpu_port_(cpu_port) {}

    void set_program(std::shared_ptr<const Program> program);
    const Program* program() const { return program_.get(); }
    const std::string& name() const { return name_; }
    std::uint32_t cpu_port() const { return cpu_port_; }

    // Runs parser, ingress, egress and deparser; rewrites the frame in place. Returns the egress port, or
    // kDropPort. Sets frame.vl from standard_metadata.priority.
    std::uint32_t process(Frame& frame, std::uint32_t ingress_port, FramePool& pool);

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
    void extract(const Header& header, const std::uint8_t* bytes);
    void emit(const Header& header, std::uint8_t* bytes) const;
    int transition(const ParserState& state, const Frame& frame, bool& too_short) const;

    std::string name_;
    std::uint32_t cpu_port_;
    std::shared_ptr<const Program> program_;
    std::vector<std::uint64_t> slots_;
    std::vector<Table> tables_;
    std::vector<Counter> counters_;
    std::vector<std::vector<std::uint64_t>> registers_;
    std::uint64_t length_ = 0;      // of the frame as it came in
    std::uint32_t parsed_ = 0;      // bytes the parser consumed
};

}  // namespace railyard
