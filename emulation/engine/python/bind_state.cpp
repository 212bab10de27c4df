// SPDX-License-Identifier: Apache-2.0
// Bindings of counters, meters, registers, multicast groups, clone sessions and value sets.
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <span>

#include "p4runtime/counter_cells.h"
#include "python/bind.h"

namespace railyard::python {

namespace {

using Config = std::optional<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>>;

std::optional<tables::MeterConfig> to_config(const Config& c) {
    if (!c) return std::nullopt;
    return tables::MeterConfig{std::get<0>(*c), std::get<1>(*c), std::get<2>(*c), std::get<3>(*c)};
}

Config from_config(const std::optional<tables::MeterConfig>& c) {
    if (!c) return std::nullopt;
    return std::tuple{c->committed_rate, c->committed_burst, c->peak_rate, c->peak_burst};
}

std::vector<switching::Replica> to_replicas(const std::vector<std::pair<Port, std::uint32_t>>& pairs) {
    std::vector<switching::Replica> out;
    out.reserve(pairs.size());
    for (const auto& [port, rid] : pairs) out.push_back({port, rid});
    return out;
}

// Return the limbs of a register cell.
std::uint64_t* cell(const LockedSwitch& s, std::size_t at, std::size_t index) {
    const unsigned n = load::limbs(s.program().registers.at(at).bits);
    return &s->registers(at).at(index * n);
}

void bind_counters(nb::class_<SwitchSet>& c) {
    c.def(
         "counter_read",
         [](SwitchSet& n, Index<Switch> sw, std::size_t at, std::size_t i) {
             const LockedSwitch s(n, sw);
             const tables::Count count = s->counter(at).get(i);
             return std::pair(count.packets, count.bytes);
         },
         nb::sig("def counter_read(self, switch: int, counter: int, index: int, /) -> tuple[int, int]"))
        .def(
            "counter_read_all",
            [](SwitchSet& n, Index<Switch> sw, std::size_t at) {
                const LockedSwitch s(n, sw);
                nb::list out;
                for (const tables::Count& count : s->counter(at).read(0, s->counter(at).size()))
                    out.append(nb::make_tuple(count.packets, count.bytes));
                return out;
            },
            nb::sig("def counter_read_all(self, switch: int, counter: int, /) -> list[tuple[int, int]]"))
        .def(
            "counter_response",
            [](SwitchSet& n, Index<Switch> sw, std::size_t at, std::uint32_t id, std::size_t first,
               std::size_t most) {
                const LockedSwitch s(n, sw);
                return to_bytes(p4runtime::counter_response(id, first, s->counter(at).read(first, most)));
            },
            nb::sig("def counter_response(self, switch: int, counter: int, id: int, first: int, most: int, "
                    "/) -> bytes"),
            "Return a serialised ReadResponse of P4Runtime with at most `most` cells of a counter.\n"
            "\n"
            "`id` is the P4Runtime id of the counter, `first` the index of the first cell.")
        .def(
            "counter_write",
            [](SwitchSet& n, Index<Switch> sw, std::size_t at, std::size_t i, std::uint64_t packets,
               CountedBytes bytes) {
                const LockedSwitch s(n, sw);
                s->counter(at).set(i, {packets, bytes});
            },
            nb::sig("def counter_write(self, switch: int, counter: int, index: int, packets: int, bytes: "
                    "int, /) -> None"))
        .def(
            "direct_counter_write",
            [](SwitchSet& n, Index<Switch> sw, std::size_t t, const nb::list& keys,
               tables::EntryPriority priority, std::uint64_t packets, CountedBytes bytes) {
                const LockedSwitch s(n, sw);
                std::vector<tables::MatchValue> match;
                if (!to_match(s->table(t).spec(), keys, match))
                    return static_cast<int>(tables::Status::Invalid);
                return static_cast<int>(s->table(t).set_counters(match, priority, {packets, bytes}));
            },
            nb::sig("def direct_counter_write(self, switch: int, table: int, keys: list[Key], priority: int, "
                    "packets: int, bytes: int, /) -> int"));
}

void bind_meters(nb::class_<SwitchSet>& c) {
    c.def(
         "meter_write",
         [](SwitchSet& n, Index<Switch> sw, std::size_t at, std::size_t i, const Config& config) {
             LockedSwitch(n, sw)->meter(at, i).configure(to_config(config), n.now());
         },
         nb::arg("switch"), nb::arg("meter"), nb::arg("index"), nb::arg("config").none(),
         nb::sig("def meter_write(self, switch: int, meter: int, index: int, config: MeterConfig | None) -> "
                 "None"),
         "Configure a cell of a meter; None: the meter marks all frames green.")
        .def(
            "meter_read",
            [](SwitchSet& n, Index<Switch> sw, std::size_t at, std::size_t i) {
                return from_config(LockedSwitch(n, sw)->meter(at, i).config());
            },
            nb::sig("def meter_read(self, switch: int, meter: int, index: int, /) -> MeterConfig | None"))
        .def(
            "direct_meter_write",
            [](SwitchSet& n, Index<Switch> sw, std::size_t t, const nb::list& keys,
               tables::EntryPriority priority, const Config& config) {
                const LockedSwitch s(n, sw);
                std::vector<tables::MatchValue> match;
                if (!to_match(s->table(t).spec(), keys, match))
                    return static_cast<int>(tables::Status::Invalid);
                return static_cast<int>(s->table(t).set_meter(match, priority, to_config(config), n.now()));
            },
            nb::arg("switch"), nb::arg("table"), nb::arg("keys"), nb::arg("priority"),
            nb::arg("config").none(),
            nb::sig("def direct_meter_write(self, switch: int, table: int, keys: list[Key], priority: int, "
                    "config: MeterConfig | None) -> int"))
        .def(
            "direct_meter_read",
            [](SwitchSet& n, Index<Switch> sw, std::size_t t, const nb::list& keys,
               tables::EntryPriority priority) -> Config {
                const LockedSwitch s(n, sw);
                std::vector<tables::MatchValue> match;
                if (!to_match(s->table(t).spec(), keys, match)) return std::nullopt;
                return from_config(s->table(t).meter_config(match, priority));
            },
            nb::sig("def direct_meter_read(self, switch: int, table: int, keys: list[Key], priority: int, /) "
                    "-> MeterConfig | None"));
}

void bind_registers(nb::class_<SwitchSet>& c) {
    c.def(
         "register_read",
         [](SwitchSet& n, Index<Switch> sw, std::size_t at, std::size_t i) {
             const LockedSwitch s(n, sw);
             return *cell(s, at, i);
         },
         nb::sig("def register_read(self, switch: int, register: int, index: int, /) -> int"))
        .def(
            "register_write",
            [](SwitchSet& n, Index<Switch> sw, std::size_t at, std::size_t i, std::uint64_t value) {
                const LockedSwitch s(n, sw);
                const unsigned bits = s.program().registers.at(at).bits;
                std::uint64_t* words = cell(s, at, i);
                words[0] = value & load::low_mask(bits);
                std::fill_n(words + 1, load::limbs(bits) - 1, 0);
            },
            nb::sig(
                "def register_write(self, switch: int, register: int, index: int, value: int, /) -> None"))
        .def(
            "register_read_bytes",
            [](SwitchSet& n, Index<Switch> sw, std::size_t at, std::size_t i) {
                const LockedSwitch s(n, sw);
                return from_limbs(cell(s, at, i), s.program().registers.at(at).bits);
            },
            nb::sig("def register_read_bytes(self, switch: int, register: int, index: int, /) -> bytes"))
        .def(
            "register_write_bytes",
            [](SwitchSet& n, Index<Switch> sw, std::size_t at, std::size_t i, const nb::bytes& value) {
                const LockedSwitch s(n, sw);
                std::vector<std::uint64_t> words;
                if (!tables::to_limbs(view(value), s.program().registers.at(at).bits, words))
                    throw std::invalid_argument("a register value of " + std::to_string(value.size()) +
                                                " bytes is wider than the register; give at most " +
                                                std::to_string(s.program().registers.at(at).bits) + " bits");
                std::copy(words.begin(), words.end(), cell(s, at, i));
            },
            nb::sig("def register_write_bytes(self, switch: int, register: int, index: int, value: bytes, /) "
                    "-> None"));
}

}  // namespace

void bind_state(nb::class_<SwitchSet>& c) {
    bind_counters(c);
    bind_meters(c);
    bind_registers(c);
    c.def(
         "multicast_set",
         [](SwitchSet& n, Index<Switch> sw, std::uint32_t group,
            const std::vector<std::pair<Port, std::uint32_t>>& replicas) {
             LockedSwitch(n, sw)->set_multicast(group, to_replicas(replicas));
         },
         nb::sig(
             "def multicast_set(self, switch: int, group: int, replicas: list[tuple[int, int]], /) -> None"),
         "Set the replicas of a multicast group, as (port, replication id) pairs.")
        .def(
            "multicast_delete",
            [](SwitchSet& n, Index<Switch> sw, std::uint32_t group) {
                LockedSwitch(n, sw)->set_multicast(group, {});
            },
            nb::sig("def multicast_delete(self, switch: int, group: int, /) -> None"))
        .def(
            "clone_set",
            [](SwitchSet& n, Index<Switch> sw, std::uint32_t session,
               const std::vector<std::pair<Port, std::uint32_t>>& replicas, std::uint32_t truncate) {
                LockedSwitch(n, sw)->set_clone(session, to_replicas(replicas), truncate);
            },
            nb::arg("switch"), nb::arg("session"), nb::arg("replicas"), nb::arg("truncate_bytes") = 0,
            nb::sig("def clone_set(self, switch: int, session: int, replicas: list[tuple[int, int]], "
                    "truncate_bytes: int=0) -> None"),
            "Set the replicas of a clone session, as (port, replication id) pairs.\n"
            "\n"
            "`truncate_bytes` is the longest clone in bytes; 0: clones are whole frames.")
        .def(
            "clone_delete",
            [](SwitchSet& n, Index<Switch> sw, std::uint32_t session) {
                LockedSwitch(n, sw)->set_clone(session, {}, 0);
            },
            nb::sig("def clone_delete(self, switch: int, session: int, /) -> None"))
        .def(
            "value_set_write",
            [](SwitchSet& n, Index<Switch> sw, std::size_t at,
               const std::vector<std::pair<nb::bytes, nb::bytes>>& values) {
                std::vector<std::pair<Switch::ByteString, Switch::ByteString>> out;
                out.reserve(values.size());
                for (const auto& [value, mask] : values)
                    out.emplace_back(Switch::ByteString(view(value).begin(), view(value).end()),
                                     Switch::ByteString(view(mask).begin(), view(mask).end()));
                LockedSwitch(n, sw)->set_value_set(at, std::move(out));
            },
            nb::sig("def value_set_write(self, switch: int, value_set: int, values: list[tuple[bytes, "
                    "bytes]], /) -> None"),
            "Replace the members of a parser value set by (value, mask) pairs.\n"
            "\n"
            "A value or mask is the concatenation of the key's fields, each padded to whole bytes.")
        // Log lines become control items. Without a log the switch does not format lines.
        .def(
            "set_logging",
            [](SwitchSet& n, Index<Switch> sw, bool on) {
                const LockedSwitch s(n, sw);
                if (!on) s->set_log(nullptr);
                else
                    s->set_log([&n, sw](const std::string& line) {
                        n.control().push_back(
                            {switching::ControlItem::Kind::Log, n.now(), sw, 0, false, line});
                    });
            },
            nb::sig("def set_logging(self, switch: int, on: bool, /) -> None"),
            "Set whether log_msg lines of a switch's program become \"log\" items of take_control().");
}

}  // namespace railyard::python
