// SPDX-License-Identifier: Apache-2.0
// Compiler: primitives of actions, that is assignments, header operations, and v1model's externs.
#include <algorithm>

#include "load/compile/compiler.h"

namespace railyard::load {

namespace {

// Return the index of an array that the JSON names.
template <typename Array>
Index<Array> array(const List<Array>& arrays, const Json& node, const char* kind, const std::string& where) {
    const std::string name = text(node, "value", where);
    if (const Index<Array> at = arrays.named(name)) return at;
    throw ProgramError(where + ": " + kind + " '" + name + "' is unknown");
}

}  // namespace

HeaderRef Compiler::header_ref(const Json& node, const Action* action, Code& code, const std::string& where) {
    const Json& at = unwrap(node, where);
    const std::string op = at.is_object() ? at.value("op", "") : "";
    if (op.empty()) {
        if (text(at, "type", where) != "header")
            throw ProgramError(where + ": " + at.dump() + " is no header");
        return {false, 0, names_.header(member(at, "value", where), where)};
    }
    if (op == "dereference_header_stack" || op == "dereference_stack") {
        const Index<Stack> s =
            names_.stack_of_headers(member(member(at, "left", where), "value", where), where);
        const Stack& st = p_.stacks[s];
        const Operand index = expression(member(at, "right", where), action, code, where, 64);
        if (index.constant && index.value < st.size()) return {false, 0, st.headers[index.value]};
        const HeaderRef out{true, slots_.temporary(), st.headers[0]};
        code.push_back({Op::Element, 0, out.slot, static_cast<Slot>(s.at()), index.slot});
        return out;
    }
    if (op == "access_union_header") {
        const UnionRef u = union_ref(member(at, "left", where), action, code, where);
        const Json& which = member(at, "right", where);
        const auto& headers = p_.unions[u.layout].headers;
        if (!which.is_number_unsigned() || which.get<std::size_t>() >= headers.size())
            throw ProgramError(where + ": there is no union member " + which.dump());
        const auto index = which.get<std::size_t>();
        if (!u.dynamic) return {false, 0, headers[index]};
        const HeaderRef out{true, slots_.temporary(), headers[index]};
        code.push_back({Op::Member, 0, out.slot, u.slot, static_cast<Slot>(index)});
        return out;
    }
    throw ProgramError(where + ": '" + op + "' gives no header");
}

// Return the union that a node names.
UnionRef Compiler::union_ref(const Json& node, const Action* action, Code& code, const std::string& where) {
    const Json& at = unwrap(node, where);
    if (!at.contains("op")) return {false, 0, names_.header_union(member(at, "value", where), where)};
    if (text(at, "op", where) != "dereference_union_stack")
        throw ProgramError(where + ": " + at.dump() + " is no header union");
    const Index<Stack> s = names_.stack(member(member(at, "left", where), "value", where), where);
    const Stack& st = p_.stacks[s];
    if (!st.of_unions()) throw ProgramError(where + ": " + st.name + " is no stack of unions");
    const Operand index = expression(member(at, "right", where), action, code, where, 64);
    if (index.constant && index.value < st.size()) return {false, 0, st.unions[index.value]};
    const UnionRef out{true, slots_.temporary(), st.unions[0]};
    code.push_back({Op::Element, 0, out.slot, static_cast<Slot>(s.at()), index.slot});
    return out;
}

Operand Compiler::equal_headers(const Json& node, const Action* action, Code& code,
                                const std::string& where) {
    const Json &left = member(node, "left", where), &right = member(node, "right", where);
    const Slot to = slots_.temporary();
    const auto compare = [&](const HeaderRef& a, const HeaderRef& b, Slot result) {
        code.push_back({Op::EqHeader, static_cast<std::uint8_t>((a.dynamic ? 1 : 0) | (b.dynamic ? 2 : 0)),
                        result, a.operand(), b.operand()});
    };
    const std::string kind = unwrap(left, where).value("type", unwrap(left, where).value("op", ""));
    if (kind == "header_union" || kind == "dereference_union_stack") {
        // Unions are equal if the same member is valid in both and its fields are equal.
        const UnionRef a = union_ref(left, action, code, where), b = union_ref(right, action, code, where);
        if (a.dynamic || b.dynamic)
            throw ProgramError(where + ": elements of a stack of unions cannot be compared");
        const auto &ha = p_.unions[a.layout].headers, &hb = p_.unions[b.layout].headers;
        code.push_back({Op::Move, 1, to, slots_.constant(0)});
        for (std::size_t i = 0; i < std::min(ha.size(), hb.size()); ++i) {
            const Slot same = slots_.temporary();
            compare({false, 0, ha[i]}, {false, 0, hb[i]}, same);
            code.push_back({Op::LogicalOr, 1, to, to, same});
        }
    } else {
        const HeaderRef a = header_ref(left, action, code, where), b = header_ref(right, action, code, where);
        compare(a, b, to);
    }
    if (text(node, "op", where) == "!=") code.push_back({Op::LogicalNot, 1, to, to});
    return {to, 1};
}

void Compiler::assign_variable(const Json& target, const Json& source, Code& code, const std::string& where) {
    const Json &to = member(target, "value", where), &from = member(source, "value", where);
    const Field a = names_.field(to, where), b = names_.field(from, where);
    if (!a.variable || !b.variable || a.bits != b.bits)
        throw ProgramError(where + ": " + from.dump() + " cannot be assigned to " + to.dump());
    code.push_back({Op::CopyVariable, static_cast<std::uint8_t>(limbs(a.bits)), a.slot, b.slot});
}

bool Compiler::header_primitive(const std::string& op, const Json& arguments, const Action& action,
                                Code& code, const std::string& where) {
    const auto copy = [&](const HeaderRef& to, const HeaderRef& from) {
        const Header &a = p_.headers[to.layout], &b = p_.headers[from.layout];
        if (!same_type(a, b) || a.slots != b.slots)
            throw ProgramError(where + ": headers of different types cannot be assigned");
        code.push_back({Op::CopyHeader,
                        static_cast<std::uint8_t>((to.dynamic ? 1 : 0) | (from.dynamic ? 2 : 0)),
                        to.operand(), from.operand()});
    };
    const auto name = [&](std::size_t i) -> const Json& {
        return member(unwrap(arguments[i], where), "value", where);
    };
    const auto same_size = [&](const auto& a, const auto& b) {
        if (a.size() != b.size()) throw ProgramError(where + ": '" + op + "' of different types");
    };
    if (op == "add_header" || op == "remove_header") {
        const HeaderRef h = header_ref(arguments[0], &action, code, where);
        code.push_back({op == "add_header" ? Op::AddHeader : Op::RemoveHeader, h.dynamic, 0, h.operand()});
    } else if (op == "assign_header") {
        const HeaderRef to = header_ref(arguments[0], &action, code, where),
                        from = header_ref(arguments[1], &action, code, where);
        copy(to, from);
    } else if (op == "assign_union") {
        const UnionRef to = union_ref(arguments[0], &action, code, where),
                       from = union_ref(arguments[1], &action, code, where);
        const auto &a = p_.unions[to.layout].headers, &b = p_.unions[from.layout].headers;
        same_size(a, b);
        // Copy member by member: making a member valid makes all others invalid.
        for (std::size_t i = 0; i < a.size(); ++i) {
            HeaderRef x{to.dynamic, 0, a[i]}, y{from.dynamic, 0, b[i]};
            for (const auto& [whole, part] : {std::pair{&to, &x}, std::pair{&from, &y}})
                if (whole->dynamic) {
                    part->slot = slots_.temporary();
                    code.push_back({Op::Member, 0, part->slot, whole->slot, static_cast<Slot>(i)});
                }
            copy(x, y);
        }
    } else if (op == "assign_header_stack" || op == "assign_union_stack") {
        const Index<Stack> to = names_.stack(name(0), where), from = names_.stack(name(1), where);
        same_size(p_.stacks[to], p_.stacks[from]);
        code.push_back({Op::CopyStack, 0, static_cast<Slot>(to.at()), static_cast<Slot>(from.at())});
    } else if (op == "push" || op == "pop") {
        const Slot by = single(arguments[1], &action, code, where);
        code.push_back({op == "push" ? Op::Push : Op::Pop, 0, 0,
                        static_cast<Slot>(names_.stack(name(0), where).at()), by});
    } else {
        return false;
    }
    return true;
}

// Compile mark_to_drop for the metadata in the argument: p4c passes a copy of standard_metadata if an action
// has it as a parameter.
void Compiler::mark_to_drop(const Json& arguments, Code& code, const std::string& where) {
    Slot port = p_.standard.egress_spec, group = p_.standard.mcast_grp;
    if (!arguments.empty()) {  // old compilers give no argument
        const HeaderRef argument = header_ref(arguments[0], nullptr, code, where);
        const Header& metadata = p_.headers[argument.layout];
        const Index<Field> egress_spec = metadata.fields.named("egress_spec"),
                           mcast_grp = metadata.fields.named("mcast_grp");
        if (argument.dynamic || !metadata.metadata || !egress_spec || !mcast_grp)
            throw ProgramError(where + ": mark_to_drop of " + metadata.name +
                               ", which is no standard_metadata_t");
        const auto target = [&](const Field& field) {
            return field.slot == kNoSlot ? slots_.temporary() : field.slot;
        };  // the program does not read the field
        if (metadata.name != "standard_metadata") {
            port = target(metadata.fields[egress_spec]);
            group = target(metadata.fields[mcast_grp]);
        }
    }
    code.push_back({Op::MarkToDrop, 0, port, group});
}

void Compiler::log_message(const Json& arguments, const Action& action, Code& code,
                           const std::string& where) {
    LogMessage message{text(arguments[0], "value", where), {}};
    // Give the values their own slots, so that later messages do not overwrite them. Without values, the JSON
    // has an empty object or nothing instead of the list.
    static const Json kNoValues = Json::array();
    const bool has_values = arguments.size() == 2 && !member(arguments[1], "value", where).empty();
    for (const Json& v : has_values ? list(arguments[1], "value", where) : kNoValues) {
        const Operand value = expression(v, &action, code, where);
        const Slot at = slots_.allocate(value.n);
        code.push_back(
            {Op::MoveWide, static_cast<std::uint8_t>(value.n), at, value.slot, static_cast<Slot>(value.n)});
        message.values.push_back({at, value.n, value.negative});
    }
    p_.messages.push_back(std::move(message));
    code.push_back({Op::Log, 0, 0, static_cast<Slot>(p_.messages.size() - 1)});
}

bool Compiler::extern_primitive(const std::string& op, const Json& arguments, const Action& action,
                                Code& code, const std::string& where) {
    const auto in = [&](std::size_t i) { return single(arguments[i], &action, code, where); };
    // Store the result through a temporary, so that every lvalue can be the target.
    const auto out = [&](std::size_t i, Instruction instruction, unsigned n) {
        const Json& node = unwrap(arguments[i], where);
        if (node.value("type", "") != "field")
            throw ProgramError(where + ": the result of '" + op + "' needs a field");
        const Field f = names_.target_field(member(node, "value", where), where);
        instruction.dst = slots_.temporary(n);
        code.push_back(instruction);
        store(f, {instruction.dst, 64 * n, n}, code);
    };
    if (op == "count") {
        code.push_back({Op::Count, 0, 0,
                        static_cast<Slot>(array(p_.counters, arguments[0], "counter", where).at()), in(1)});
    } else if (op == "register_read") {
        const Index<ArraySpec> at = array(p_.registers, arguments[1], "register", where);
        const unsigned n = limbs(p_.registers[at].bits);
        out(0, {Op::RegisterRead, static_cast<std::uint8_t>(n), 0, static_cast<Slot>(at.at()), in(2)}, n);
    } else if (op == "register_write") {
        const Index<ArraySpec> at = array(p_.registers, arguments[0], "register", where);
        const unsigned bits = p_.registers[at].bits, n = limbs(bits);
        const Slot index = in(1), value = slots_.temporary(n);
        store(Field{"", bits, value}, expression(arguments[2], &action, code, where, bits), code);
        code.push_back(
            {Op::RegisterWrite, static_cast<std::uint8_t>(n), 0, static_cast<Slot>(at.at()), index, value});
    } else if (op == "execute_meter") {
        out(2,
            {Op::Meter, 0, 0, static_cast<Slot>(array(p_.meters, arguments[0], "meter", where).at()), in(1)},
            1);
    } else if (op == "modify_field_with_hash_based_offset") {
        const Slot base = in(1), size = in(3);
        out(0,
            {Op::Hash, 0, 0,
             static_cast<Slot>(array(p_.calculations, arguments[2], "calculation", where).at()), base, size},
            1);
    } else if (op == "modify_field_rng_uniform") {
        const Slot low = in(1), high = in(2);
        out(0, {Op::Random, 0, 0, low, high}, 1);
    } else if (op == "clone_ingress_pkt_to_egress" || op == "clone_egress_pkt_to_egress") {
        const Slot session = in(0), fields = in(1);
        code.push_back({Op::Clone, 0, 0, session, fields});
    } else if (op == "resubmit") {
        code.push_back({Op::Resubmit, 0, 0, in(0)});
    } else if (op == "recirculate") {
        code.push_back({Op::Recirculate, 0, 0, in(0)});
    } else if (op == "generate_digest") {
        code.push_back({Op::Digest, 0, 0, in(1)});
    } else if (op == "truncate") {
        code.push_back({Op::Truncate, 0, 0, in(0)});
    } else {
        return false;
    }
    return true;
}

void Compiler::primitive(const Json& call, const Action& action, Code& code, const std::string& where) {
    static const std::unordered_map<std::string, std::size_t> kArguments = {
        {"assign", 2},
        {"assign_VL", 2},
        {"assign_header", 2},
        {"assign_union", 2},
        {"assign_header_stack", 2},
        {"assign_union_stack", 2},
        {"add_header", 1},
        {"remove_header", 1},
        {"push", 2},
        {"pop", 2},
        {"mark_to_drop", 1},
        {"count", 2},
        {"register_read", 3},
        {"register_write", 3},
        {"execute_meter", 3},
        {"modify_field_with_hash_based_offset", 4},
        {"modify_field_rng_uniform", 3},
        {"clone_ingress_pkt_to_egress", 2},
        {"clone_egress_pkt_to_egress", 2},
        {"resubmit", 1},
        {"recirculate", 1},
        {"generate_digest", 2},
        {"truncate", 1},
        {"log_msg", 2},
        {"assert", 1},
        {"assume", 1},
        {"exit", 0},
        {"_jump", 1},
        {"_jump_if_zero", 2},
        {"no_op", 0}};
    const std::string op = text(call, "op", where);
    const Json& arguments = list(call, "parameters", where);
    const auto known = kArguments.find(op);
    if (known == kArguments.end()) throw ProgramError(where + ": primitive '" + op + "' is not supported");
    const bool fewer =
        (op == "mark_to_drop" && arguments.empty()) || (op == "log_msg" && arguments.size() == 1);
    if (arguments.size() != known->second && !fewer)
        throw ProgramError(where + ": '" + op + "' takes " + std::to_string(known->second) +
                           " parameters, not " + std::to_string(arguments.size()));
    slots_.free_temporaries();
    if (header_primitive(op, arguments, action, code, where) ||
        extern_primitive(op, arguments, action, code, where))
        return;
    if (op == "assign") {
        assign(arguments[0], arguments[1], &action, code, where);
    } else if (op == "assign_VL") {
        assign_variable(arguments[0], arguments[1], code, where);
    } else if (op == "mark_to_drop") {
        mark_to_drop(arguments, code, where);
    } else if (op == "log_msg") {
        log_message(arguments, action, code, where);
    } else if (op == "assert" || op == "assume") {
        const Operand condition = truth(arguments[0], &action, code, where);
        const auto source = call.find("source_info");
        std::string said = op + " failed in " + where;
        if (source != call.end() && source->is_object())
            said = op + " failed: " + source->value("source_fragment", "") + " (" +
                   source->value("filename", "") + ":" + std::to_string(source->value("line", 0)) + ")";
        p_.assertions.push_back(std::move(said));
        code.push_back({Op::Assert, 0, 0, condition.slot, static_cast<Slot>(p_.assertions.size() - 1)});
    } else if (op == "exit") {
        code.push_back({Op::Exit});
    }
}

Instruction Compiler::note(Note note, const Json& node) {
    if (p_.notes.size() >= kNoSlot)
        throw ProgramError("program: more statements than a trace holds, which is " +
                           std::to_string(kNoSlot));
    if (const auto source = node.find("source_info"); source != node.end() && source->is_object()) {
        note.file = source->value("filename", "");
        note.line = source->value("line", 0u);
        note.column = source->value("column", 0u);
        note.text = source->value("source_fragment", "");
    }
    const auto at = static_cast<Slot>(p_.notes.size());
    p_.notes.push_back(std::move(note));
    return {Op::Note, 0, 0, at};
}

// Append the note of a statement after its code, so that the trace has the value that it assigns.
void Compiler::note_statement(const Json& call, Code& code, const std::string& where) {
    Note out{.kind = Note::Kind::Statement, .name = text(call, "op", where)};
    const Json& arguments = list(call, "parameters", where);
    if (out.name == "count") {
        const Instruction& count = code.back();
        out.target = p_.counters[Index<ArraySpec>(count.a)].name;
        out.slot = count.b;
        out.bits = 64;
    } else if (!arguments.empty() && arguments[0].value("type", "") == "field") {
        const Json& reference = member(arguments[0], "value", where);
        const Field& f = names_.field(reference, where);
        out.target = reference[0].get<std::string>() + "." + reference[1].get<std::string>();
        if (!f.variable) {
            out.slot = f.slot;
            out.bits = f.bits;
        }
    } else if (!arguments.empty() && arguments[0].value("type", "") == "header") {
        out.target = member(arguments[0], "value", where).get<std::string>();
    }
    code.push_back(note(std::move(out), call));
}

Code Compiler::sequence(const Json& calls, const Action& action, const std::string& where) {
    Code code;
    std::vector<std::size_t> starts;
    std::vector<std::pair<std::size_t, std::uint64_t>>
        jumps;  // instruction, and the index of the call to which it jumps
    for (const Json& call : calls) {
        starts.push_back(code.size());
        const std::string op = text(call, "op", where);
        if (op != "_jump" && op != "_jump_if_zero") {
            if (p_.traced && op == "exit") note_statement(call, code, where);
            primitive(call, action, code, where);
            if (p_.traced && op != "exit") note_statement(call, code, where);
            continue;
        }
        const Json& arguments = list(call, "parameters", where);
        const bool conditional = op == "_jump_if_zero";
        if (arguments.size() != (conditional ? 2u : 1u))
            throw ProgramError(where + ": '" + op + "' with " + std::to_string(arguments.size()) +
                               " parameters");
        slots_.free_temporaries();
        const Operand to = expression(arguments[conditional ? 1 : 0], &action, code, where);
        if (!to.constant || to.value > calls.size())
            throw ProgramError(where + ": a jump to " + arguments.back().dump());
        const bool back = to.value < starts.size();
        const Slot condition = conditional ? truth(arguments[0], &action, code, where).slot : Slot{0};
        if (conditional && back) {
            // Skip the unconditional jump back.
            code.push_back({Op::JumpUnless, 0, 0, condition, 0, code.size() + 2});
            code.push_back({Op::Jump, 0, 0, 0, 0, code.size() + 2});
        }
        jumps.emplace_back(code.size(), to.value);
        code.push_back({back ? Op::JumpBack : conditional ? Op::JumpUnless : Op::Jump, 0, 0, condition});
    }
    starts.push_back(code.size());
    for (const auto& [at, to] : jumps) code[at].mask = starts[to];
    return code;
}

}  // namespace railyard::load
