// SPDX-License-Identifier: Apache-2.0
#pragma once

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
    [[nodiscard]] static std::uint8_t* make_room(FrameState& state, Frame& frame, unsigned bytes);

   private:
    void interpret(Frame& frame);
    void emit(const Header& header, const std::uint8_t* from, std::uint8_t* to);
    void overlay(const Header& header, std::uint8_t* bytes) const;

    FrameState& state_;
};

}  // namespace railyard::switching
