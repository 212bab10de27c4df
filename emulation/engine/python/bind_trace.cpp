// SPDX-License-Identifier: Apache-2.0
// Conversion of trace steps to Python dictionaries.
#include "python/bind.h"

namespace railyard::python {

namespace {

nb::list parameters_of(const load::Action& action, const std::vector<std::uint64_t>& values) {
    nb::list out;
    std::size_t at = 0;
    for (const load::Parameter& p : action.parameters) {
        out.append(nb::make_tuple(p.name, from_limbs(values.data() + at, p.bits)));
        at += load::limbs(p.bits);
    }
    return out;
}

void describe_lookup(nb::dict& d, const Program& program, const load::TableSpec& spec,
                     const switching::TraceStep& step) {
    nb::list key;
    std::size_t at = 0;
    for (const load::Key& k : spec.keys) {
        key.append(
            nb::make_tuple(k.name, kind_name(k.kind), k.bits, from_limbs(step.values.data() + at, k.bits)));
        at += load::limbs(k.bits);
    }
    d["key"] = key;
    const tables::Table::Choice& choice = step.choice;
    d["match"] = choice.entry ? nb::object(match_of(spec, *choice.entry)) : nb::object(nb::none());
    d["priority"] = choice.entry ? choice.entry->priority : tables::EntryPriority();
    d["action"] = choice.action ? program.actions[choice.action].name : std::string();
    d["params"] =
        choice.action ? parameters_of(program.actions[choice.action], choice.parameters) : nb::list();
    // Add this frame, which the table counts only after the step was recorded.
    if (choice.entry && spec.counted) d["packets"] = choice.count.packets + 1;
}

}  // namespace

nb::list from_trace(const Program& program, const std::vector<switching::TraceStep>& steps) {
    static const char* const kKinds[] = {"state", "table", "condition", "statement"};
    nb::list out;
    for (const switching::TraceStep& step : steps) {
        const load::Note& note = program.notes[step.note];
        nb::dict d;
        d["kind"] = kKinds[static_cast<int>(note.kind)];
        d["name"] = note.name;
        d["file"] = note.file;
        d["line"] = note.line;
        d["text"] = note.text;
        if (note.kind == load::Note::Kind::Condition || note.kind == load::Note::Kind::Table)
            d["outcome"] = step.outcome;
        if (note.kind == load::Note::Kind::Table)
            describe_lookup(d, program, program.tables[note.table], step);
        if (note.kind == load::Note::Kind::Statement) {
            d["target"] = note.target;
            d["value"] = step.values.empty() ? nb::object(nb::none())
                                             : nb::object(from_limbs(step.values.data(), note.bits));
        }
        out.append(d);
    }
    return out;
}

}  // namespace railyard::python
