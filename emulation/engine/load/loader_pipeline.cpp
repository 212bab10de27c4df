// SPDX-License-Identifier: Apache-2.0
// Loading of actions, tables and pipelines; a pipeline becomes a single run of instructions.
#include <algorithm>
#include <utility>

#include "load/loader.h"

namespace railyard::load {

namespace {

constexpr std::size_t kMostNodes = 4096;  // bounds the recursion over the nodes of a pipeline

}  // namespace

void Loader::actions() {
    const Json& nodes = list(json_, "actions", "program");
    unsigned most = 0;
    for (const Json& node : nodes) {
        Action a;
        a.name = text(node, "name", "actions");
        const std::string where = "action " + a.name;
        const unsigned id = number(node, "id", where);
        if (!action_by_id_.emplace(id, p_.actions.next()).second)
            throw ProgramError(where + ": id " + std::to_string(id) + " is taken");
        for (const Json& d : list(node, "runtime_data", where)) {
            const unsigned bits = std::max(1u, number(d, "bitwidth", where, 2048));
            a.parameters.push_back({text(d, "name", where), bits, static_cast<Slot>(a.parameter_limbs)});
            a.parameter_limbs += limbs(bits);
        }
        most = std::max(most, a.parameter_limbs);
        p_.actions.push_back(std::move(a));
    }
    // All actions use the same slots for their parameters.
    compile_.slots().reserve(most);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        Action& a = p_.actions[i];
        for (Parameter& p : a.parameters) p.slot = static_cast<Slot>(p.slot + compile_.slots().parameters());
        const std::string where = "action " + a.name;
        action_code_.push_back(compile_.sequence(list(nodes[i], "primitives", where), a, where));
        a.code = compile_.append(action_code_.back(), Op::Return);
        if (assign_directly(a)) continue;
        for (unsigned limb = 0; limb < a.parameter_limbs; ++limb)
            a.targets.push_back(static_cast<Slot>(compile_.slots().parameters() + limb));
    }
}

// Remove the code of an action that only assigns each of its parameters to a distinct field: a table hit then
// writes the parameters directly to these fields. Return false, without effect, for other actions.
bool Loader::assign_directly(Action& action) {
    std::vector<Slot> targets(action.parameter_limbs, kNoSlot);
    std::size_t assigned = 0;
    for (std::size_t at = action.code; p_.code[at].op != Op::Return; ++at) {
        const Instruction& i = p_.code[at];
        const auto parameter = std::find_if(action.parameters.begin(), action.parameters.end(),
                                            [&](const Parameter& p) { return p.slot == i.a; });
        if (i.op != Op::Move || parameter == action.parameters.end() ||
            (low_mask(parameter->bits) & ~i.mask) != 0)
            return false;
        Slot& target = targets[static_cast<std::size_t>(parameter->slot - compile_.slots().parameters())];
        if (std::exchange(target, i.dst) != kNoSlot) return false;
        ++assigned;
    }
    if (assigned != targets.size()) return false;
    p_.code.resize(action.code);
    action.code = kNowhere;
    action.targets = std::move(targets);
    return true;
}

Index<Action> Loader::action(const Json& id, const std::string& where) const {
    const auto at = id.is_number_unsigned() ? action_by_id_.find(id.get<unsigned>()) : action_by_id_.end();
    if (at == action_by_id_.end()) throw ProgramError(where + ": action id " + id.dump() + " is unknown");
    return at->second;
}

std::vector<std::uint64_t> Loader::action_data(Index<Action> action, const Json& data,
                                               const std::string& where) const {
    const Action& a = p_.actions[action];
    if (!data.is_array() || data.size() != a.parameters.size())
        throw ProgramError(where + ": action " + a.name + " takes " + std::to_string(a.parameters.size()) +
                           " values");
    std::vector<std::uint64_t> out;
    for (std::size_t i = 0; i < data.size(); ++i)
        for (const std::uint64_t limb : hex_limbs(data[i], a.parameters[i].bits, where)) out.push_back(limb);
    return out;
}

void Loader::profiles(const Json& pipeline) {
    for (const Json& node : list_or_none(pipeline, "action_profiles", "pipeline")) {
        ProfileSpec spec;
        spec.name = text(node, "name", "action_profiles");
        const std::string where = "action profile " + spec.name;
        spec.size = number(node, "max_size", where, 1u << 26);
        if (node.contains("selector") && !node["selector"].is_null()) {
            const Json& s = node["selector"];
            Calculation c{spec.name, {}, {}, false};
            const auto known = switching::hash_algorithm(text(s, "algo", where));
            if (!known)
                throw ProgramError(where + ": algorithm '" + text(s, "algo", where) + "' is not supported");
            c.algorithm = *known;
            for (const Json& i : list(s, "input", where)) c.input.push_back(piece(i, where));
            spec.selector = p_.calculations.next();
            p_.calculations.push_back(std::move(c));
        }
        p_.profiles.push_back(std::move(spec));
    }
}

// Compile a pipeline: its nodes (tables and conditionals) in execution order, each once, so that many nodes
// need no jump to their successor. `start` gets the address of its first instruction.
void Loader::pipeline(const Json& node, Place& start) {
    const Json &tables = list(node, "tables", "pipeline"),
               &conditionals = list(node, "conditionals", "pipeline");
    if (!list_or_none(node, "action_calls", "pipeline").empty())
        throw ProgramError("pipeline: action_calls are not supported");
    std::unordered_map<std::string, const Json*> nodes;
    if (tables.size() + conditionals.size() > kMostNodes)
        throw ProgramError("pipeline: " + std::to_string(tables.size() + conditionals.size()) +
                           " tables and conditionals; the engine takes " + std::to_string(kMostNodes));
    for (const Json* among : {&tables, &conditionals})
        for (const Json& n : *among) {
            const std::string name = text(n, "name", "pipeline");
            if (!nodes.emplace(name, &n).second)
                throw ProgramError("pipeline: two nodes are named '" + name + "'");
            if (n.contains("expression") != (among == &conditionals))
                throw ProgramError("node " + name + ": a conditional has an expression, and no table has");
        }

    enum class State { New, Open, Done };
    std::unordered_map<std::string, State> state;
    std::unordered_map<std::string, Place> placed;
    const Place end = compile_.append({}, Op::End);
    std::vector<std::pair<Place*, std::string>> targets;  // addresses in tables to fill in, and their nodes
    std::vector<std::pair<Place, std::string>> jumps;     // jumps to fill in, and their target nodes
    const auto following = [&](const Json& n, const std::string& where) {
        std::vector<std::string> out;
        const auto add = [&](const Json& name) {
            if (name.is_null()) return;
            if (!name.is_string() || !nodes.contains(name.get<std::string>()))
                throw ProgramError(where + ": next node " + name.dump() + " is unknown");
            out.push_back(name);
        };
        if (n.contains("expression")) {
            add(member(n, "true_next", where));
            add(member(n, "false_next", where));
            return out;
        }
        for (const auto& [_, next] : member(n, "next_tables", where).items()) add(next);
        if (n.contains("base_default_next")) add(n["base_default_next"]);
        return out;
    };
    // Order the nodes in reverse postorder: each follows all its predecessors. p4c's pipelines have no loops,
    // but other JSON may.
    std::vector<std::string> order;
    const auto visit = [&](const auto& self, const std::string& name) -> void {
        if (state[name] == State::Done) return;
        if (state[name] == State::Open) throw ProgramError("pipeline: its nodes form a loop");
        state[name] = State::Open;
        auto next = following(*nodes.at(name), "node " + name);
        std::reverse(next.begin(), next.end());
        for (const std::string& n : next) self(self, n);
        state[name] = State::Done;
        order.push_back(name);
    };
    const Json& first = member(node, "init_table", "pipeline");
    if (!first.is_null()) {
        if (!first.is_string() || !nodes.contains(first.get<std::string>()))
            throw ProgramError("pipeline: init_table " + first.dump() + " is unknown");
        visit(visit, first.get<std::string>());
    }
    std::reverse(order.begin(), order.end());
    // Load tables that no frame reaches, too: the control plane may write to them.
    p_.tables.reserve(p_.tables.size() + tables.size());
    std::unordered_map<std::string, Index<TableSpec>> table_of;
    for (const Json& t : tables) {
        table_of[text(t, "name", "table")] = p_.tables.next();
        p_.tables.push_back(table(t, "table " + text(t, "name", "table")));
    }

    const auto name_of = [](const Json& next) {
        return next.is_string() ? next.get<std::string>() : std::string();
    };
    for (const Json& t : tables) {
        TableSpec& spec = p_.tables[table_of[text(t, "name", "table")]];
        const Json& next = t["next_tables"];
        const std::string base = name_of(t.value("base_default_next", Json()));
        targets.emplace_back(&spec.next_default, base);
        if (spec.by_hit) {
            targets.emplace_back(&spec.next_hit, name_of(next.value("__HIT__", Json())));
            targets.emplace_back(&spec.next_miss, name_of(next.value("__MISS__", Json())));
        }
        spec.next_by_action.resize(spec.actions.size());
        for (std::size_t i = 0; i < spec.actions.size(); ++i) {
            const std::string action = text(t["actions"][i], "table " + spec.name);
            targets.emplace_back(&spec.next_by_action[i],
                                 next.contains(action) ? name_of(next[action]) : base);
        }
    }
    const auto go = [&](std::size_t at, const std::string& to) {
        if (at + 1 < order.size() && order[at + 1] == to) return;
        jumps.emplace_back(static_cast<Place>(p_.code.size()), to);
        p_.code.push_back({Op::Jump});
    };
    for (std::size_t at = 0; at < order.size(); ++at) {
        const Json& n = *nodes.at(order[at]);
        placed[order[at]] = static_cast<Place>(p_.code.size());
        if (n.contains("expression")) {
            // Jump to the branch that does not follow immediately.
            const std::string yes = name_of(n["true_next"]), no = name_of(n["false_next"]);
            const bool wanted = p_.traced || (at + 1 < order.size() && order[at + 1] == no && yes != no);
            Code code;
            std::vector<std::size_t> taken;
            compile_.branch(n["expression"], wanted, code, taken, "condition " + order[at]);
            if (p_.traced) {
                Instruction note = compile_.note({.kind = Note::Kind::Condition, .name = order[at]}, n);
                code.push_back(note);
                code.push_back({Op::Jump, 0, 0, 0, 0, kNowhere});
                for (const std::size_t i : taken) code[i].mask = code.size();
                note.b = 1;
                code.push_back(note);
            } else {
                for (const std::size_t i : taken) code[i].mask = kNowhere;
            }
            const std::string& jump = wanted && !p_.traced ? yes : no;
            const std::string& fall = wanted && !p_.traced ? no : yes;
            for (Place i = compile_.append(code, Op::Jump); i < p_.code.size(); ++i)
                if (load::jumps(p_.code[i].op) && p_.code[i].mask == kNowhere) jumps.emplace_back(i, jump);
            go(at, fall);
            continue;
        }
        const Index<TableSpec> index = table_of.at(order[at]);
        const TableSpec& spec = p_.tables[index];
        // p4c wraps statements outside of tables into tables without a key and with a constant action: inline
        // the action.
        if (spec.keys.empty() && spec.const_default && !spec.profile && !flag(n, "with_counters") &&
            n.value("direct_meters", Json()).is_null() && !spec.by_hit) {
            const Index<Action> action = spec.default_action;
            for (std::size_t i = 0; i < spec.default_parameters.size(); ++i)
                p_.code.push_back({Op::Move, 1, static_cast<Slot>(compile_.slots().parameters() + i),
                                   compile_.slots().constant(spec.default_parameters[i])});
            compile_.append(action_code_[action.at()], Op::Jump);
            const auto which = std::find(spec.actions.begin(), spec.actions.end(), spec.default_action) -
                               spec.actions.begin();
            const std::string name =
                text(n["actions"][static_cast<std::size_t>(which)], "table " + spec.name);
            go(at, name_of(n["next_tables"].value(name, n.value("base_default_next", Json()))));
            continue;
        }
        if (p_.traced)
            p_.code.push_back(
                compile_.note({.kind = Note::Kind::Table, .name = spec.name, .table = index}, n));
        p_.code.push_back({Op::Apply, 0, 0, static_cast<Slot>(index.at())});
    }
    const auto place = [&](const std::string& name) {
        return name.empty() ? end : placed.contains(name) ? placed.at(name) : end;
    };
    for (const auto& [at, name] : targets) *at = place(name);
    for (const auto& [at, name] : jumps) p_.code[at].mask = place(name);
    start = first.is_null() ? end : place(first.get<std::string>());
}

TableSpec Loader::table(const Json& node, const std::string& where) {
    TableSpec t;
    t.name = text(node, "name", "table");
    t.size = number(node, "max_size", where, 1u << 26);
    t.ageing = flag(node, "support_timeout");
    const std::string type = text(node, "type", where);
    if (type == "indirect" || type == "indirect_ws") {
        const std::string name = text(node, "action_profile", where);
        t.profile = p_.profiles.named(name);
        if (!t.profile) throw ProgramError(where + ": action profile '" + name + "' is unknown");
    } else if (type != "simple") {
        throw ProgramError(where + ": table type '" + type + "' is not supported");
    }
    unsigned key_limbs = 0;
    for (const Json& k : list(node, "key", where)) {
        t.keys.push_back(key(k, where));
        key_limbs += limbs(t.keys.back().bits);
    }
    if (key_limbs > kMaxKeyLimbs) throw ProgramError(where + ": the key is wider than the engine holds");
    if (std::count_if(t.keys.begin(), t.keys.end(), [](const Key& k) { return k.kind == MatchKind::Lpm; }) >
        1)
        throw ProgramError(where + ": more than one field is lpm");
    const Json &ids = list(node, "action_ids", where), &names = list(node, "actions", where),
               &next = member(node, "next_tables", where);
    if (ids.size() != names.size()) throw ProgramError(where + ": action_ids and actions differ in length");
    if (!next.is_object()) throw ProgramError(where + ": next_tables is no object");
    t.by_hit = next.contains("__HIT__") || next.contains("__MISS__");
    for (const Json& id : ids) {
        t.actions.push_back(action(id, where));
        t.parameter_limbs = std::max(t.parameter_limbs, p_.actions[t.actions.back()].parameter_limbs);
    }
    if (t.profile) {
        ProfileSpec& p = p_.profiles[t.profile];
        for (const Index<Action> a : t.actions)
            if (std::find(p.actions.begin(), p.actions.end(), a) == p.actions.end()) p.actions.push_back(a);
        p.parameter_limbs = std::max(p.parameter_limbs, t.parameter_limbs);
        t.parameter_limbs = 1;  // the id of a member or group
    }
    if (node.contains("default_entry")) {
        const Json& d = node["default_entry"];
        t.default_action = action(member(d, "action_id", where), where);
        t.default_parameters = action_data(
            t.default_action, d.contains("action_data") ? d["action_data"] : Json::array(), where);
        t.const_default = flag(d, "action_const");
        if (std::find(t.actions.begin(), t.actions.end(), t.default_action) == t.actions.end())
            throw ProgramError(where + ": its default action is not one of its actions");
    }
    for (const Json& e : list_or_none(node, "entries", where)) t.entries.push_back(entry(t, e, where));
    t.const_entries = !t.entries.empty();
    // Reverse the priorities: in the JSON the smallest number has precedence, in P4Runtime the largest.
    std::int32_t last = 0;
    for (const tables::EntrySpec& e : t.entries) last = std::max(last, e.priority.value());
    for (tables::EntrySpec& e : t.entries) e.priority = tables::EntryPriority(last + 1 - e.priority.value());
    return t;
}

Key Loader::key(const Json& node, const std::string& where) const {
    static const std::unordered_map<std::string, MatchKind> kKinds = {
        {"exact", MatchKind::Exact}, {"lpm", MatchKind::Lpm},           {"ternary", MatchKind::Ternary},
        {"range", MatchKind::Range}, {"optional", MatchKind::Optional}, {"valid", MatchKind::Exact}};
    const std::string kind = text(node, "match_type", where);
    const auto found = kKinds.find(kind);
    if (found == kKinds.end()) throw ProgramError(where + ": match kind '" + kind + "' is not supported");
    const Json& target = member(node, "target", where);
    const bool validity = kind == "valid" && target.is_string();
    const Field f = compile_.names().field(validity ? Json{target, "$valid$"} : target, where);
    if (f.variable) throw ProgramError(where + ": a field of variable length cannot be a key");
    const std::string fallback = validity ? target.get<std::string>()
                                          : target[0].get<std::string>() + "." + target[1].get<std::string>();
    Key key{node.value("name", fallback), found->second, f.bits, f.slot, {}};
    if (node.contains("mask") && !node["mask"].is_null()) {
        key.mask = hex_limbs(node["mask"], 64 * limbs(f.bits), where);
        key.mask.back() &= low_mask(f.bits - 64 * (limbs(f.bits) - 1));
    } else if (f.is_signed) {
        // The slot has the field sign-extended: match only the field's own bits.
        key.mask.assign(limbs(f.bits), ~0ULL);
        key.mask.back() = low_mask(f.bits - 64 * (limbs(f.bits) - 1));
    }
    return key;
}

tables::EntrySpec Loader::entry(const TableSpec& t, const Json& node, const std::string& where) const {
    tables::EntrySpec e;
    const Json &match = list(node, "match_key", where), &action_entry = member(node, "action_entry", where);
    if (match.size() != t.keys.size())
        throw ProgramError(where + ": an entry has " + std::to_string(match.size()) + " keys");
    for (std::size_t i = 0; i < match.size(); ++i) {
        tables::MatchValue m;
        const Key& k = t.keys[i];
        if (k.kind == MatchKind::Range) {
            m.value = hex_limbs(member(match[i], "start", where), k.bits, where);
            m.extra = hex_limbs(member(match[i], "end", where), k.bits, where);
        } else {
            const Json& value = member(match[i], "key", where);
            m.value = value.is_boolean() ? std::vector<std::uint64_t>{value.get<bool>()}
                                         : hex_limbs(value, k.bits, where);
            if (k.kind == MatchKind::Lpm)
                m.prefix = static_cast<int>(number(match[i], "prefix_length", where, k.bits));
            if (match[i].contains("mask") && !match[i]["mask"].is_null())
                m.extra = hex_limbs(match[i]["mask"], k.bits, where);
            if (k.kind == MatchKind::Optional)
                m.prefix =
                    std::any_of(m.extra.begin(), m.extra.end(), [](std::uint64_t v) { return v != 0; });
        }
        e.match.push_back(std::move(m));
    }
    e.action = action(member(action_entry, "action_id", where), where);
    e.parameters = action_data(e.action, member(action_entry, "action_data", where), where);
    e.priority = tables::EntryPriority(node.contains("priority") ? number(node, "priority", where) : 0);
    return e;
}

}  // namespace railyard::load
