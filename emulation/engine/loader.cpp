// SPDX-License-Identifier: Apache-2.0
// Reads the JSON that p4c writes for BMv2. Everything is checked here, so that nothing needs checking per frame.
#include <algorithm>

#include "compiler.h"

namespace railyard {

namespace {

class Loader {
   public:
    Loader(Program& program, const Json& json) : p_(program), json_(json), compile_(program) {}

    void load() {
        refuse_unsupported();
        p_.name = json_.value("program", std::string());
        headers();
        errors();
        arrays();
        actions();
        parser();
        for (const Json& pipeline : list(json_, "pipelines", "program")) {
            const std::string name = text(pipeline, "name", "pipelines");
            if (name == "ingress") this->pipeline(pipeline, p_.ingress);
            else if (name == "egress") this->pipeline(pipeline, p_.egress);
            else throw ProgramError("pipelines: '" + name + "' is neither ingress nor egress");
        }
        direct_counters();
        deparser();
    }

   private:
    void refuse_unsupported() {
        for (const char* part : {"header_stacks", "header_union_types", "header_unions", "parse_vsets", "meter_arrays",
                                 "checksums", "extern_instances", "learn_lists"})
            if (json_.contains(part) && !json_[part].empty())
                throw ProgramError(std::string("program: '") + part + "' is not supported yet");
    }

    void headers() {
        std::unordered_map<std::string, const Json*> types;
        for (const Json& type : list(json_, "header_types", "program")) types[text(type, "name", "header_types")] = &type;
        for (const Json& node : list(json_, "headers", "program")) {
            Header h;
            h.name = text(node, "name", "headers");
            const std::string where = "header " + h.name;
            const auto type = types.find(text(node, "header_type", where));
            if (type == types.end()) throw ProgramError(where + ": unknown header_type");
            h.metadata = node.value("metadata", false);
            h.valid = compile_.new_slots(1);
            unsigned bits = 0;
            for (const Json& f : list(*type->second, "fields", where)) {
                if (!f.is_array() || f.size() < 2 || !f[0].is_string() || !f[1].is_number_unsigned() || f[1] == 0 || f[1] > 2048)
                    throw ProgramError(where + ": field " + f.dump() + " is not supported (a name and 1 to 2048 bits)");
                Field field{f[0], f[1], 0};
                field.slot = compile_.new_slots(limbs(field.bits));
                bits += field.bits;
                h.fields.push_back(field);
            }
            if (!h.metadata && bits % 8 != 0) throw ProgramError(where + ": " + std::to_string(bits) + " bits are no whole bytes");
            h.bytes = bits / 8;
            if (!h.metadata) lay_out(h);
            p_.headers.push_back(std::move(h));
        }
        p_.cleared_slots = p_.image.size();
        compile_.index_headers();
        for (const Header& h : p_.headers)
            if (h.name == "standard_metadata") standard(h);
        if (p_.standard.egress_spec == StandardSlots::kUnused || p_.standard.egress_port == StandardSlots::kUnused ||
            p_.standard.ingress_port == StandardSlots::kUnused)
            throw ProgramError("program: no v1model standard_metadata");
    }

    // Splits every field at the 64-bit words of the header's bytes and at its own limbs.
    static void lay_out(Header& h) {
        unsigned at = 0;  // bits from the left of the header
        for (const Field& f : h.fields) {
            unsigned left = f.bits;
            while (left > 0) {
                const unsigned limb = (left - 1) / 64, in_limb = left - 64 * limb;  // bits of this limb still to place
                const unsigned word = at / 64, room = 64 - at % 64, n = std::min(in_limb, room);
                const int shift = static_cast<int>(room - n) - static_cast<int>(in_limb - n);
                h.parts.push_back({static_cast<Slot>(f.slot + limb), static_cast<std::uint16_t>(word),
                                   static_cast<std::int16_t>(shift), low_mask(n) << (room - n)});
                at += n;
                left -= n;
            }
        }
    }

    void standard(const Header& h) {
        const std::pair<const char*, Slot*> wanted[] = {
            {"ingress_port", &p_.standard.ingress_port}, {"egress_spec", &p_.standard.egress_spec},
            {"egress_port", &p_.standard.egress_port}, {"packet_length", &p_.standard.packet_length},
            {"parser_error", &p_.standard.parser_error}, {"priority", &p_.standard.priority},
            {"mcast_grp", &p_.standard.mcast_grp}};
        for (const Field& f : h.fields)
            for (const auto& [name, slot] : wanted)
                if (f.name == name) *slot = f.slot;
    }

    void errors() {
        if (!json_.contains("errors")) return;
        for (const Json& e : list(json_, "errors", "program")) {
            if (!e.is_array() || e.size() != 2 || !e[1].is_number_unsigned()) throw ProgramError("errors: " + e.dump() + " is no error");
            if (e[0] == "PacketTooShort") p_.error_too_short = e[1];
            if (e[0] == "NoMatch") p_.error_no_match = e[1];
        }
    }

    void arrays() {
        for (const Json& node : list(json_, "counter_arrays", "program")) {
            ArraySpec a;
            a.name = text(node, "name", "counter_arrays");
            a.size = node.value("is_direct", false) ? 0 : number(node, "size", "counter " + a.name, 1u << 24);
            p_.counters.push_back(a);
        }
        for (const Json& node : list(json_, "register_arrays", "program")) {
            ArraySpec a;
            a.name = text(node, "name", "register_arrays");
            a.size = number(node, "size", "register " + a.name, 1u << 24);
            a.bits = number(node, "bitwidth", "register " + a.name, 64);
            p_.registers.push_back(a);
        }
    }

    void direct_counters() {
        for (const Json& node : list(json_, "counter_arrays", "program")) {
            if (!node.value("is_direct", false)) continue;
            const std::string name = text(node, "name", "counter_arrays"), bound = text(node, "binding", "counter " + name);
            const auto at = std::find_if(p_.tables.begin(), p_.tables.end(), [&](const TableSpec& t) { return t.name == bound; });
            if (at == p_.tables.end()) throw ProgramError("counter " + name + ": unknown table '" + bound + "'");
            at->counted = true;
            for (ArraySpec& a : p_.counters)
                if (a.name == name) a.table = static_cast<int>(at - p_.tables.begin());
        }
    }

    void actions() {
        const Json& nodes = list(json_, "actions", "program");
        // All parameter slots first: the area must be one block.
        unsigned most = 0;
        for (const Json& node : nodes) {
            unsigned n = 0;
            const std::string where = "action " + text(node, "name", "actions");
            for (const Json& d : list(node, "runtime_data", where)) n += limbs(std::max(1u, number(d, "bitwidth", where, 2048)));
            most = std::max(most, n);
        }
        for (unsigned i = 0; i < most; ++i) compile_.parameter_slot(i);
        for (const Json& node : nodes) {
            Action a;
            a.name = text(node, "name", "actions");
            const std::string where = "action " + a.name;
            const unsigned id = number(node, "id", where);
            if (!action_by_id_.emplace(id, static_cast<int>(p_.actions.size())).second)
                throw ProgramError(where + ": id " + std::to_string(id) + " is taken");
            for (const Json& d : list(node, "runtime_data", where)) {
                const unsigned bits = std::max(1u, number(d, "bitwidth", where, 2048));
                a.parameters.push_back({text(d, "name", where), bits, compile_.parameter_slot(a.parameter_limbs)});
                a.parameter_limbs += limbs(bits);
            }
            for (const Json& call : list(node, "primitives", where)) compile_.primitive(call, a, a.code, where);
            p_.actions.push_back(std::move(a));
        }
    }

    int action(const Json& id, const std::string& where) const {
        const auto at = id.is_number_unsigned() ? action_by_id_.find(id.get<unsigned>()) : action_by_id_.end();
        if (at == action_by_id_.end()) throw ProgramError(where + ": unknown action id " + id.dump());
        return at->second;
    }

    std::vector<std::uint64_t> action_data(int action, const Json& data, const std::string& where) const {
        const Action& a = p_.actions[static_cast<std::size_t>(action)];
        if (!data.is_array() || data.size() != a.parameters.size())
            throw ProgramError(where + ": action " + a.name + " takes " + std::to_string(a.parameters.size()) + " values");
        std::vector<std::uint64_t> out;
        for (std::size_t i = 0; i < data.size(); ++i)
            for (const std::uint64_t limb : hex_limbs(data[i], a.parameters[i].bits, where)) out.push_back(limb);
        return out;
    }

    void parser() {
        const Json& parsers = list(json_, "parsers", "program");
        if (parsers.size() != 1) throw ProgramError("parsers: exactly one is supported, not " + std::to_string(parsers.size()));
        const Json& states = list(parsers[0], "parse_states", "parser");
        std::unordered_map<std::string, int> by_name;
        for (const Json& s : states) by_name.emplace(text(s, "name", "parser"), static_cast<int>(by_name.size()));
        if (by_name.size() != states.size()) throw ProgramError("parser: two states of one name");
        const auto find = [&](const Json& name, const std::string& where) {
            if (name.is_null()) return kNone;
            const auto at = name.is_string() ? by_name.find(name.get<std::string>()) : by_name.end();
            if (at == by_name.end()) throw ProgramError(where + ": unknown state " + name.dump());
            return at->second;
        };
        p_.first_state = find(member(parsers[0], "init_state", "parser"), "parser");
        for (const Json& s : states) parser_state(s, find);
    }

    template <typename Find>
    void parser_state(const Json& node, const Find& find) {
        ParserState state;
        state.name = text(node, "name", "parser");
        const std::string where = "parser state " + state.name;
        for (const Json& call : list(node, "parser_ops", where)) {
            const std::string op = text(call, "op", where);
            const Json& arguments = list(call, "parameters", where);
            ParserOp out{};
            if (op == "extract" && arguments.size() == 1 && text(arguments[0], "type", where) == "regular") {
                out.kind = ParserOp::Kind::Extract;
                out.header = compile_.header(member(arguments[0], "value", where), where);
                if (p_.headers[static_cast<std::size_t>(out.header)].metadata) throw ProgramError(where + ": metadata extracted");
            } else if (op == "set" && arguments.size() == 2) {
                out.kind = ParserOp::Kind::Set;
                compile_.start_code();
                compile_.assign(compile_.field(member(arguments[0], "value", where), where), arguments[1], nullptr, out.code, where);
            } else {
                throw ProgramError(where + ": parser operation '" + op + "' is not supported yet");
            }
            state.ops.push_back(std::move(out));
        }
        unsigned key_bytes = 0;
        for (const Json& k : list(node, "transition_key", where)) {
            TransitionKey key;
            const std::string type = text(k, "type", where);
            const Json& value = member(k, "value", where);
            if (type == "field") {
                const Field& f = compile_.field(value, where);
                key.slot = f.slot;
                key.bits = f.bits;
            } else if (type == "lookahead" && value.is_array() && value.size() == 2 && value[0].is_number_unsigned() &&
                       value[1].is_number_unsigned() && value[0] <= 4096 && value[1] <= 64) {
                key.lookahead = true;
                key.offset = value[0];
                key.bits = value[1];
            } else {
                throw ProgramError(where + ": transition key " + k.dump() + " is not supported yet");
            }
            key_bytes += (key.bits + 7) / 8;
            state.key.push_back(key);
        }
        if (key_bytes > 8) throw ProgramError(where + ": a transition key of more than 8 bytes is not supported yet");
        for (const Json& t : list(node, "transitions", where)) {
            const int next = find(member(t, "next_state", where), where);
            const Json& value = member(t, "value", where);
            if (value.is_null() || value == "default") {
                state.transitions.push_back({0, 0, next});
                continue;
            }
            const Json& mask = member(t, "mask", where);
            const std::uint64_t m = mask.is_null() ? ~0ULL : hex_limbs(mask, 64, where)[0];
            state.transitions.push_back({hex_limbs(value, 64, where)[0] & m, m, next});
        }
        p_.states.push_back(std::move(state));
    }

    void pipeline(const Json& node, Pipeline& out) {
        std::unordered_map<std::string, int> by_name;
        const Json &tables = list(node, "tables", "pipeline"), &conditionals = list(node, "conditionals", "pipeline");
        for (const Json* nodes : {&tables, &conditionals})
            for (const Json& n : *nodes)
                if (!by_name.emplace(text(n, "name", "pipeline"), static_cast<int>(by_name.size())).second)
                    throw ProgramError("pipeline: two nodes named '" + text(n, "name", "pipeline") + "'");
        const auto find = [&](const Json& name, const std::string& where) {
            if (name.is_null()) return kNone;
            const auto at = name.is_string() ? by_name.find(name.get<std::string>()) : by_name.end();
            if (at == by_name.end()) throw ProgramError(where + ": unknown next node " + name.dump());
            return at->second;
        };
        out.first = find(member(node, "init_table", "pipeline"), "pipeline");
        for (const Json& t : tables) {
            Node n;
            n.table = static_cast<int>(p_.tables.size());
            p_.tables.push_back(table(t, find));
            out.nodes.push_back(std::move(n));
        }
        for (const Json& c : conditionals) {
            Node n;
            const std::string where = "condition " + text(c, "name", "pipeline");
            compile_.start_code();
            n.result = compile_.expression(member(c, "expression", where), nullptr, n.condition, where).slot;
            n.on_true = find(member(c, "true_next", where), where);
            n.on_false = find(member(c, "false_next", where), where);
            out.nodes.push_back(std::move(n));
        }
        refuse_loops(out);
    }

    // p4c's pipelines are acyclic; a JSON file from elsewhere must not hang the switch.
    void refuse_loops(const Pipeline& pipeline) const {
        std::vector<int> colour(pipeline.nodes.size(), 0);
        const auto visit = [&](const auto& self, int at) -> void {
            if (at == kNone || colour[static_cast<std::size_t>(at)] == 2) return;
            if (colour[static_cast<std::size_t>(at)] == 1) throw ProgramError("pipeline: its nodes form a loop");
            colour[static_cast<std::size_t>(at)] = 1;
            const Node& n = pipeline.nodes[static_cast<std::size_t>(at)];
            if (n.table == kNone) {
                self(self, n.on_true);
                self(self, n.on_false);
            } else {
                const TableSpec& t = p_.tables[static_cast<std::size_t>(n.table)];
                for (const int next : t.next_by_action) self(self, next);
                for (const int next : {t.next_hit, t.next_miss, t.next_default}) self(self, next);
            }
            colour[static_cast<std::size_t>(at)] = 2;
        };
        visit(visit, pipeline.first);
    }

    template <typename Find>
    TableSpec table(const Json& node, const Find& find) {
        TableSpec t;
        t.name = text(node, "name", "table");
        const std::string where = "table " + t.name;
        if (text(node, "type", where) != "simple") throw ProgramError(where + ": action profiles are not supported yet");
        if (node.contains("direct_meters") && !node["direct_meters"].is_null()) throw ProgramError(where + ": meters are not supported yet");
        t.size = number(node, "max_size", where, 1u << 26);
        for (const Json& k : list(node, "key", where)) t.keys.push_back(key(k, where));
        unsigned key_limbs = 0;
        for (const Key& k : t.keys) key_limbs += limbs(k.bits);
        if (key_limbs > kMaxKeyLimbs) throw ProgramError(where + ": a key wider than the engine holds");
        if (std::count_if(t.keys.begin(), t.keys.end(), [](const Key& k) { return k.kind == MatchKind::Lpm; }) > 1)
            throw ProgramError(where + ": more than one lpm field");
        const Json &ids = list(node, "action_ids", where), &names = list(node, "actions", where), &next = member(node, "next_tables", where);
        if (ids.size() != names.size()) throw ProgramError(where + ": action_ids and actions differ in length");
        t.next_default = find(node.contains("base_default_next") ? node["base_default_next"] : Json(), where);
        t.by_hit = next.contains("__HIT__") || next.contains("__MISS__");
        if (t.by_hit) {
            t.next_hit = find(member(next, "__HIT__", where), where);
            t.next_miss = find(member(next, "__MISS__", where), where);
        }
        for (std::size_t i = 0; i < ids.size(); ++i) {
            t.actions.push_back(action(ids[i], where));
            const auto at = names[i].is_string() ? next.find(names[i].get<std::string>()) : next.end();
            t.next_by_action.push_back(at == next.end() ? t.next_default : find(*at, where));
            t.parameter_limbs = std::max(t.parameter_limbs, p_.actions[static_cast<std::size_t>(t.actions.back())].parameter_limbs);
        }
        if (node.contains("default_entry")) {
            const Json& d = node["default_entry"];
            t.default_action = action(member(d, "action_id", where), where);
            t.default_parameters = action_data(t.default_action, member(d, "action_data", where), where);
            t.const_default = d.value("action_const", false);
            if (std::find(t.actions.begin(), t.actions.end(), t.default_action) == t.actions.end())
                throw ProgramError(where + ": its default action is not one of its actions");
        }
        if (node.contains("entries"))
            for (const Json& e : list(node, "entries", where)) t.entries.push_back(entry(t, e, where));
        t.const_entries = !t.entries.empty();
        // In the JSON the smallest number goes first, in P4Runtime the largest.
        int last = 0;
        for (const EntrySpec& e : t.entries) last = std::max(last, e.priority);
        for (EntrySpec& e : t.entries) e.priority = last + 1 - e.priority;
        return t;
    }

    Key key(const Json& node, const std::string& where) const {
        static const std::unordered_map<std::string, MatchKind> kKinds = {
            {"exact", MatchKind::Exact}, {"lpm", MatchKind::Lpm}, {"ternary", MatchKind::Ternary},
            {"range", MatchKind::Range}, {"optional", MatchKind::Optional}};
        const std::string kind = text(node, "match_type", where);
        const auto found = kKinds.find(kind);
        if (found == kKinds.end()) throw ProgramError(where + ": match kind '" + kind + "' is not supported yet");
        if (node.contains("mask") && !node["mask"].is_null()) throw ProgramError(where + ": masked keys are not supported yet");
        const Json& target = member(node, "target", where);
        const Field& f = compile_.field(target, where);
        const std::string fallback = target[0].get<std::string>() + "." + target[1].get<std::string>();
        return {node.value("name", fallback), found->second, f.bits, f.slot};
    }

    EntrySpec entry(const TableSpec& t, const Json& node, const std::string& where) const {
        EntrySpec e;
        const Json &match = list(node, "match_key", where), &action_entry = member(node, "action_entry", where);
        if (match.size() != t.keys.size()) throw ProgramError(where + ": an entry has " + std::to_string(match.size()) + " keys");
        for (std::size_t i = 0; i < match.size(); ++i) {
            MatchValue m;
            const Key& k = t.keys[i];
            if (k.kind == MatchKind::Range) {
                m.value = hex_limbs(member(match[i], "start", where), k.bits, where);
                m.extra = hex_limbs(member(match[i], "end", where), k.bits, where);
            } else {
                m.value = hex_limbs(member(match[i], "key", where), k.bits, where);
                if (k.kind == MatchKind::Lpm) m.prefix = static_cast<int>(number(match[i], "prefix_length", where, k.bits));
                if (match[i].contains("mask") && !match[i]["mask"].is_null()) m.extra = hex_limbs(match[i]["mask"], k.bits, where);
                if (k.kind == MatchKind::Optional)
                    m.prefix = std::any_of(m.extra.begin(), m.extra.end(), [](std::uint64_t v) { return v != 0; });
            }
            e.match.push_back(std::move(m));
        }
        e.action = action(member(action_entry, "action_id", where), where);
        e.parameters = action_data(e.action, member(action_entry, "action_data", where), where);
        e.priority = static_cast<int>(node.contains("priority") ? number(node, "priority", where) : 0);
        return e;
    }

    void deparser() {
        const Json& deparsers = list(json_, "deparsers", "program");
        if (deparsers.size() != 1) throw ProgramError("deparsers: exactly one is supported");
        for (const Json& name : list(deparsers[0], "order", "deparser")) p_.deparser.push_back(compile_.header(name, "deparser"));
    }

    Program& p_;
    const Json& json_;
    Compiler compile_;
    std::unordered_map<unsigned, int> action_by_id_;
};

}  // namespace

std::shared_ptr<const Program> Program::load(const std::string& bmv2_json) {
    auto program = std::make_shared<Program>();
    try {
        const Json json = Json::parse(bmv2_json);
        Loader(*program, json).load();
    } catch (const Json::exception& e) {
        throw ProgramError(std::string("program: not the JSON of a BMv2 program: ") + e.what());
    }
    return program;
}

}  // namespace railyard
