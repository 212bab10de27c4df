// SPDX-License-Identifier: Apache-2.0
#include "compiler.h"

#include <algorithm>

namespace railyard {

const Json& member(const Json& object, const char* key, const std::string& where) {
    if (!object.is_object()) throw ProgramError(where + ": an object was expected");
    const auto at = object.find(key);
    if (at == object.end()) throw ProgramError(where + ": no '" + key + "'");
    return *at;
}

std::string text(const Json& object, const char* key, const std::string& where) {
    const Json& value = member(object, key, where);
    if (!value.is_string()) throw ProgramError(where + ": '" + key + "' is no string");
    return value.get<std::string>();
}

unsigned number(const Json& object, const char* key, const std::string& where, unsigned limit) {
    const Json& value = member(object, key, where);
    if (!value.is_number_integer() || value.get<std::int64_t>() < 0 || value.get<std::int64_t>() > limit)
        throw ProgramError(where + ": '" + key + "' is " + value.dump() + ", not a number from 0 to " + std::to_string(limit));
    return value.get<unsigned>();
}

const Json& list(const Json& object, const char* key, const std::string& where) {
    const Json& value = member(object, key, where);
    if (!value.is_array()) throw ProgramError(where + ": '" + key + "' is no list");
    return value;
}

std::vector<std::uint64_t> hex_limbs(const Json& value, unsigned bits, const std::string& where) {
    if (!value.is_string()) throw ProgramError(where + ": a hexadecimal string was expected, not " + value.dump());
    const auto& s = value.get_ref<const std::string&>();
    if (s.size() < 3 || s[0] != '0' || (s[1] != 'x' && s[1] != 'X') ||
        s.find_first_not_of("0123456789abcdefABCDEF", 2) != std::string::npos)
        throw ProgramError(where + ": '" + s + "' is no hexadecimal number");
    std::vector<std::uint64_t> out(limbs(bits), 0);
    unsigned nibble = 0;
    for (std::size_t i = s.size(); i-- > 2; ++nibble) {
        const auto digit = static_cast<std::uint64_t>(std::stoi(s.substr(i, 1), nullptr, 16));
        if (nibble / 16 < out.size()) out[nibble / 16] |= digit << (4 * (nibble % 16));
        else if (digit != 0) throw ProgramError(where + ": " + s + " does not fit " + std::to_string(bits) + " bits");
    }
    return out;
}

Slot Compiler::new_slots(unsigned count, std::uint64_t initial) {
    const std::size_t at = program_.image.size();
    if (at + count >= StandardSlots::kUnused) throw ProgramError("program: more fields and constants than the engine holds");
    program_.image.resize(at + count, initial);
    return static_cast<Slot>(at);
}

Slot Compiler::constant(std::uint64_t value) {
    const auto found = constants_.find(value);
    if (found != constants_.end()) return found->second;
    return constants_[value] = new_slots(1, value);
}

Operand Compiler::wide_constant(const Json& value, unsigned bits, const std::string& where) {
    const auto parts = hex_limbs(value, bits, where);
    if (parts.size() == 1) return {constant(parts[0]), bits, true, parts[0]};
    const Slot at = new_slots(static_cast<unsigned>(parts.size()));
    std::copy(parts.begin(), parts.end(), program_.image.begin() + at);
    return {at, bits};
}

Slot Compiler::parameter_slot(unsigned limb) {
    // Parameters of wide types need neighbouring slots, so the area grows as one block, before any code uses it.
    while (parameter_slots_.size() <= limb) parameter_slots_.push_back(new_slots(1));
    return parameter_slots_[limb];
}

Slot Compiler::temporary() {
    if (temporaries_ == temporary_slots_.size()) temporary_slots_.push_back(new_slots(1));
    return temporary_slots_[temporaries_++];
}

void Compiler::index_headers() {
    for (std::size_t i = 0; i < program_.headers.size(); ++i) {
        const Header& h = program_.headers[i];
        header_by_name_[h.name] = static_cast<int>(i);
        std::unordered_map<std::string, Field> fields;
        for (const Field& f : h.fields) fields[f.name] = f;
        fields["$valid$"] = Field{"$valid$", 1, h.valid};
        fields_.push_back(std::move(fields));
    }
}

int Compiler::header(const Json& name, const std::string& where) const {
    const auto at = name.is_string() ? header_by_name_.find(name.get<std::string>()) : header_by_name_.end();
    if (at == header_by_name_.end()) throw ProgramError(where + ": unknown header " + name.dump());
    return at->second;
}

const Field& Compiler::field(const Json& reference, const std::string& where) const {
    if (!reference.is_array() || reference.size() != 2 || !reference[1].is_string())
        throw ProgramError(where + ": " + reference.dump() + " names no field");
    const auto& fields = fields_[static_cast<std::size_t>(header(reference[0], where))];
    const auto at = fields.find(reference[1].get<std::string>());
    if (at == fields.end()) throw ProgramError(where + ": unknown field " + reference.dump());
    return at->second;
}

Operand Compiler::single(const Json& node, const Action* action, Code& code, const std::string& where) {
    const Operand operand = expression(node, action, code, where);
    if (operand.bits > 64) throw ProgramError(where + ": arithmetic on more than 64 bits is not supported yet");
    return operand;
}

Operand Compiler::expression(const Json& node, const Action* action, Code& code, const std::string& where) {
    if (node.is_object() && node.contains("op")) return operation(node, action, code, where);
    const std::string type = text(node, "type", where);
    const Json& value = member(node, "value", where);
    if (type == "expression") return expression(value, action, code, where);
    if (type == "field") {
        const Field& f = field(value, where);
        return {f.slot, f.bits};
    }
    if (type == "hexstr") {
        const std::size_t digits = value.is_string() ? value.get_ref<const std::string&>().size() : 0;
        return wide_constant(value, digits > 18 ? static_cast<unsigned>(digits - 2) * 4 : 64, where);
    }
    if (type == "bool") {
        if (!value.is_boolean()) throw ProgramError(where + ": " + value.dump() + " is no boolean");
        return {constant(value.get<bool>()), 1, true, value.get<bool>()};
    }
    if (type == "runtime_data" || type == "local") {
        if (action == nullptr || !value.is_number_unsigned() || value.get<std::size_t>() >= action->parameters.size())
            throw ProgramError(where + ": no action parameter " + value.dump());
        const Parameter& p = action->parameters[value.get<std::size_t>()];
        return {p.slot, p.bits};
    }
    throw ProgramError(where + ": operand of type '" + type + "' is not supported yet");
}

Operand Compiler::operation(const Json& node, const Action* action, Code& code, const std::string& where) {
    const std::string op = text(node, "op", where);
    if (op == "d2b" || op == "b2d") {
        const Operand value = single(member(node, "right", where), action, code, where);
        if (op == "b2d" || value.bits == 1) return {value.slot, 1, value.constant, value.value};
        return binary("!=", value, {constant(0), 64, true, 0}, code, where);
    }
    if (op == "valid") {
        const int h = header(member(member(node, "right", where), "value", where), where);
        return {program_.headers[static_cast<std::size_t>(h)].valid, 1};
    }
    if (op == "~" || op == "not") {
        const Operand value = single(member(node, "right", where), action, code, where);
        const Slot to = temporary();
        code.push_back({op == "~" ? Op::Not : Op::LogicalNot, to, value.slot, 0, low_mask(op == "~" ? value.bits : 1)});
        return {to, op == "~" ? value.bits : 1};
    }
    if (op == "?") {
        const Operand condition = single(member(node, "cond", where), action, code, where);
        const Operand yes = single(member(node, "left", where), action, code, where);
        const Operand no = single(member(node, "right", where), action, code, where);
        const Slot to = temporary();
        code.push_back({Op::Select, to, condition.slot, yes.slot, no.slot});
        return {to, std::max(yes.bits, no.bits)};
    }
    const Operand left = expression(member(node, "left", where), action, code, where);
    const std::size_t before = code.size();
    const Operand right = expression(member(node, "right", where), action, code, where);
    // `x & constant` on a value just computed is that instruction's own mask.
    if (op == "&" && right.constant && code.size() == before && before > 0 && !left.constant) {
        Instruction& last = code.back();
        if (last.dst == left.slot && last.op < Op::Select && left.slot >= program_.cleared_slots) {
            last.mask &= right.value;
            return {left.slot, left.bits};
        }
    }
    return binary(op, left, right, code, where);
}

Operand Compiler::binary(const std::string& op, Operand left, Operand right, Code& code, const std::string& where) {
    static const std::unordered_map<std::string, Op> kOps = {
        {"+", Op::Add}, {"-", Op::Sub}, {"*", Op::Mul}, {"<<", Op::Shl}, {">>", Op::Shr}, {"&", Op::And},
        {"|", Op::Or}, {"^", Op::Xor}, {"==", Op::Eq}, {"!=", Op::Ne}, {"<", Op::Lt}, {"<=", Op::Le},
        {">", Op::Gt}, {">=", Op::Ge}, {"and", Op::LogicalAnd}, {"or", Op::LogicalOr}};
    const auto found = kOps.find(op);
    if (found == kOps.end()) throw ProgramError(where + ": operator '" + op + "' is not supported yet");
    const Slot to = temporary();
    if (left.bits > 64 || right.bits > 64) {
        if ((op != "==" && op != "!=") || limbs(left.bits) != limbs(right.bits))
            throw ProgramError(where + ": '" + op + "' on more than 64 bits is not supported yet");
        code.push_back({op == "==" ? Op::EqWide : Op::NeWide, to, left.slot, right.slot, limbs(left.bits)});
        return {to, 1};
    }
    const Op kind = found->second;
    code.push_back({kind, to, left.slot, right.slot, ~0ULL});
    const bool truth = kind >= Op::Eq && kind <= Op::LogicalOr;
    return {to, truth ? 1u : 64u};
}

void Compiler::assign(const Field& target, const Json& source, const Action* action, Code& code, const std::string& where) {
    const Operand value = expression(source, action, code, where);
    const unsigned n = limbs(target.bits);
    if (n == 1) {
        const bool fresh = !code.empty() && !value.constant && code.back().dst == value.slot &&
                           code.back().op < Op::Select && value.slot >= program_.cleared_slots;
        if (fresh) {
            code.back().dst = target.slot;
            code.back().mask &= low_mask(target.bits);
        } else {
            code.push_back({Op::Move, target.slot, value.slot, 0, low_mask(target.bits)});
        }
        return;
    }
    const unsigned copied = std::min(n, limbs(value.bits));
    code.push_back({Op::MoveWide, target.slot, value.slot, 0, copied});
    for (unsigned i = copied; i < n; ++i)
        code.push_back({Op::Move, static_cast<Slot>(target.slot + i), constant(0), 0, ~0ULL});
    code.push_back({Op::Move, static_cast<Slot>(target.slot + n - 1), static_cast<Slot>(target.slot + n - 1), 0,
                    low_mask(target.bits - 64 * (n - 1))});
}

int Compiler::array(const std::vector<ArraySpec>& arrays, const Json& node, const std::string& where) const {
    const std::string name = text(node, "value", where);
    for (std::size_t i = 0; i < arrays.size(); ++i)
        if (arrays[i].name == name) return static_cast<int>(i);
    throw ProgramError(where + ": unknown array '" + name + "'");
}

void Compiler::primitive(const Json& call, const Action& action, Code& code, const std::string& where) {
    const std::string op = text(call, "op", where);
    const Json& arguments = list(call, "parameters", where);
    const auto need = [&](std::size_t n) {
        if (arguments.size() != n)
            throw ProgramError(where + ": '" + op + "' takes " + std::to_string(n) + " parameters, not " + std::to_string(arguments.size()));
    };
    const auto value = [&](std::size_t i) { return member(arguments[i], "value", where); };
    start_code();
    if (op == "assign") {
        need(2);
        if (text(arguments[0], "type", where) != "field") throw ProgramError(where + ": assignment to something that is no field");
        const Field& target = field(value(0), where);
        if (target.slot == program_.standard.mcast_grp) throw ProgramError(where + ": multicast is not supported yet");
        assign(target, arguments[1], &action, code, where);
    } else if (op == "add_header" || op == "remove_header") {
        need(1);
        code.push_back({op == "add_header" ? Op::AddHeader : Op::RemoveHeader, 0, static_cast<Slot>(header(value(0), where)), 0, 0});
    } else if (op == "assign_header") {
        need(2);
        const int to = header(value(0), where), from = header(value(1), where);
        const Header &a = program_.headers[static_cast<std::size_t>(to)], &b = program_.headers[static_cast<std::size_t>(from)];
        if (a.fields.size() != b.fields.size() || a.bytes != b.bytes) throw ProgramError(where + ": headers of different types assigned");
        code.push_back({Op::CopyHeader, static_cast<Slot>(to), static_cast<Slot>(from), 0, 0});
    } else if (op == "mark_to_drop") {
        code.push_back({Op::MarkToDrop, 0, 0, 0, 0});
    } else if (op == "count") {
        need(2);
        const auto at = static_cast<Slot>(array(program_.counters, arguments[0], where));
        code.push_back({Op::Count, 0, at, single(arguments[1], &action, code, where).slot, 0});
    } else if (op == "register_read") {
        need(3);
        const Field& target = field(value(0), where);
        const auto at = static_cast<Slot>(array(program_.registers, arguments[1], where));
        if (target.bits > 64) throw ProgramError(where + ": registers of more than 64 bits are not supported yet");
        code.push_back({Op::RegisterRead, target.slot, at, single(arguments[2], &action, code, where).slot, low_mask(target.bits)});
    } else if (op == "register_write") {
        need(3);
        const auto at = static_cast<Slot>(array(program_.registers, arguments[0], where));
        const Slot index = single(arguments[1], &action, code, where).slot;
        code.push_back({Op::RegisterWrite, 0, at, index, single(arguments[2], &action, code, where).slot});
    } else if (op == "exit") {
        code.push_back({Op::Exit, 0, 0, 0, 0});
    } else {
        throw ProgramError(where + ": primitive '" + op + "' is not supported yet");
    }
}

}  // namespace railyard
