// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "switch/stages/frame_state.h"

namespace railyard::switching {

// Ingress and egress: runs instructions and tables on the slots of a FrameState. Functions that translated
// programs call for every frame are static and take the state, which is faster than a Pipeline in memory.
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
    // Run the code from address `at` to its end: a control, or an expression of parser, deparser or checksum.
    void execute(Place at);
    // Run an instruction that execute() does not implement (see operations.cpp).
    static void operate(FrameState& state, const Instruction& instruction);
    // Look up a table with the current slots, and account a hit (counter, age, meter).
    // `position`: of the table's content.
    [[nodiscard]] static tables::LookupResult look_up(FrameState& state, std::size_t table,
                                                      std::size_t position);

   private:
    const tables::Continuation& apply(std::size_t table, std::size_t position);
    [[nodiscard]] static tables::LookupResult after_hit(FrameState& state, tables::Table& table,
                                                        tables::LookupResult result);
    void log(const load::LogMessage& message) const;

    // trace.cpp
    void note(const Instruction& instruction);
    void note_table(TraceStep& step);

    FrameState& state_;
};

}  // namespace railyard::switching
