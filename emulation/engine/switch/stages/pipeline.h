// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "switch/stages/frame_state.h"

namespace railyard {

// Ingress and egress: instructions and tables, from slots to slots. A view of a frame state.
class Pipeline {
   public:
    explicit Pipeline(FrameState& state) : state_(state) {}

    void ingress();
    void egress();
    // Run the code at a place: a control, or an expression of parser, deparser or checksum.
    void execute(Place at);
    // Run an instruction that execute() does not run by itself.
    void operate(const Instruction& instruction);
    // Look up a table with the present slots.
    [[nodiscard]] LookupResult look_up(std::size_t table);

   private:
    const Continuation& apply(std::size_t table);
    [[nodiscard]] LookupResult after_hit(Table& table, LookupResult result);
    void log(const LogMessage& message) const;

    // trace.cpp
    void note(const Instruction& instruction);
    void note_table(TraceStep& step);

    FrameState& state_;
};

}  // namespace railyard
