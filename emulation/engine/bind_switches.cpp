// SPDX-License-Identifier: Apache-2.0
// Tables, counters and the rest of a switch's state, as a control plane reads and writes them.
#include "bind.h"
#include "switch_set.h"

namespace railyard {

namespace {

// False when the value is wider than `bits`.
bool to_limbs(std::string_view value, unsigned bits, std::vector<std::uint64_t>& out) {
    out.assign(limbs(bits), 0);
    for (std::size_t i = 0; i < value.size(); ++i) {
        const auto byte = static_cast<std::uint64_t>(static_cast<unsigned char>(value[value.size() - 1 - i]));
        if (i / 8 < out.size()) out[i / 8] |= byte << (8 * (i % 8));
        else if (byte != 0) return false;
    }
    return (out.back() & ~low_mask(bits - 64 * (limbs(bits) - 1))) == 0;
}

nb::bytes from_limbs(const std::uint64_t* value, unsigned bits) {
    std::string out((bits + 7) / 8, '\0');
    for (std::size_t i = 0; i < out.size(); ++i) out[out.size() - 1 - i] = static_cast<char>(value[i / 8] >> (8 * (i % 8)));
    return to_bytes(out);
}

bool to_match(const TableSpec& spec, const nb::list& keys, std::vector<MatchValue>& out) {
    if (keys.size() != spec.keys.size()) return false;
    out.resize(spec.keys.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
        const nb::tuple key = nb::cast<nb::tuple>(keys[i]);
        if (key.size() != 3 || !to_limbs(view(nb::cast<nb::bytes>(key[0])), spec.keys[i].bits, out[i].value) ||
            !to_limbs(view(nb::cast<nb::bytes>(key[1])), spec.keys[i].bits, out[i].extra))
            return false;
        out[i].prefix = nb::cast<int>(key[2]);
    }
    return true;
}

bool to_parameters(const Program& program, int action, const nb::list& values, std::vector<std::uint64_t>& out) {
    if (action < 0 || static_cast<std::size_t>(action) >= program.actions.size()) return false;
    const Action& a = program.actions[static_cast<std::size_t>(action)];
    if (values.size() != a.parameters.size()) return false;
    std::vector<std::uint64_t> one;
    for (std::size_t i = 0; i < a.parameters.size(); ++i) {
        if (!to_limbs(view(nb::cast<nb::bytes>(values[i])), a.parameters[i].bits, one)) return false;
        out.insert(out.end(), one.begin(), one.end());
    }
    return true;
}

nb::list parameters_of(const Program& program, const EntrySpec& entry) {
    nb::list out;
    if (entry.action < 0) return out;
    std::size_t at = 0;
    for (const Parameter& p : program.actions[static_cast<std::size_t>(entry.action)].parameters) {
        out.append(from_limbs(&entry.parameters[at], p.bits));
        at += limbs(p.bits);
    }
    return out;
}

nb::tuple entry_of(const Program& program, const Table& table, const EntrySpec& entry) {
    nb::list keys;
    for (std::size_t i = 0; i < entry.match.size(); ++i) {
        const MatchValue& m = entry.match[i];
        const Key& k = table.spec().keys[i];
        const bool own_extra = k.kind == MatchKind::Ternary || k.kind == MatchKind::Range;
        keys.append(nb::make_tuple(from_limbs(m.value.data(), k.bits), own_extra ? from_limbs(m.extra.data(), k.bits) : nb::bytes("", 0), m.prefix));
    }
    const auto [packets, bytes] = table.counters(entry.match, entry.priority);
    return nb::make_tuple(keys, entry.priority, entry.action, parameters_of(program, entry), packets, bytes);
}

const Program& program_of(SwitchSet& n, int sw) {
    const Program* p = n.switch_at(sw).program();
    if (p == nullptr) throw std::invalid_argument("switch " + n.switch_at(sw).name() + " has no program");
    return *p;
}

// One table operation with its arguments checked against the program.
template <typename Do>
int with_entry(SwitchSet& n, int sw, std::size_t table, const nb::list& keys, int priority, int action, const nb::list& params, const Do& apply) {
    const Program& p = program_of(n, sw);
    Table& t = n.switch_at(sw).table(table);
    if (t.spec().const_entries) return static_cast<int>(Status::Constant);
    EntrySpec entry;
    entry.priority = priority;
    entry.action = action;
    if (!to_match(t.spec(), keys, entry.match) || !to_parameters(p, action, params, entry.parameters))
        return static_cast<int>(Status::Invalid);
    return static_cast<int>(apply(t, entry));
}

void bind_tables(nb::class_<SwitchSet>& c) {
    c.def("table_insert", [](SwitchSet& n, int sw, std::size_t t, const nb::list& keys, int priority, int action, const nb::list& params) {
         return with_entry(n, sw, t, keys, priority, action, params, [](Table& table, const EntrySpec& e) { return table.insert(e); });
     })
        .def("table_modify", [](SwitchSet& n, int sw, std::size_t t, const nb::list& keys, int priority, int action, const nb::list& params) {
            return with_entry(n, sw, t, keys, priority, action, params, [](Table& table, const EntrySpec& e) { return table.modify(e); });
        })
        .def("table_delete", [](SwitchSet& n, int sw, std::size_t t, const nb::list& keys, int priority) {
            Table& table = n.switch_at(sw).table(t);
            if (table.spec().const_entries) return static_cast<int>(Status::Constant);
            std::vector<MatchValue> match;
            if (!to_match(table.spec(), keys, match)) return static_cast<int>(Status::Invalid);
            return static_cast<int>(table.erase(match, priority));
        })
        .def("table_set_default", [](SwitchSet& n, int sw, std::size_t t, int action, const nb::list& params) {
            std::vector<std::uint64_t> values;
            if (!to_parameters(program_of(n, sw), action, params, values)) return static_cast<int>(Status::Invalid);
            return static_cast<int>(n.switch_at(sw).table(t).set_default(action, values));
        })
        .def("table_reset_default", [](SwitchSet& n, int sw, std::size_t t) {
            n.switch_at(sw).table(t).reset_default();
            return static_cast<int>(Status::Ok);
        })
        .def("table_default", [](SwitchSet& n, int sw, std::size_t t) {
            const EntrySpec e = n.switch_at(sw).table(t).default_entry();
            return nb::make_tuple(e.action < 0 ? nb::object(nb::none()) : nb::object(nb::int_(e.action)), parameters_of(program_of(n, sw), e));
        })
        .def("table_read", [](SwitchSet& n, int sw, std::size_t t) {
            nb::list out;
            Table& table = n.switch_at(sw).table(t);
            for (const EntrySpec& e : table.entries()) out.append(entry_of(program_of(n, sw), table, e));
            return out;
        })
        .def("table_get", [](SwitchSet& n, int sw, std::size_t t, const nb::list& keys, int priority) -> nb::object {
            Table& table = n.switch_at(sw).table(t);
            std::vector<MatchValue> match;
            if (!to_match(table.spec(), keys, match)) return nb::none();
            const auto entry = table.get(match, priority);
            return entry ? nb::object(entry_of(program_of(n, sw), table, *entry)) : nb::object(nb::none());
        })
        .def("table_len", [](SwitchSet& n, int sw, std::size_t t) { return n.switch_at(sw).table(t).size(); })
        .def("counter_read", [](SwitchSet& n, int sw, std::size_t at, std::size_t i) {
            const auto& c = n.switch_at(sw).counter(at);
            return std::pair(c.packets.at(i), c.bytes.at(i));
        })
        .def("counter_read_all", [](SwitchSet& n, int sw, std::size_t at) {
            const auto& c = n.switch_at(sw).counter(at);
            nb::list out;
            for (std::size_t i = 0; i < c.packets.size(); ++i) out.append(nb::make_tuple(c.packets[i], c.bytes[i]));
            return out;
        })
        .def("counter_write", [](SwitchSet& n, int sw, std::size_t at, std::size_t i, std::uint64_t packets, std::uint64_t bytes) {
            auto& c = n.switch_at(sw).counter(at);
            c.packets.at(i) = packets;
            c.bytes.at(i) = bytes;
        })
        .def("register_read", [](SwitchSet& n, int sw, std::size_t at, std::size_t i) { return n.switch_at(sw).registers(at).at(i); })
        .def("register_write", [](SwitchSet& n, int sw, std::size_t at, std::size_t i, std::uint64_t value) {
            n.switch_at(sw).registers(at).at(i) = value & low_mask(program_of(n, sw).registers.at(at).bits);
        });
}

}  // namespace

void bind_switches(nb::module_& m) {
    nb::class_<SwitchSet> switches(m, "SwitchSet", "Switches of one control plane.");
    switches
        .def("add_switch", [](SwitchSet& n, const std::string& name, std::uint32_t cpu_port) { return n.add_switch(name, cpu_port); },
             nb::arg("name"), nb::arg("cpu_port") = 510)
        .def("set_program", [](SwitchSet& n, int sw, std::shared_ptr<Program> p) { n.switch_at(sw).set_program(std::move(p)); })
        .def_prop_ro("now", [](SwitchSet& n) { return n.now(); })
        .def("packet_out", [](SwitchSet& n, int sw, const nb::bytes& frame) { n.packet_out(sw, view(frame)); })
        .def("take_control", [](SwitchSet& n) -> nb::object {
            auto& queue = n.control();
            if (queue.empty()) return nb::none();
            const ControlItem item = queue.front();
            queue.pop_front();
            static const char* const kNames[] = {"packet_in", "port", "alarm", "digest", "idle"};
            return nb::make_tuple(kNames[static_cast<int>(item.kind)], item.time, item.switch_index, item.value, item.up, to_bytes(item.frame));
        });
    bind_tables(switches);
}

}  // namespace railyard
