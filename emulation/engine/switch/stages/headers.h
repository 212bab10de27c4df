// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "switch/stages/frame_state.h"

namespace railyard::switching {

// Operations on headers, unions and stacks of a FrameState. Numbers that are no header's index are ignored.
class Headers {
   public:
    explicit Headers(FrameState& state) : state_(state) {}

    void add(std::uint64_t header);
    void remove(std::uint64_t header);
    void copy(std::uint64_t to, std::uint64_t from);
    [[nodiscard]] bool equal(std::uint64_t a, std::uint64_t b) const;
    void shift_stack(const Stack& stack, std::uint64_t by, bool push);
    void copy_stack(const Stack& to, const Stack& from);

   private:
    void swap(Index<Header> a, Index<Header> b);

    FrameState& state_;
};

}  // namespace railyard::switching
