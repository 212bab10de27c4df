// SPDX-License-Identifier: Apache-2.0
// Steps that a frame executes in a traced program.
#include "switch/switch.h"

namespace railyard {

void Traversal::note(const Instruction& i) {
    const Note& note = program_.notes[Index<Note>(i.a)];
    TraceStep step{.note = Index<Note>(i.a), .outcome = i.b != 0};
    if (note.kind == Note::Kind::Table) note_table(step);
    else if (note.slot != kNoSlot)
        for (unsigned limb = 0; limb < limbs(note.bits); ++limb)
            step.values.push_back(slots_[note.slot + limb]);
    switch_->trace_->push_back(std::move(step));
}

// Look the table up as its Apply, which follows, will.
void Traversal::note_table(TraceStep& step) {
    const Table& table = switch_->tables_[program_.notes[step.note].table.at()];
    const TableSpec& spec = table.spec();
    for (const Key& k : spec.keys)
        for (unsigned limb = 0; limb < limbs(k.bits); ++limb)
            step.values.push_back(slots_[k.slot + limb] & (k.mask.empty() ? ~0ULL : k.mask[limb]));
    step.choice = table.explain(slots_.data(), [&] {
        return calculate(program_.calculations[program_.profiles[spec.profile].selector]);
    });
    step.outcome = step.choice.entry.has_value();
}

void Switch::trace(FrameHandle frame, std::uint32_t ingress_port, Time now, Outputs& out,
                   std::vector<TraceStep>& steps) {
    struct Follow {
        Switch& owner;
        ~Follow() { owner.trace_ = nullptr; }
    } const follow{*this};
    trace_ = &steps;
    process(std::move(frame), ingress_port, now, out);
}

}  // namespace railyard
