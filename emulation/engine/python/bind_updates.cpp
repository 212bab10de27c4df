// SPDX-License-Identifier: Apache-2.0
// Bindings of the fast path for serialised table updates.
#include <algorithm>

#include "p4runtime/entry_updates.h"
#include "python/bind.h"

namespace railyard::python {

namespace {

// Largest number of updates that are applied before the set's lock is released, so that frames get a turn.
constexpr std::size_t kUpdatesAtOnce = 64;

// Layouts as Python tuples. Field: (id, match kind, masked). Parameter: (id, bits). Action: (id, handle,
// parameters). Table: (id, handle, fields, actions).
using FieldTuple = std::tuple<std::uint32_t, std::string, bool>;
using ParameterTuple = std::pair<std::uint32_t, unsigned>;
using ActionTuple = std::tuple<std::uint32_t, std::size_t, std::vector<ParameterTuple>>;
using TableTuple = std::tuple<std::uint32_t, std::size_t, std::vector<FieldTuple>, std::vector<ActionTuple>>;

load::MatchKind kind_of(const std::string& name) {
    if (name == "exact") return load::MatchKind::Exact;
    if (name == "lpm") return load::MatchKind::Lpm;
    if (name == "ternary") return load::MatchKind::Ternary;
    if (name == "range") return load::MatchKind::Range;
    if (name == "optional") return load::MatchKind::Optional;
    throw std::invalid_argument("match kind " + name +
                                " is unknown; use exact, lpm, ternary, range or optional");
}

p4runtime::ActionLayout layout_of(const Program& program, const ActionTuple& given) {
    const auto& [id, handle, parameters] = given;
    p4runtime::ActionLayout layout{id, Index<load::Action>(handle), {}};
    const load::Action& action = program.actions.at(layout.action);
    const auto& own = action.parameters;
    if (own.size() != parameters.size())
        throw std::invalid_argument("action " + action.name + " has " + std::to_string(own.size()) +
                                    " parameters; the layout has " + std::to_string(parameters.size()));
    for (std::size_t i = 0; i < own.size(); ++i)
        layout.parameters.push_back({parameters[i].first, std::min(parameters[i].second, own[i].bits)});
    return layout;
}

p4runtime::EntryLayout layout_of(const Program& program, const TableTuple& given) {
    const auto& [id, handle, fields, actions] = given;
    const load::TableSpec& table = program.tables.at(handle);
    if (fields.size() != table.keys.size())
        throw std::invalid_argument("table " + table.name + " has " + std::to_string(table.keys.size()) +
                                    " match fields; the layout has " + std::to_string(fields.size()));
    p4runtime::EntryLayout layout{id, handle, false, {}, {}};
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const auto& [field_id, match, masked] = fields[i];
        const load::MatchKind kind = kind_of(match);
        layout.ordered |= kind != load::MatchKind::Exact && kind != load::MatchKind::Lpm;
        layout.fields.push_back({field_id, kind, masked, table.keys[i].bits});
    }
    for (const ActionTuple& action : actions) layout.actions.push_back(layout_of(program, action));
    return layout;
}

}  // namespace

void bind_updates(nb::module_& m, nb::class_<SwitchSet>& switches) {
    nb::class_<p4runtime::EntryLayouts>(m, "EntryLayouts",
                                        "P4Runtime ids of the tables of a program; immutable.")
        .def(nb::new_([](const Program& program, const std::vector<TableTuple>& tables) {
                 std::vector<p4runtime::EntryLayout> layouts;
                 layouts.reserve(tables.size());
                 for (const TableTuple& table : tables) layouts.push_back(layout_of(program, table));
                 return std::make_shared<p4runtime::EntryLayouts>(std::move(layouts));
             }),
             nb::arg("program"), nb::arg("tables"));
    nb::class_<p4runtime::EntryUpdates>(
        m, "EntryUpdates",
        "Updates of a serialised WriteRequest. ValueError if the bytes are no WriteRequest.")
        .def(nb::new_([](const nb::bytes& request) {
                 return std::make_shared<p4runtime::EntryUpdates>(view(request));
             }),
             nb::arg("request"))
        .def_prop_ro(
            "head", [](const p4runtime::EntryUpdates& updates) { return to_bytes(updates.head()); },
            "Serialised request without its updates.")
        .def_prop_ro("count", &p4runtime::EntryUpdates::count, "Number of updates.")
        .def("plain", &p4runtime::EntryUpdates::plain,
             nb::sig("def plain(self, layouts: EntryLayouts, /) -> bool"),
             "Return whether the engine can read every update.")
        .def_prop_ro("position", &p4runtime::EntryUpdates::position, "Index of the next update.")
        .def(
            "skip",
            [](p4runtime::EntryUpdates& updates) {
                if (updates.ended()) throw std::out_of_range("no update is left to skip");
                updates.skip();
            },
            "Skip the next update. IndexError if no update is left.");
    switches.def(
        "write_entries",
        [](SwitchSet& n, Index<Switch> sw, const p4runtime::EntryLayouts& layouts,
           p4runtime::EntryUpdates& updates) {
            while (!updates.ended())
                if (!updates.apply(*LockedSwitch(n, sw), layouts, kUpdatesAtOnce)) break;
        },
        nb::sig(
            "def write_entries(self, switch: int, layouts: EntryLayouts, updates: EntryUpdates, /) -> None"),
        "Apply updates of table entries in order, from the next update on.\n"
        "\n"
        "Stop before the first update that the engine cannot read or that fails; `updates.position` is\n"
        "its index.");
}

}  // namespace railyard::python
