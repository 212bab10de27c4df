// SPDX-License-Identifier: Apache-2.0
// State of a frame while a switch processes it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "frames/frame.h"
#include "load/program/program.h"
#include "switch/state.h"

namespace railyard::switching {

// Field values of a frame (in slots), position of the parser, and requests of the program. Parser, Pipeline,
// Deparser and the other stages hold only a reference to a FrameState and are created for a call. Frames of
// the same program reuse a FrameState in turn, so that a frame allocates nothing and the slots stay in the
// cache.
struct FrameState {
    // Requests by primitives of the program; 0: none.
    struct Requests {
        std::uint64_t clone = 0, clone_fields = 0, resubmit = 0, recirculate = 0, digest = 0;
        bool cloned = false, any = false;
    };
    static std::uint64_t microseconds(Time t) { return static_cast<std::uint64_t>(t / kMicrosecond); }
    static constexpr std::uint32_t kCheckedRounds = 1024;

    explicit FrameState(std::shared_ptr<const Program> of);
    FrameState(const FrameState&) = delete;

    // Steps before and between the stages. `s`: Program::standard. A translated program knows it as
    // constants, with kNoSlot for a field that it never uses.
    void begin(const Frame& arrived, Port ingress_port, Time time, const StandardSlots& s) {
        now = time;
        left = {};
        std::fill_n(slots.data(), program.cleared_slots, 0);
        ingress_length = length = arrived.length;
        truncate = 0;
        set(s.ingress_port, ingress_port.value() & low_mask(load::kPortBits));
        set(s.packet_length, arrived.length);
    }
    void begin_ingress(Frame& of, const StandardSlots& s) {
        frame = &of;
        set(s.ingress_time, microseconds(now) & low_mask(48));
        forget_requests();
    }
    // Return the egress port of a frame that is neither copied nor dropped.
    [[nodiscard]] Port end_ingress(Frame& of, const StandardSlots& s) {
        set(s.instance_type, 0);  // kNormal
        of.set_priority(Priority(slots[s.priority]));
        return Port(slots[s.egress_spec]);
    }
    void begin_egress(Frame& of, Port to, const StandardSlots& s) {
        frame = &of;
        port = to;
        set(s.egress_time, microseconds(now) & low_mask(48));
        set(s.qid, of.priority().value() & low_mask(5));
        // v1model resets egress_spec: from here on, only egress can drop the frame.
        set(s.egress_port, to.value() & low_mask(load::kPortBits));
        slots[s.egress_spec] = 0;
        set(s.packet_length, length & low_mask(32));
        forget_requests();
    }
    // Save the state in a frame that continues later, and restore it; the frame is then no longer pending.
    void save(Frame& pending) const;
    void load(Frame& pending);

    // Return the length of a header in bytes, with its variable-length field.
    [[nodiscard]] unsigned bytes_of(const Header& header) const {
        unsigned bytes = header.bytes;
        if (header.variable)
            for (const Field& f : header.fields)
                if (f.variable) bytes += static_cast<unsigned>(slots[f.slot - 1] / 8);
        return bytes;
    }

    // Take passes, copies or loop rounds from the budget of a frame and its copies; runtime_error if it is
    // used up. The budget stops programs that recirculate, clone or loop endlessly.
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
    // Call the switch's on_checkpoint, which may throw to end the frame.
    void check() const {
        if (owner->on_checkpoint) owner->on_checkpoint();
    }

    const std::shared_ptr<const Program> owned_program;
    const Program& program;
    SwitchState* owner = nullptr;  // the switch that the frame is in
    std::vector<std::uint64_t> slots;
    Frame* frame = nullptr;
    Port port;  // egress port of the frame
    Time now{};
    std::uint64_t ingress_length = 0;  // bytes at arrival, for counters and meters
    std::uint64_t length = 0;          // packet_length of v1model
    std::uint32_t parsed = 0;          // bytes the parser consumed
    std::uint32_t truncate = 0;        // 0: whole
    Requests requests;
    tables::Continuation member;  // action of the profile member chosen last
    frames::Budget left;
    std::vector<std::uint8_t> scratch, emitted;

   private:
    void set(Slot slot, std::uint64_t value) {
        if (slot != kNoSlot) slots[slot] = value;
    }
    void forget_requests() {
        if (requests.any) requests = {};
    }
};

}  // namespace railyard::switching
