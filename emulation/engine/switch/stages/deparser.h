// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "switch/stages/frame_state.h"

namespace railyard {

// From slots to the bytes of a frame. A view of a frame state.
class Deparser {
   public:
    explicit Deparser(FrameState& state) : state_(state) {}

    void deparse(Frame& frame);
    // Set the parsed bytes aside, in FrameState::scratch, and return room for so many bytes in their place.
    [[nodiscard]] std::uint8_t* make_room(Frame& frame, unsigned bytes);

   private:
    void emit(const Header& header, const std::uint8_t* from, std::uint8_t* to);
    void overlay(const Header& header, std::uint8_t* bytes) const;

    FrameState& state_;
};

}  // namespace railyard
