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

nb::object handle_or_none(int handle) { return handle < 0 ? nb::object(nb::none()) : nb::object(nb::int_(handle)); }

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
        d["ageing"] = t.ageing;
        d["profile"] = handle_or_none(t.profile);
        d["meter"] = handle_or_none(t.meter);
        d["default_action"] = handle_or_none(t.default_action);
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
        d["table"] = handle_or_none(arrays[i].table);
        out.append(d);
    }
    return out;
}

nb::list describe_meters(const Program& p) {
    nb::list out;
    for (std::size_t i = 0; i < p.meters.size(); ++i) {
        nb::dict d;
        d["name"] = p.meters[i].name;
        d["handle"] = i;
        d["size"] = p.meters[i].size;
        d["unit"] = p.meters[i].bytes ? "bytes" : "packets";
        d["table"] = handle_or_none(p.meters[i].table);
        out.append(d);
    }
    return out;
}

nb::list describe_profiles(const Program& p) {
    nb::list out;
    for (std::size_t i = 0; i < p.profiles.size(); ++i) {
        nb::list actions;
        for (const int a : p.profiles[i].actions) actions.append(a);
        nb::dict d;
        d["name"] = p.profiles[i].name;
        d["handle"] = i;
        d["size"] = p.profiles[i].size;
        d["selector"] = p.profiles[i].selector != kNone;
        d["actions"] = actions;
        out.append(d);
    }
    return out;
}

nb::list describe_digests(const Program& p) {
    nb::list out;
    for (std::size_t i = 0; i < p.digests.size(); ++i) {
        nb::list bits;
        for (const Piece& f : p.digests[i].fields) bits.append(f.bits);
        nb::dict d;
        d["name"] = p.digests[i].name;
        d["handle"] = i;
        d["bits"] = bits;
        out.append(d);
    }
    return out;
}

nb::list describe_value_sets(const Program& p) {
    nb::list out;
    for (std::size_t i = 0; i < p.value_sets.size(); ++i) {
        nb::dict d;
        d["name"] = p.value_sets[i].name;
        d["handle"] = i;
        d["bits"] = p.value_sets[i].bits;
        d["fields"] = p.value_sets[i].fields;
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
        .def_prop_ro("meters", &describe_meters)
        .def_prop_ro("profiles", &describe_profiles)
        .def_prop_ro("digests", &describe_digests)
        .def_prop_ro("value_sets", &describe_value_sets)
        .def_prop_ro("headers", &describe_headers);
}

}  // namespace railyard
