// SPDX-License-Identifier: Apache-2.0
// Loading of parser and deparser.
#include <algorithm>

#include "load/loader.h"

namespace railyard::load {

void Loader::parser() {
    const Json& parsers = list(json_, "parsers", "program");
    if (parsers.size() != 1)
        throw ProgramError("parsers: exactly one is supported, not " + std::to_string(parsers.size()));
    for (const Json& node : list_or_none(json_, "parse_vsets", "program")) {
        const std::string name = text(node, "name", "parse_vsets");
        p_.value_sets.push_back({name, number(node, "compressed_bitwidth", "value set " + name, 2048), {}});
    }
    const Json& states = list(parsers[0], "parse_states", "parser");
    ByName by_name;
    for (const Json& s : states)
        by_name.emplace(text(s, "name", "parser"), Index<ParserState>(by_name.size()));
    if (by_name.size() != states.size()) throw ProgramError("parser: two states have the same name");
    const Json& first = member(parsers[0], "init_state", "parser");
    const auto at = first.is_string() ? by_name.find(first.get<std::string>()) : by_name.end();
    if (at == by_name.end()) throw ProgramError("parser: state " + first.dump() + " is unknown");
    p_.first_state = at->second;
    for (const Json& s : states) parser_state(s, by_name);
}

// Return the index of a member by its name in the union's type. The headers of a union are named
// UNION.MEMBER.
std::size_t Loader::union_member(const Stack& stack, const Json& name, const std::string& where) const {
    const auto& headers = p_.unions[stack.unions[0]].headers;
    const std::string end = "." + text(name, where);
    for (std::size_t i = 0; i < headers.size(); ++i)
        if (p_.headers[headers[i]].name.ends_with(end)) return i;
    throw ProgramError(where + ": there is no union member " + name.dump());
}

ParserOp Loader::parser_op(const Json& call, const std::string& where) {
    const std::string op = text(call, "op", where);
    const Json& arguments = list(call, "parameters", where);
    ParserOp out{};
    Code code;
    compile_.slots().free_temporaries();
    if ((op == "extract" && arguments.size() == 1) || (op == "extract_VL" && arguments.size() == 2)) {
        const std::string type = text(arguments[0], "type", where);
        const Json& value = member(arguments[0], "value", where);
        Index<Header> layout;
        if (type == "regular") {
            out.kind = ParserOp::Kind::Extract;
            layout = out.header = compile_.names().header(value, where);
        } else if (type == "stack") {
            out.kind = ParserOp::Kind::ExtractStack;
            out.stack = compile_.names().stack_of_headers(value, where);
            layout = p_.stacks[out.stack].headers[0];
        } else if (type == "union_stack" && value.is_array() && value.size() == 2) {
            out.kind = ParserOp::Kind::ExtractUnionStack;
            out.stack = compile_.names().stack(value[0], where);
            const Stack& s = p_.stacks[out.stack];
            if (!s.of_unions()) throw ProgramError(where + ": " + s.name + " is no stack of unions");
            out.member = union_member(s, value[1], where);
            layout = p_.unions[s.unions[0]].headers[out.member];
        } else {
            throw ProgramError(where + ": an extract cannot have type '" + type + "'");
        }
        const Header& h = p_.headers[layout];
        if (h.metadata) throw ProgramError(where + ": metadata cannot be extracted");
        if (h.variable != (op == "extract_VL")) throw ProgramError(where + ": '" + op + "' of " + h.name);
        if (h.variable) {
            if (out.kind == ParserOp::Kind::Extract) out.kind = ParserOp::Kind::ExtractVariable;
            out.value = compile_.expression(arguments[1], nullptr, code, where, 64).slot;
            out.code = compile_.append(code, Op::End);
        }
    } else if (op == "verify" && arguments.size() == 2) {
        out.kind = ParserOp::Kind::Verify;
        out.value = compile_.expression(arguments[0], nullptr, code, where).slot;
        out.error = compile_.expression(arguments[1], nullptr, code, where, 64).slot;
        out.code = compile_.append(code, Op::End);
    } else if (op == "advance" && arguments.size() == 1) {
        out.kind = ParserOp::Kind::Advance;
        out.value = compile_.expression(arguments[0], nullptr, code, where, 64).slot;
        out.code = compile_.append(code, Op::End);
    } else if (op == "shift" && arguments.size() == 1 && arguments[0].is_number_unsigned()) {
        out.kind = ParserOp::Kind::Advance;
        out.value = compile_.slots().constant(8ULL * arguments[0].get<unsigned>());
        out.code = compile_.append({}, Op::End);
    } else if (op == "primitive" && arguments.size() == 1) {
        out.kind = ParserOp::Kind::Run;
        out.code = compile_.append(compile_.sequence(arguments, Action{}, where), Op::End);
    } else {
        throw ProgramError(where + ": parser operation '" + op + "' is not supported");
    }
    return out;
}

void Loader::parser_set(const Json& arguments, ParserState& state, const std::string& where) {
    if (arguments.size() != 2) throw ProgramError(where + ": 'set' takes 2 parameters");
    ParserOp out{};
    out.kind = ParserOp::Kind::Run;
    Code code;
    compile_.slots().free_temporaries();
    if (text(arguments[1], "type", where) == "lookahead") {
        const Json& value = member(arguments[1], "value", where);
        const bool pair = value.is_array() && value.size() == 2 && value[0].is_number_unsigned() &&
                          value[1].is_number_unsigned();
        if (!pair || value[0] > 65536 || value[1] == 0 || value[1] > 2048)
            throw ProgramError(where + ": lookahead " + value.dump());
        ParserOp look{};
        look.kind = ParserOp::Kind::Lookahead;
        look.offset = value[0];
        look.bits = value[1];
        look.value = compile_.slots().allocate(limbs(look.bits));
        const Field f = compile_.names().target_field(member(arguments[0], "value", where), where);
        compile_.store(f, {look.value, look.bits, limbs(look.bits)}, code);
        state.ops.push_back(look);
    } else if (arguments[0].value("type", "") == "field" &&
               compile_.names().field(member(arguments[0], "value", where), where).variable) {
        const Json call = {{"op", "assign_VL"}, {"parameters", arguments}};
        compile_.primitive(call, Action{}, code, where);
    } else {
        compile_.assign(arguments[0], arguments[1], nullptr, code, where);
    }
    out.code = compile_.append(code, Op::End);
    state.ops.push_back(out);
}

TransitionKey Loader::transition_key(const Json& node, const std::string& where) const {
    TransitionKey key;
    const std::string type = text(node, "type", where);
    const Json& value = member(node, "value", where);
    if (type == "field") {
        const Field f = compile_.names().field(value, where);
        key.slot = f.slot;
        key.bits = f.bits;
        key.shift = 8 * ((f.bits + 7) / 8) % 64;
    } else if (type == "lookahead" && value.is_array() && value.size() == 2 &&
               value[0].is_number_unsigned() && value[1].is_number_unsigned() && value[0] <= 65536 &&
               value[1] > 0 && value[1] <= 2048) {
        key.kind = TransitionKey::Kind::Lookahead;
        key.offset = value[0];
        key.bits = value[1];
    } else if (type == "stack_field" && value.is_array() && value.size() == 2) {
        key.kind = TransitionKey::Kind::Last;
        key.stack = compile_.names().stack_of_headers(value[0], where);
        const Index<Header> layout = p_.stacks[key.stack].headers[0];
        key.field = compile_.names().field(layout, value[1], where);
        key.bits = p_.headers[layout].fields[key.field].bits;
    } else if (type == "union_stack_field" && value.is_array() && value.size() == 3) {
        key.kind = TransitionKey::Kind::UnionLast;
        key.stack = compile_.names().stack(value[0], where);
        const Stack& s = p_.stacks[key.stack];
        if (!s.of_unions()) throw ProgramError(where + ": " + s.name + " is no stack of unions");
        key.member = union_member(s, value[1], where);
        const Index<Header> layout = p_.unions[s.unions[0]].headers[key.member];
        key.field = compile_.names().field(layout, value[2], where);
        key.bits = p_.headers[layout].fields[key.field].bits;
    } else {
        throw ProgramError(where + ": transition key " + node.dump() + " is not supported");
    }
    return key;
}

void Loader::transition(const Json& node, ParserState& state, const ByName& states,
                        const std::string& where) {
    Transition t;
    const Json& next = member(node, "next_state", where);
    if (!next.is_null()) {
        const auto at = next.is_string() ? states.find(next.get<std::string>()) : states.end();
        if (at == states.end()) throw ProgramError(where + ": state " + next.dump() + " is unknown");
        t.next = at->second;
    }
    const Json& value = member(node, "value", where);
    const std::string type = node.value("type", value.is_null() || value == "default" ? "default" : "hexstr");
    const std::size_t bytes = state.key_bytes;
    t.wide_value.assign(bytes, 0);
    t.wide_mask.assign(bytes, 0);
    if (type != "default") {
        const Json& mask = member(node, "mask", where);
        t.wide_mask = mask.is_null() ? std::vector<std::uint8_t>(bytes, 0xFF) : hex_bytes(mask, bytes, where);
        if (type == "parse_vset") {
            if (value.is_string()) t.value_set = p_.value_sets.named(value.get_ref<const std::string&>());
            if (!t.value_set) throw ProgramError(where + ": value set " + value.dump() + " is unknown");
            ValueSet& set = p_.value_sets[t.value_set];
            set.fields.clear();
            for (const TransitionKey& k : state.key) set.fields.push_back(k.bits);
        } else {
            t.wide_value = hex_bytes(value, bytes, where);
        }
        for (std::size_t i = 0; i < bytes; ++i) t.wide_value[i] &= t.wide_mask[i];
    }
    for (std::size_t i = 0; i < bytes && bytes <= 8; ++i) {
        t.value = t.value << 8 | t.wide_value[i];
        t.mask = t.mask << 8 | t.wide_mask[i];
    }
    state.transitions.push_back(std::move(t));
}

void Loader::parser_state(const Json& node, const ByName& states) {
    ParserState state;
    state.name = text(node, "name", "parser");
    const std::string where = "parser state " + state.name;
    if (p_.traced) {
        ParserOp enter{.kind = ParserOp::Kind::Run};
        enter.code =
            compile_.append({compile_.note({.kind = Note::Kind::State, .name = state.name}, node)}, Op::End);
        state.ops.push_back(enter);
    }
    for (const Json& call : list(node, "parser_ops", where)) {
        if (text(call, "op", where) == "set") parser_set(list(call, "parameters", where), state, where);
        else state.ops.push_back(parser_op(call, where));
    }
    for (const Json& k : list(node, "transition_key", where)) {
        state.key.push_back(transition_key(k, where));
        state.key_bytes += (state.key.back().bits + 7) / 8;
    }
    if (state.key_bytes > 8 * kMaxKeyLimbs)
        throw ProgramError(where + ": a transition key cannot have " + std::to_string(state.key_bytes) +
                           " bytes");
    for (const Json& t : list(node, "transitions", where)) transition(t, state, states, where);
    state.simple = state.key_bytes <= 8 &&
                   std::all_of(state.key.begin(), state.key.end(),
                               [](const TransitionKey& k) { return k.kind == TransitionKey::Kind::Slot; }) &&
                   std::all_of(state.transitions.begin(), state.transitions.end(),
                               [](const Transition& t) { return !t.value_set; });
    p_.states.push_back(std::move(state));
}

void Loader::deparser() {
    const Json& deparsers = list(json_, "deparsers", "program");
    if (deparsers.size() != 1) throw ProgramError("deparsers: exactly one is supported");
    for (const Json& name : list(deparsers[0], "order", "deparser")) {
        p_.deparser.push_back(compile_.names().header(name, "deparser"));
        if (p_.headers[p_.deparser.back()].metadata)
            throw ProgramError("deparser: metadata cannot be emitted");
    }
    const Json& calls = list_or_none(deparsers[0], "primitives", "deparser");
    if (calls.empty()) return;
    Json plain = Json::array();  // primitives without the wrapper that parser primitives have
    for (const Json& c : calls) {
        const bool wrapped = c.value("op", "") == "primitive";
        if (wrapped && list(c, "parameters", "deparser").size() != 1)
            throw ProgramError("deparser: 'primitive' takes 1 parameter");
        plain.push_back(wrapped ? c["parameters"][0] : c);
    }
    p_.deparser_code = compile_.append(compile_.sequence(plain, Action{}, "deparser"), Op::End);
}

}  // namespace railyard::load
