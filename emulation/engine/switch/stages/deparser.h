// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include "switch/stages/frame_state.h"

namespace railyard::switching {

// Deparser: writes the valid headers of a FrameState into the frame.
class Deparser {
   public:
    explicit Deparser(FrameState& state) : state_(state) {}

    void deparse(Frame& frame) {
        if (state_.program.translation.deparse != nullptr) state_.program.translation.deparse(state_, frame);
        else interpret(frame);
    }
    // Save the parsed bytes in FrameState::scratch, and replace them by `bytes` bytes, uninitialised; return
    // their address.
    [[nodiscard]] static std::uint8_t* make_room(FrameState& state, Frame& frame, unsigned bytes) {
        ASSERT(state.parsed <= frame.stored);
        if (state.scratch.size() < state.parsed) [[unlikely]]
            state.scratch.resize(state.parsed);
        std::memcpy(state.scratch.data(), frame.data(), state.parsed);
        const std::uint32_t payload = frame.start + state.parsed;
        if (bytes > payload) [[unlikely]]
            enlarge(state, frame, bytes);
        else frame.start = payload - bytes;
        frame.length += bytes - state.parsed;
        frame.stored += bytes - state.parsed;
        return frame.data();
    }

   private:
    static void enlarge(FrameState& state, Frame& frame, unsigned bytes);
    void interpret(Frame& frame);
    void emit(const Header& header, const std::uint8_t* from, std::uint8_t* to);
    void overlay(const Header& header, std::uint8_t* bytes) const;

    FrameState& state_;
};

}  // namespace railyard::switching
