// SPDX-License-Identifier: Apache-2.0
// Bindings of Program: descriptions of its objects as dictionaries.
#include "load/program/program.h"
#include "python/bind.h"

namespace railyard::python {

const char* kind_name(load::MatchKind kind) {
    switch (kind) {
        case load::MatchKind::Exact: return "exact";
        case load::MatchKind::Lpm: return "lpm";
        case load::MatchKind::Ternary: return "ternary";
        case load::MatchKind::Range: return "range";
        default: return "optional";
    }
}

namespace {

template <typename T>
nb::object handle_or_none(Index<T> index) {
    return index ? nb::object(nb::int_(index.at())) : nb::object(nb::none());
}

nb::list handles_of(const std::vector<Index<load::Action>>& actions) {
    nb::list out;
    for (const Index<load::Action> a : actions) out.append(a.at());
    return out;
}

// Return a dictionary for each item: its name, its handle, and the keys that `fill` adds.
template <typename Things, typename Fill>
nb::list described(const Things& things, const Fill& fill) {
    nb::list out;
    for (std::size_t i = 0; i < things.size(); ++i) {
        nb::dict d;
        d["name"] = things[i].name;
        d["handle"] = i;
        fill(d, things[i]);
        out.append(d);
    }
    return out;
}

nb::list describe_tables(const Program& p) {
    return described(p.tables, [](nb::dict& d, const load::TableSpec& t) {
        nb::list keys;
        for (const load::Key& k : t.keys) {
            nb::dict key;
            key["name"] = k.name;
            key["match"] = kind_name(k.kind);
            key["bits"] = k.bits;
            keys.append(key);
        }
        d["keys"] = keys;
        d["actions"] = handles_of(t.actions);
        d["size"] = t.size;
        d["const_default"] = t.const_default;
        d["const_entries"] = t.const_entries;
        d["counted"] = t.counted;
        d["ageing"] = t.ageing;
        d["profile"] = handle_or_none(t.profile);
        d["meter"] = handle_or_none(t.meter);
        d["default_action"] = handle_or_none(t.default_action);
    });
}

nb::list describe_actions(const Program& p) {
    return described(p.actions, [](nb::dict& d, const load::Action& a) {
        nb::list params;
        for (const load::Parameter& x : a.parameters) params.append(nb::make_tuple(x.name, x.bits));
        d["params"] = params;
    });
}

nb::list describe_arrays(const List<load::ArraySpec>& arrays) {
    return described(arrays, [](nb::dict& d, const load::ArraySpec& a) {
        d["size"] = a.size;
        d["bits"] = a.bits;
        d["table"] = handle_or_none(a.table);
    });
}

nb::list describe_meters(const Program& p) {
    return described(p.meters, [](nb::dict& d, const load::MeterSpec& m) {
        d["size"] = m.size;
        d["unit"] = m.bytes ? "bytes" : "packets";
        d["table"] = handle_or_none(m.table);
    });
}

nb::list describe_profiles(const Program& p) {
    return described(p.profiles, [](nb::dict& d, const load::ProfileSpec& s) {
        d["size"] = s.size;
        d["selector"] = bool(s.selector);
        d["actions"] = handles_of(s.actions);
    });
}

nb::list describe_digests(const Program& p) {
    return described(p.digests, [](nb::dict& d, const load::FieldList& l) {
        nb::list bits;
        for (const load::Piece& f : l.fields) bits.append(f.bits);
        d["bits"] = bits;
    });
}

nb::list describe_value_sets(const Program& p) {
    return described(p.value_sets, [](nb::dict& d, const load::ValueSet& s) {
        d["bits"] = s.bits;
        d["fields"] = s.fields;
    });
}

nb::list describe_headers(const Program& p) {
    nb::list out;
    for (const load::Header& h : p.headers) {
        nb::list fields;
        for (const load::Field& f : h.fields) fields.append(nb::make_tuple(f.name, f.bits));
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
    const nb::exception<load::ProgramError> program_error(m, "ProgramError", PyExc_ValueError);
    nb::class_<Program>(
        m, "Program",
        "A v1model program, loaded from the JSON that p4c writes for BMv2; immutable.\n"
        "\n"
        "ProgramError: the engine cannot load the program; the message names the object in the JSON.")
        .def(nb::new_([](const nb::bytes& json, bool traced) {
                 return std::const_pointer_cast<Program>(Program::load(std::string(view(json)), traced));
             }),
             nb::arg("bmv2_json"), nb::arg("traced") = false,
             "Load a program.\n"
             "\n"
             "A `traced` program gives the same results, and reports each of its steps to Network.trace().")
        .def_prop_ro(
            "translated", [](const Program& p) { return p.translation.ingress != nullptr; },
            "True if the engine was built with a translation of the program to C++.\n"
            "\n"
            "Switches then run the translation instead of interpreting the program.")
        .def_ro("name", &Program::name)
        .def_prop_ro("tables", &describe_tables,
                     nb::for_getter(nb::sig("def tables(self, /) -> list[dict[str, typing.Any]]")))
        .def_prop_ro("actions", &describe_actions,
                     nb::for_getter(nb::sig("def actions(self, /) -> list[dict[str, typing.Any]]")))
        .def_prop_ro(
            "counters", [](const Program& p) { return describe_arrays(p.counters); },
            nb::for_getter(nb::sig("def counters(self, /) -> list[dict[str, typing.Any]]")))
        .def_prop_ro(
            "registers", [](const Program& p) { return describe_arrays(p.registers); },
            nb::for_getter(nb::sig("def registers(self, /) -> list[dict[str, typing.Any]]")))
        .def_prop_ro("meters", &describe_meters,
                     nb::for_getter(nb::sig("def meters(self, /) -> list[dict[str, typing.Any]]")))
        .def_prop_ro("profiles", &describe_profiles,
                     nb::for_getter(nb::sig("def profiles(self, /) -> list[dict[str, typing.Any]]")))
        .def_prop_ro("digests", &describe_digests,
                     nb::for_getter(nb::sig("def digests(self, /) -> list[dict[str, typing.Any]]")))
        .def_prop_ro("value_sets", &describe_value_sets,
                     nb::for_getter(nb::sig("def value_sets(self, /) -> list[dict[str, typing.Any]]")))
        .def_prop_ro("headers", &describe_headers,
                     nb::for_getter(nb::sig("def headers(self, /) -> list[dict[str, typing.Any]]")));
}

}  // namespace railyard::python
