// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "switch/stages/frame_state.h"

namespace railyard::switching {

// Parser: extracts headers of a frame into the slots of a FrameState.
class Parser {
   public:
    explicit Parser(FrameState& state) : state_(state) {}

    void parse(Frame& frame) {
        if (state_.program.translation.parse != nullptr) state_.program.translation.parse(state_, frame);
        else interpret(frame);
    }

   private:
    void interpret(Frame& frame);
    [[nodiscard]] bool lacks(Frame& frame, std::uint64_t bytes) const;
    [[nodiscard]] std::uint64_t parse_op(const ParserOp& op, Frame& frame);  // returns an error, or 0
    [[nodiscard]] std::uint64_t extract_fixed(const Header& header, Frame& frame);
    [[nodiscard]] std::uint64_t extract_variable(const Header& header, const ParserOp& op, Frame& frame);
    [[nodiscard]] std::uint64_t extract_next(const Stack& stack, const ParserOp& op, Frame& frame);
    void finish_extract(const Header& header, std::uint32_t bytes);
    [[nodiscard]] Index<ParserState> transition(const ParserState& state) const;
    [[nodiscard]] Index<ParserState> wide_transition(const ParserState& state, Frame& frame,
                                                     std::uint64_t& error);
    [[nodiscard]] bool in_value_set(const Transition& t, const std::uint8_t* key, unsigned bytes) const;
    [[nodiscard]] const std::uint64_t* key_value(const TransitionKey& key) const;
    void execute(Place at);

    FrameState& state_;
};

}  // namespace railyard::switching
