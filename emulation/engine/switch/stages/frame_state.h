// SPDX-License-Identifier: Apache-2.0
// State of one frame at work in a switch.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "frames/frame.h"
#include "load/program/program.h"
#include "switch/state.h"

namespace railyard {

// Values of a frame's fields, position of the parser, requests of the program. Parser, Pipeline, Deparser and
// the other parts of a pass are views of a frame state, made for a call; they refer to it and have no state
// of their own. Frames of the same program use a frame state in turn: a frame allocates nothing, and the
// slots stay in the cache.
struct FrameState {
    // Requests of actions besides an egress port.
    struct Requests {
        std::uint64_t clone = 0, clone_fields = 0, resubmit = 0, recirculate = 0, digest = 0;
        bool cloned = false, any = false;
    };
    static constexpr std::uint32_t kCheckedRounds = 1024;

    explicit FrameState(std::shared_ptr<const Program> of);
    FrameState(const FrameState&) = delete;

    void begin(const Frame& arrived, std::uint32_t ingress_port, Time time);
    // Keep the state with a frame whose pass goes on later, and return to it.
    void save(Frame& pending) const;
    void load(const Frame& pending);

    // Bytes that a header has in a frame.
    [[nodiscard]] unsigned bytes_of(const Header& header) const {
        unsigned bytes = header.bytes;
        if (header.variable)
            for (const Field& f : header.fields)
                if (f.variable) bytes += static_cast<unsigned>(slots[f.slot - 1] / 8);
        return bytes;
    }

    // Resubmitted, recirculated and cloned frames can cause further frames without end, and a loop further
    // rounds: runtime_error once a frame and its copies have used up their budget.
    void use_pass();
    void use_copies(std::size_t count);
    void use_rounds(unsigned count) {
        if (count > left.rounds) [[unlikely]]
            refuse_rounds();
        const std::uint32_t before = left.rounds - 1;
        left.rounds -= count;
        if ((before ^ (left.rounds - 1)) >= kCheckedRounds) [[unlikely]]
            check();
    }
    [[noreturn]] void refuse_rounds() const;
    // Let the switch's on_checkpoint end the frame, by an exception.
    void check() const {
        if (owner->on_checkpoint) owner->on_checkpoint();
    }

    const std::shared_ptr<const Program> owned_program;
    const Program& program;
    SwitchState* owner = nullptr;  // the switch that the frame is in
    std::vector<std::uint64_t> slots;
    Frame* frame = nullptr;
    Time now = 0;
    std::uint64_t ingress_length = 0;  // at arrival; counted by counters and meters
    std::uint64_t length = 0;          // packet_length of v1model
    std::uint32_t parsed = 0;          // bytes the parser consumed
    std::uint32_t truncate = 0;        // 0: whole
    Requests requests;
    Continuation member;  // of the action profile's member that an entry led to
    Budget left;
    std::vector<std::uint8_t> scratch, emitted;
};

}  // namespace railyard
