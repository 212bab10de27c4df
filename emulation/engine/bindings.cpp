// SPDX-License-Identifier: Apache-2.0
// Python bindings: glue only. Values travel as big-endian bytes of any length up to their field's.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "network.h"

namespace nb = nanobind;
using namespace railyard;

namespace {

std::string_view view(const nb::bytes& b) { return {b.c_str(), b.size()}; }
nb::bytes to_bytes(std::string_view v) { return nb::bytes(v.data(), v.size()); }

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

const char* kind_name(MatchKind kind) {
    switch (kind) {
        case MatchKind::Exact: return "exact";
        case MatchKind::Lpm: return "lpm";
        case MatchKind::Ternary: return "ternary";
        case MatchKind::Range: return "range";
        default: return "optional";
    }
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

// A network and the Python objects that stand behind its hosts.
class PyNetwork {
   public:
    PyNetwork(const PyNetwork&) = delete;  // the callbacks hold its address
    PyNetwork() {
        net.on_frame = [this](int host, std::string_view frame) {
            const nb::bytes bytes = to_bytes(frame);
            const nb::object& handler = handlers_[static_cast<std::size_t>(host)];
            if (!handler.is_none()) act(host, handler.attr("on_frame")(bytes, net.now()));
        };
        net.on_timer = [this](int host) {
            const nb::object& handler = handlers_[static_cast<std::size_t>(host)];
            if (!handler.is_none()) act(host, handler.attr("on_timer")(net.now()));
        };
    }

    int attach_host(int sw, int port, std::int64_t rate, Time delay, std::int64_t credit) {
        handlers_.push_back(nb::none());
        return net.attach_host(sw, port, {rate, delay, credit});
    }
    void set_handler(int host, nb::object handler) { handlers_.at(static_cast<std::size_t>(host)) = std::move(handler); }

    // What a handler answers: ([(frame, vl), ...], deadline or None).
    void act(int host, const nb::object& answer) {
        const nb::tuple pair = nb::cast<nb::tuple>(answer);
        for (const nb::handle item : nb::cast<nb::list>(pair[0])) {
            const nb::tuple one = nb::cast<nb::tuple>(item);
            net.send(host, view(nb::cast<nb::bytes>(one[0])), nb::cast<int>(one[1]));
        }
        if (pair[1].is_none()) net.clear_timer(host);
        else net.set_timer(host, nb::cast<Time>(pair[1]));
    }

    const Program& program(int sw) {
        const Program* p = net.switch_at(sw).program();
        if (p == nullptr) throw std::invalid_argument("switch " + net.switch_at(sw).name() + " has no program");
        return *p;
    }

    // One table operation with its arguments checked against the program.
    template <typename Do>
    int with_entry(int sw, std::size_t table, const nb::list& keys, int priority, int action, const nb::list& params, const Do& apply) {
        const Program& p = program(sw);
        Table& t = net.switch_at(sw).table(table);
        if (t.spec().const_entries) return static_cast<int>(Status::Constant);
        EntrySpec entry;
        entry.priority = priority;
        entry.action = action;
        if (!to_match(t.spec(), keys, entry.match) || !to_parameters(p, action, params, entry.parameters))
            return static_cast<int>(Status::Invalid);
        return static_cast<int>(apply(t, entry));
    }

    Network net;

   private:
    std::vector<nb::object> handlers_;
};

nb::dict stats_of(const ChannelStats& s) {
    nb::dict d;
    d["frames"] = s.frames;
    d["bytes"] = s.bytes;
    d["busy_ps"] = s.busy;
    d["lost"] = s.lost;
    d["refused_down"] = s.refused_down;
    d["refused_full"] = s.refused_full;
    d["max_queued_bytes"] = s.max_queued_bytes;
    d["frames_by_vl"] = std::vector<std::uint64_t>(s.frames_by_vl.begin(), s.frames_by_vl.end());
    return d;
}

void bind_tables(nb::class_<PyNetwork>& c) {
    c.def("table_insert", [](PyNetwork& n, int sw, std::size_t t, const nb::list& keys, int priority, int action, const nb::list& params) {
         return n.with_entry(sw, t, keys, priority, action, params, [](Table& table, const EntrySpec& e) { return table.insert(e); });
     })
        .def("table_modify", [](PyNetwork& n, int sw, std::size_t t, const nb::list& keys, int priority, int action, const nb::list& params) {
            return n.with_entry(sw, t, keys, priority, action, params, [](Table& table, const EntrySpec& e) { return table.modify(e); });
        })
        .def("table_delete", [](PyNetwork& n, int sw, std::size_t t, const nb::list& keys, int priority) {
            Table& table = n.net.switch_at(sw).table(t);
            if (table.spec().const_entries) return static_cast<int>(Status::Constant);
            std::vector<MatchValue> match;
            if (!to_match(table.spec(), keys, match)) return static_cast<int>(Status::Invalid);
            return static_cast<int>(table.erase(match, priority));
        })
        .def("table_set_default", [](PyNetwork& n, int sw, std::size_t t, int action, const nb::list& params) {
            std::vector<std::uint64_t> values;
            if (!to_parameters(n.program(sw), action, params, values)) return static_cast<int>(Status::Invalid);
            return static_cast<int>(n.net.switch_at(sw).table(t).set_default(action, values));
        })
        .def("table_reset_default", [](PyNetwork& n, int sw, std::size_t t) {
            n.net.switch_at(sw).table(t).reset_default();
            return static_cast<int>(Status::Ok);
        })
        .def("table_default", [](PyNetwork& n, int sw, std::size_t t) {
            const EntrySpec e = n.net.switch_at(sw).table(t).default_entry();
            return nb::make_tuple(e.action < 0 ? nb::object(nb::none()) : nb::object(nb::int_(e.action)), parameters_of(n.program(sw), e));
        })
        .def("table_read", [](PyNetwork& n, int sw, std::size_t t) {
            nb::list out;
            Table& table = n.net.switch_at(sw).table(t);
            for (const EntrySpec& e : table.entries()) out.append(entry_of(n.program(sw), table, e));
            return out;
        })
        .def("table_get", [](PyNetwork& n, int sw, std::size_t t, const nb::list& keys, int priority) -> nb::object {
            Table& table = n.net.switch_at(sw).table(t);
            std::vector<MatchValue> match;
            if (!to_match(table.spec(), keys, match)) return nb::none();
            const auto entry = table.get(match, priority);
            return entry ? nb::object(entry_of(n.program(sw), table, *entry)) : nb::object(nb::none());
        })
        .def("table_len", [](PyNetwork& n, int sw, std::size_t t) { return n.net.switch_at(sw).table(t).size(); })
        .def("counter_read", [](PyNetwork& n, int sw, std::size_t at, std::size_t i) {
            const auto& c = n.net.switch_at(sw).counter(at);
            return std::pair(c.packets.at(i), c.bytes.at(i));
        })
        .def("counter_read_all", [](PyNetwork& n, int sw, std::size_t at) {
            const auto& c = n.net.switch_at(sw).counter(at);
            nb::list out;
            for (std::size_t i = 0; i < c.packets.size(); ++i) out.append(nb::make_tuple(c.packets[i], c.bytes[i]));
            return out;
        })
        .def("counter_write", [](PyNetwork& n, int sw, std::size_t at, std::size_t i, std::uint64_t packets, std::uint64_t bytes) {
            auto& c = n.net.switch_at(sw).counter(at);
            c.packets.at(i) = packets;
            c.bytes.at(i) = bytes;
        })
        .def("register_read", [](PyNetwork& n, int sw, std::size_t at, std::size_t i) { return n.net.switch_at(sw).registers(at).at(i); })
        .def("register_write", [](PyNetwork& n, int sw, std::size_t at, std::size_t i, std::uint64_t value) {
            n.net.switch_at(sw).registers(at).at(i) = value & low_mask(n.program(sw).registers.at(at).bits);
        });
}

void bind_time(nb::class_<PyNetwork>& c) {
    c.def_prop_ro("now", [](PyNetwork& n) { return n.net.now(); })
        .def_prop_ro("hops", [](PyNetwork& n) { return n.net.hops(); })
        .def_prop_ro("frames_without_link", [](PyNetwork& n) { return n.net.frames_without_link(); })
        .def("connect", [](PyNetwork& n, int a, int pa, int b, int pb, std::int64_t rate, Time delay, std::int64_t credit, std::int64_t queue) {
            return n.net.connect(a, pa, b, pb, {rate, delay, credit, queue});
        }, nb::arg("sw_a"), nb::arg("port_a"), nb::arg("sw_b"), nb::arg("port_b"), nb::arg("rate_bps"), nb::arg("delay_ps"),
           nb::arg("credit_bytes"), nb::arg("queue_bytes") = 1 << 20)
        .def("attach_host", &PyNetwork::attach_host, nb::arg("switch"), nb::arg("port"), nb::arg("rate_bps"), nb::arg("delay_ps"),
             nb::arg("credit_bytes"))
        .def("set_handler", &PyNetwork::set_handler, nb::arg("host"), nb::arg("handler").none())
        .def("act", &PyNetwork::act)
        .def("send", [](PyNetwork& n, int host, const nb::bytes& frame, int vl) { n.net.send(host, view(frame), vl); })
        .def("packet_out", [](PyNetwork& n, int sw, const nb::bytes& frame) { n.net.packet_out(sw, view(frame)); })
        .def("alarm", [](PyNetwork& n, Time time, std::int64_t token) { n.net.alarm(time, token); })
        .def("set_link", [](PyNetwork& n, int link, bool up) { n.net.set_link(link, up); })
        .def("run", [](PyNetwork& n, Time until) { return static_cast<int>(n.net.run(until)); })
        .def("take_control", [](PyNetwork& n) -> nb::object {
            auto& queue = n.net.control();
            if (queue.empty()) return nb::none();
            const ControlItem item = queue.front();
            queue.pop_front();
            static const char* const kNames[] = {"packet_in", "port", "alarm"};
            return nb::make_tuple(kNames[static_cast<int>(item.kind)], item.time, item.switch_index, item.value, item.up, to_bytes(item.frame));
        })
        .def("link_stats", [](PyNetwork& n, int link, int direction) { return stats_of(n.net.stats(link, direction)); })
        .def("deadlock", [](PyNetwork& n) {
            nb::list out;
            for (const auto& w : n.net.deadlock()) out.append(nb::make_tuple(w.link, w.direction, w.vl));
            return out;
        })
        .def("set_bin", [](PyNetwork& n, Time width, int vls) { n.net.set_bin(width, vls); }, nb::arg("width_ps"), nb::arg("vls") = kVls)
        .def("delivered_bins", [](PyNetwork& n) { return n.net.delivered_bins(); })
        .def("process", [](PyNetwork& n, int sw, std::uint32_t port, const nb::bytes& frame) {
            nb::list out;
            for (const auto& [egress, bytes] : n.net.process(sw, port, view(frame))) out.append(nb::make_tuple(egress, to_bytes(bytes)));
            return out;
        })
        .def("bench", [](PyNetwork& n, int sw, std::uint32_t port, const nb::bytes& frame, std::uint64_t count, bool copy_only) {
            return n.net.bench(sw, port, view(frame), count, copy_only);
        }, nb::arg("switch"), nb::arg("port"), nb::arg("frame"), nb::arg("count"), nb::arg("copy_only") = false);
}

}  // namespace

NB_MODULE(_engine, m) {
    m.doc() = "A v1model switch engine and the links between switches, in virtual time (integer picoseconds).";
    // At exit a traceback or a thread may still hold a network; a user should not read of leaks then.
    nb::set_leak_warnings(false);
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

    nb::class_<PyNetwork> network(m, "Network", "Switches, hosts and links. One thread at a time.");
    network.def(nb::init<>())
        .def("add_switch", [](PyNetwork& n, const std::string& name, std::uint32_t cpu_port) { return n.net.add_switch(name, cpu_port); },
             nb::arg("name"), nb::arg("cpu_port") = 510)
        .def("set_program", [](PyNetwork& n, int sw, std::shared_ptr<Program> p) { n.net.switch_at(sw).set_program(std::move(p)); });
    bind_tables(network);
    bind_time(network);
}
