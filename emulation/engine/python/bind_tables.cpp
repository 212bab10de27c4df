// SPDX-License-Identifier: Apache-2.0
// Bindings of tables and action profiles.
#include "python/bind.h"

namespace railyard::python {

nb::bytes from_limbs(const std::uint64_t* value, unsigned bits) {
    std::string out((bits + 7) / 8, '\0');
    for (std::size_t i = 0; i < out.size(); ++i)
        out[out.size() - 1 - i] = static_cast<char>(value[i / 8] >> (8 * (i % 8)));
    return to_bytes(out);
}

bool to_match(const load::TableSpec& spec, const nb::list& keys, std::vector<tables::MatchValue>& out) {
    if (keys.size() != spec.keys.size()) return false;
    out.resize(spec.keys.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
        const nb::tuple key = nb::cast<nb::tuple>(keys[i]);
        if (key.size() != 3 ||
            !tables::to_limbs(view(nb::cast<nb::bytes>(key[0])), spec.keys[i].bits, out[i].value) ||
            !tables::to_limbs(view(nb::cast<nb::bytes>(key[1])), spec.keys[i].bits, out[i].extra))
            return false;
        out[i].prefix = nb::cast<int>(key[2]);
    }
    return true;
}

bool to_parameters(const Program& program, int action, const nb::list& values,
                   std::vector<std::uint64_t>& out) {
    if (action < 0 || static_cast<std::size_t>(action) >= program.actions.size()) return false;
    const load::Action& a = program.actions[static_cast<std::size_t>(action)];
    if (values.size() != a.parameters.size()) return false;
    std::vector<std::uint64_t> value;
    for (std::size_t i = 0; i < a.parameters.size(); ++i) {
        if (!tables::to_limbs(view(nb::cast<nb::bytes>(values[i])), a.parameters[i].bits, value))
            return false;
        out.insert(out.end(), value.begin(), value.end());
    }
    return true;
}

nb::list match_of(const load::TableSpec& spec, const tables::EntrySpec& entry) {
    nb::list keys;
    for (std::size_t i = 0; i < entry.match.size(); ++i) {
        const tables::MatchValue& m = entry.match[i];
        const load::Key& k = spec.keys[i];
        const bool own_extra = k.kind == load::MatchKind::Ternary || k.kind == load::MatchKind::Range;
        keys.append(nb::make_tuple(from_limbs(m.value.data(), k.bits),
                                   own_extra ? from_limbs(m.extra.data(), k.bits) : nb::bytes("", 0),
                                   m.prefix));
    }
    return keys;
}

namespace {

Index<load::Action> to_action(int number) { return Index<load::Action>(static_cast<std::size_t>(number)); }

// Convert the keys and return the status of apply(table, match). Return Invalid if a key is too wide, or if
// their number is wrong.
template <typename Do>
int with_match(const LockedSwitch& s, std::size_t table, const nb::list& keys, const Do& apply) {
    tables::Table& t = s->table(table);
    std::vector<tables::MatchValue> match;
    if (!to_match(t.spec(), keys, match)) return static_cast<int>(tables::Status::Invalid);
    return static_cast<int>(apply(t, match));
}

int write(const LockedSwitch& s, std::size_t table, const nb::list& keys, tables::EntryPriority priority,
          int action, const nb::list& params, bool insert) {
    if (s->table(table).constant()) return static_cast<int>(tables::Status::Constant);
    tables::EntrySpec entry;
    entry.priority = priority;
    if (!to_parameters(s.program(), action, params, entry.parameters))
        return static_cast<int>(tables::Status::Invalid);
    entry.action = to_action(action);
    return with_match(s, table, keys, [&](tables::Table& t, std::vector<tables::MatchValue>& match) {
        entry.match = std::move(match);
        return insert ? t.insert(entry) : t.modify(entry);
    });
}

// Return the parameters of an entry's action, or the id of its member or group.
nb::list parameters_of(const Program& program, const tables::EntrySpec& entry) {
    nb::list out;
    if (entry.target != tables::Target::Action) out.append(from_limbs(entry.parameters.data(), 64));
    if (!entry.action) return out;
    std::size_t at = 0;
    for (const load::Parameter& p : program.actions[entry.action].parameters) {
        out.append(from_limbs(&entry.parameters[at], p.bits));
        at += load::limbs(p.bits);
    }
    return out;
}

nb::tuple entry_of(const Program& program, const tables::Table& table, const tables::EntrySpec& entry) {
    const auto [packets, bytes] = table.counters(entry.match, entry.priority);
    const int action = entry.target == tables::Target::Member  ? -1
                       : entry.target == tables::Target::Group ? -2
                                                               : static_cast<int>(entry.action.at());
    return nb::make_tuple(match_of(table.spec(), entry), entry.priority, action,
                          parameters_of(program, entry), packets, bytes);
}

int set_default(const LockedSwitch& s, std::size_t table, int action, const nb::list& params) {
    std::vector<std::uint64_t> values;
    if (!to_parameters(s.program(), action, params, values)) return static_cast<int>(tables::Status::Invalid);
    return static_cast<int>(s->table(table).set_default(to_action(action), values));
}

std::vector<std::uint64_t> parameters(const LockedSwitch& s, int action, const nb::list& params, bool& fits) {
    std::vector<std::uint64_t> values;
    fits = to_parameters(s.program(), action, params, values);
    return values;
}

void bind_profiles(nb::class_<SwitchSet>& c) {
    c.def(
         "table_point",
         [](SwitchSet& n, Index<Switch> sw, std::size_t t, const nb::list& keys,
            tables::EntryPriority priority, bool group, std::int64_t id, bool insert) {
             const LockedSwitch s(n, sw);
             if (s->table(t).constant()) return static_cast<int>(tables::Status::Constant);
             return with_match(s, t, keys, [&](tables::Table& table, std::vector<tables::MatchValue>& match) {
                 tables::EntrySpec entry{std::move(match),
                                         priority,
                                         group ? tables::Target::Group : tables::Target::Member,
                                         {},
                                         {static_cast<std::uint64_t>(id)}};
                 return insert ? table.insert(entry) : table.modify(entry);
             });
         },
         nb::sig("def table_point(self, switch: int, table: int, keys: list[Key], priority: int, group: "
                 "bool, id: int, insert: bool, /) -> int"),
         "Write an entry that points to a member of the table's action profile, or to a `group`.\n"
         "\n"
         "`id` is the id of the member or group. `insert`: add a new entry; otherwise modify an entry.")
        .def(
            "member_insert",
            [](SwitchSet& n, Index<Switch> sw, std::size_t p, std::int64_t id, int action,
               const nb::list& params) {
                const LockedSwitch s(n, sw);
                bool fits = false;
                auto values = parameters(s, action, params, fits);
                return static_cast<int>(fits ? s->profile(p).insert(id, to_action(action), std::move(values))
                                             : tables::Status::Invalid);
            },
            nb::sig("def member_insert(self, switch: int, profile: int, id: int, action: int, params: "
                    "list[bytes], /) -> int"))
        .def(
            "member_modify",
            [](SwitchSet& n, Index<Switch> sw, std::size_t p, std::int64_t id, int action,
               const nb::list& params) {
                const LockedSwitch s(n, sw);
                bool fits = false;
                auto values = parameters(s, action, params, fits);
                return static_cast<int>(fits ? s->profile(p).modify(id, to_action(action), std::move(values))
                                             : tables::Status::Invalid);
            },
            nb::sig("def member_modify(self, switch: int, profile: int, id: int, action: int, params: "
                    "list[bytes], /) -> int"))
        .def(
            "member_delete",
            [](SwitchSet& n, Index<Switch> sw, std::size_t p, std::int64_t id) {
                return static_cast<int>(LockedSwitch(n, sw)->profile(p).erase(id));
            },
            nb::sig("def member_delete(self, switch: int, profile: int, id: int, /) -> int"))
        .def(
            "group_set",
            [](SwitchSet& n, Index<Switch> sw, std::size_t p, std::int64_t id,
               const tables::Profile::GroupMembers& members) {
                return static_cast<int>(LockedSwitch(n, sw)->profile(p).set_group(id, members));
            },
            nb::sig("def group_set(self, switch: int, profile: int, id: int, members: list[tuple[int, int]], "
                    "/) -> int"),
            "Set the members of a group, as (member id, weight) pairs; create the group if it is new.")
        .def(
            "group_delete",
            [](SwitchSet& n, Index<Switch> sw, std::size_t p, std::int64_t id) {
                return static_cast<int>(LockedSwitch(n, sw)->profile(p).erase_group(id));
            },
            nb::sig("def group_delete(self, switch: int, profile: int, id: int, /) -> int"));
}

void bind_ageing(nb::class_<SwitchSet>& c) {
    c.def(
         "table_set_ttl",
         [](SwitchSet& n, Index<Switch> sw, std::size_t t, const nb::list& keys,
            tables::EntryPriority priority, Time ttl) {
             const LockedSwitch s(n, sw);
             const int status =
                 with_match(s, t, keys, [&](tables::Table& table, std::vector<tables::MatchValue>& match) {
                     return table.set_ttl(match, priority, ttl, n.now());
                 });
             if (status == 0) n.watch_ageing(sw);
             return status;
         },
         nb::sig("def table_set_ttl(self, switch: int, table: int, keys: list[Key], priority: int, ttl_ps: "
                 "int, /) -> int"),
         "Set the idle timeout of an entry in ps; 0: the entry never ages.")
        .def(
            "table_idle",
            [](SwitchSet& n, Index<Switch> sw, std::size_t t, const nb::list& keys,
               tables::EntryPriority priority) {
                const LockedSwitch s(n, sw);
                Time idle{};
                with_match(s, t, keys, [&](tables::Table& table, std::vector<tables::MatchValue>& match) {
                    idle = table.idle(match, priority, n.now());
                    return tables::Status::Ok;
                });
                return idle;
            },
            nb::sig(
                "def table_idle(self, switch: int, table: int, keys: list[Key], priority: int, /) -> int"),
            "Return the time in ps since the last hit of an entry.")
        .def(
            "table_aged",
            [](SwitchSet& n, Index<Switch> sw, std::size_t t) {
                const LockedSwitch s(n, sw);
                nb::list out;
                for (const tables::EntrySpec& e : s->table(t).aged(n.now()))
                    out.append(nb::make_tuple(match_of(s->table(t).spec(), e), e.priority));
                return out;
            },
            nb::sig("def table_aged(self, switch: int, table: int, /) -> list[tuple[list[Key], int]]"),
            "Return (keys, priority) of each entry that has reached its idle timeout.\n"
            "\n"
            "An entry is returned once, until a frame hits the entry again.");
}

}  // namespace

void bind_tables(nb::class_<SwitchSet>& c) {
    c.def(
         "table_insert",
         [](SwitchSet& n, Index<Switch> sw, std::size_t t, const nb::list& keys,
            tables::EntryPriority priority, int action, const nb::list& params) {
             return write(LockedSwitch(n, sw), t, keys, priority, action, params, true);
         },
         nb::sig("def table_insert(self, switch: int, table: int, keys: list[Key], priority: int, action: "
                 "int, params: list[bytes], /) -> int"))
        .def(
            "table_modify",
            [](SwitchSet& n, Index<Switch> sw, std::size_t t, const nb::list& keys,
               tables::EntryPriority priority, int action, const nb::list& params) {
                return write(LockedSwitch(n, sw), t, keys, priority, action, params, false);
            },
            nb::sig("def table_modify(self, switch: int, table: int, keys: list[Key], priority: int, action: "
                    "int, params: list[bytes], /) -> int"))
        .def(
            "table_delete",
            [](SwitchSet& n, Index<Switch> sw, std::size_t t, const nb::list& keys,
               tables::EntryPriority priority) {
                const LockedSwitch s(n, sw);
                if (s->table(t).constant()) return static_cast<int>(tables::Status::Constant);
                return with_match(s, t, keys,
                                  [&](tables::Table& table, std::vector<tables::MatchValue>& match) {
                                      return table.erase(match, priority);
                                  });
            },
            nb::sig(
                "def table_delete(self, switch: int, table: int, keys: list[Key], priority: int, /) -> int"))
        .def(
            "table_set_default",
            [](SwitchSet& n, Index<Switch> sw, std::size_t t, int action, const nb::list& params) {
                return set_default(LockedSwitch(n, sw), t, action, params);
            },
            nb::sig("def table_set_default(self, switch: int, table: int, action: int, params: list[bytes], "
                    "/) -> int"))
        .def(
            "table_reset_default",
            [](SwitchSet& n, Index<Switch> sw, std::size_t t) {
                LockedSwitch(n, sw)->table(t).reset_default();
                return static_cast<int>(tables::Status::Ok);
            },
            nb::sig("def table_reset_default(self, switch: int, table: int, /) -> int"))
        .def(
            "table_default",
            [](SwitchSet& n, Index<Switch> sw, std::size_t t) {
                const LockedSwitch s(n, sw);
                const tables::EntrySpec e = s->table(t).default_entry();
                return nb::make_tuple(e.action ? nb::object(nb::int_(e.action.at())) : nb::object(nb::none()),
                                      parameters_of(s.program(), e));
            },
            nb::sig("def table_default(self, switch: int, table: int, /) -> tuple[int | None, list[bytes]]"))
        .def(
            "table_read",
            [](SwitchSet& n, Index<Switch> sw, std::size_t t) {
                const LockedSwitch s(n, sw);
                nb::list out;
                for (const tables::EntrySpec& e : s->table(t).entries())
                    out.append(entry_of(s.program(), s->table(t), e));
                return out;
            },
            nb::sig("def table_read(self, switch: int, table: int, /) -> list[tuple[list[Key], int, int, "
                    "list[bytes], int, int]]"),
            "Return (keys, priority, action, parameters, packets, bytes) of each entry.\n"
            "\n"
            "Action -1: the entry points to a member of the table's action profile; -2: to a group. The\n"
            "only parameter is then the id of the member or group.")
        .def(
            "table_get",
            [](SwitchSet& n, Index<Switch> sw, std::size_t t, const nb::list& keys,
               tables::EntryPriority priority) -> nb::object {
                const LockedSwitch s(n, sw);
                std::vector<tables::MatchValue> match;
                if (!to_match(s->table(t).spec(), keys, match)) return nb::none();
                const auto entry = s->table(t).get(match, priority);
                return entry ? nb::object(entry_of(s.program(), s->table(t), *entry))
                             : nb::object(nb::none());
            },
            nb::sig("def table_get(self, switch: int, table: int, keys: list[Key], priority: int, /) -> "
                    "tuple[list[Key], int, int, list[bytes], int, int] | None"),
            "Return the entry with these keys and priority, as table_read() does; None if there is none.")
        .def(
            "table_set_constant",
            [](SwitchSet& n, Index<Switch> sw, std::size_t t, bool constant) {
                LockedSwitch(n, sw)->table(t).set_constant(constant);
            },
            nb::sig("def table_set_constant(self, switch: int, table: int, constant: bool, /) -> None"),
            "Set whether a table is constant: writes of its entries then return 5.\n"
            "\n"
            "At first, the tables for which the program has entries are constant.")
        .def(
            "table_len",
            [](SwitchSet& n, Index<Switch> sw, std::size_t t) {
                return LockedSwitch(n, sw)->table(t).size();
            },
            nb::sig("def table_len(self, switch: int, table: int, /) -> int"));
    bind_profiles(c);
    bind_ageing(c);
}

}  // namespace railyard::python
