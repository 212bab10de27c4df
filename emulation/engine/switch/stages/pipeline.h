// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "switch/stages/frame_state.h"

namespace railyard {

// Ingress and egress: instructions and tables, from slots to slots. A view of a frame state. What the code of
// translated programs calls for every frame takes the state itself, so that no view goes through memory.
class Pipeline {
   public:
    explicit Pipeline(FrameState& state) : state_(state) {}

    void ingress() {
        if (state_.program.translation.ingress != nullptr) state_.program.translation.ingress(state_);
        else execute(state_.program.ingress);
    }
    void egress() {
        if (state_.program.translation.egress != nullptr) state_.program.translation.egress(state_);
        else execute(state_.program.egress);
    }
    // Run the code at a place: a control, or an expression of parser, deparser or checksum.
    void execute(Place at);
    // Run an instruction that execute() does not run by itself.
    static void operate(FrameState& state, const Instruction& instruction);
    // Look up a table with the present slots.
    [[nodiscard]] static LookupResult look_up(FrameState& state, std::size_t table);

   private:
    const Continuation& apply(std::size_t table);
    [[nodiscard]] static LookupResult after_hit(FrameState& state, Table& table, LookupResult result);
    void log(const LogMessage& message) const;

    // trace.cpp
    void note(const Instruction& instruction);
    void note_table(TraceStep& step);

    FrameState& state_;
};

}  // namespace railyard
