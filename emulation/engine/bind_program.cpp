// SPDX-License-Identifier: Apache-2.0
// What a program says of itself.
#include "bind.h"
#include "program.h"

namespace railyard {

namespace {

const char* kind_name(MatchKind kind) {
    switch (kind) {
        case MatchKind::Exact: return "exact";
        case MatchKind::Lpm: return "lpm";
        case MatchKind::Ternary: return "ternary";
        case MatchKind::Range: return "range";
        default: return "optional";
    }
}

nb::list describe_tables(const Program& p) {
    nb::list out;
    for (std::size_t i = 0; i < p.tables.size(); ++i) {
        const TableSpec& t = p.tables[i];
        nb::list keys, actions;
        for (const Key& k : t.keys) {
            nb::dict key;
            key["name"] = k.name;
            key["match"] = kind_name(k.kind);
            key["bits"] = k.bits;
            keys.append(key);
        }
        for (const int a : t.actions) actions.append(a);
        nb::dict d;
        d["name"] = t.name;
        d["handle"] = i;
        d["keys"] = keys;
        d["actions"] = actions;
        d["size"] = t.size;
        d["const_default"] = t.const_default;
        d["const_entries"] = t.const_entries;
        d["counted"] = t.counted;
        d["default_action"] = t.default_action < 0 ? nb::object(nb::none()) : nb::object(nb::int_(t.default_action));
        out.append(d);
    }
    return out;
}

nb::list describe_actions(const Program& p) {
    nb::list out;
    for (std::size_t i = 0; i < p.actions.size(); ++i) {
        nb::list params;
        for (const Parameter& x : p.actions[i].parameters) params.append(nb::make_tuple(x.name, x.bits));
        nb::dict d;
        d["name"] = p.actions[i].name;
        d["handle"] = i;
        d["params"] = params;
        out.append(d);
    }
    return out;
}

nb::list describe_arrays(const std::vector<ArraySpec>& arrays) {
    nb::list out;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
        nb::dict d;
        d["name"] = arrays[i].name;
        d["handle"] = i;
        d["size"] = arrays[i].size;
        d["bits"] = arrays[i].bits;
        d["table"] = arrays[i].table < 0 ? nb::object(nb::none()) : nb::object(nb::int_(arrays[i].table));
        out.append(d);
    }
    return out;
}

nb::list describe_headers(const Program& p) {
    nb::list out;
    for (const Header& h : p.headers) {
        nb::list fields;
        for (const Field& f : h.fields) fields.append(nb::make_tuple(f.name, f.bits));
        nb::dict d;
        d["name"] = h.name;
        d["metadata"] = h.metadata;
        d["fields"] = fields;
        out.append(d);
    }
    return out;
}

}  // namespace

void bind_program(nb::module_& m) {
    nb::exception<ProgramError>(m, "ProgramError", PyExc_ValueError);
    nb::class_<Program>(m, "Program", "A v1model program, from the JSON that p4c writes for BMv2; immutable.")
        .def(nb::new_([](const nb::bytes& json) {
            return std::const_pointer_cast<Program>(Program::load(std::string(view(json))));
        }))
        .def_ro("name", &Program::name)
        .def_prop_ro("tables", &describe_tables)
        .def_prop_ro("actions", &describe_actions)
        .def_prop_ro("counters", [](const Program& p) { return describe_arrays(p.counters); })
        .def_prop_ro("registers", [](const Program& p) { return describe_arrays(p.registers); })
        .def_prop_ro("headers", &describe_headers);
}

}  // namespace railyard
