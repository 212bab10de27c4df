// SPDX-License-Identifier: Apache-2.0
// Recording of the steps of a frame in a traced program.
#include "switch/stages/calculations.h"
#include "switch/stages/pipeline.h"

namespace railyard::switching {

void Pipeline::note(const Instruction& i) {
    const Note& note = state_.program.notes[Index<Note>(i.a)];
    TraceStep step{.note = Index<Note>(i.a), .outcome = i.b != 0};
    if (note.kind == Note::Kind::Table) note_table(step);
    else if (note.slot != kNoSlot)
        for (unsigned limb = 0; limb < limbs(note.bits); ++limb)
            step.values.push_back(state_.slots[note.slot + limb]);
    state_.owner->trace->push_back(std::move(step));
}

// Record the lookup of a table as the Apply instruction that follows will do it.
void Pipeline::note_table(TraceStep& step) {
    const tables::Table& table = state_.owner->tables[state_.program.notes[step.note].table.at()];
    const TableSpec& spec = table.spec();
    for (const load::Key& k : spec.keys)
        for (unsigned limb = 0; limb < limbs(k.bits); ++limb)
            step.values.push_back(state_.slots[k.slot + limb] & (k.mask.empty() ? ~0ULL : k.mask[limb]));
    step.choice = table.explain(state_.slots.data(), [&] {
        return Calculations(state_).calculate(
            state_.program.calculations[state_.program.profiles[spec.profile].selector]);
    });
    step.outcome = step.choice.entry.has_value();
}

}  // namespace railyard::switching
