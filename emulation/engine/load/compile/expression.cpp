// SPDX-License-Identifier: Apache-2.0
// Compiler: expressions over unbounded integers, computed in as few limbs as operands and consumers need.
#include <algorithm>
#include <bit>

#include "load/compile/compiler.h"

namespace railyard::load {

namespace {

constexpr unsigned kMostBits = 64 * 64;

// Return the bits that a value needs in two's complement.
unsigned signed_bits(const Operand& o) { return o.bits + (o.negative ? 0 : 1); }

}  // namespace

bool Compiler::fresh(const Operand& operand, const Code& code) const {
    return !code.empty() && !operand.constant && operand.n == 1 && of_one_limb(code.back().op) &&
           code.back().dst == operand.slot && operand.slot >= slots_.first_temporary();
}

// Return a slot with the operand extended to at least n limbs.
Slot Compiler::widen(const Operand& operand, unsigned n, Code& code) {
    if (operand.n >= n) return operand.slot;
    const Slot to = slots_.temporary(n);
    code.push_back({operand.negative ? Op::MoveSigned : Op::MoveWide, static_cast<std::uint8_t>(n), to,
                    operand.slot, static_cast<Slot>(operand.n)});
    return to;
}

Operand Compiler::constant_operand(const Json& value, const std::string& where) {
    const std::string digits = text(value, where);
    const bool negative = !digits.empty() && digits[0] == '-';
    const Json plain = negative ? Json(digits.substr(1)) : value;
    auto words = hex_limbs(plain, std::max<unsigned>(64, static_cast<unsigned>(digits.size()) * 4), where);
    unsigned bits = 0;
    for (std::size_t i = 0; i < words.size(); ++i)
        if (words[i] != 0)
            bits = static_cast<unsigned>(64 * i + 64) - static_cast<unsigned>(std::countl_zero(words[i]));
    bits = std::max(1u, bits) + (negative ? 1 : 0);
    if (bits > kMostBits)
        throw ProgramError(where + ": a constant has more than " + std::to_string(kMostBits) + " bits");
    words.resize(limbs(bits));
    if (negative) {
        bool carry = true;
        for (std::uint64_t& w : words) {
            w = ~w + (carry ? 1 : 0);
            carry = carry && w == 0;
        }
    }
    Operand out = wide_constant(words, bits);
    out.negative = negative;
    return out;
}

Operand Compiler::load(const HeaderRef& from, Index<Field> index, Code& code) {
    const Field& f = p_.headers[from.layout].fields[index];
    if (!from.dynamic) return {f.slot, f.bits, limbs(f.bits), f.is_signed};
    const unsigned n = limbs(f.bits);
    const Slot to = slots_.temporary(n);
    code.push_back(
        {Op::LoadField, static_cast<std::uint8_t>(n), to, from.slot, static_cast<Slot>(index.at())});
    return {to, f.bits, n, f.is_signed};
}

Operand Compiler::expression(const Json& node, const Action* action, Code& code, const std::string& where,
                             unsigned demand) {
    if (node.is_object() && node.contains("op")) return operation(node, action, code, where, demand);
    const std::string type = text(node, "type", where);
    const Json& value = member(node, "value", where);
    if (type == "expression") return expression(value, action, code, where, demand);
    if (type == "field") {
        const Field& f = names_.field(value, where);
        if (f.variable) throw ProgramError(where + ": " + value.dump() + " has no fixed length");
        return {f.slot, f.bits, limbs(f.bits), f.is_signed};
    }
    if (type == "hexstr") return constant_operand(value, where);
    if (type == "bool") {
        if (!value.is_boolean()) throw ProgramError(where + ": " + value.dump() + " is no boolean");
        return {slots_.constant(value.get<bool>()), 1, 1, false, false, true, value.get<bool>()};
    }
    if (type == "runtime_data" || type == "local") {
        if (action == nullptr || !value.is_number_unsigned() ||
            value.get<std::size_t>() >= action->parameters.size())
            throw ProgramError(where + ": there is no action parameter " + value.dump());
        const Parameter& p = action->parameters[value.get<std::size_t>()];
        return {p.slot, p.bits, limbs(p.bits)};
    }
    if (type == "stack_field") {
        if (!value.is_array() || value.size() != 2)
            throw ProgramError(where + ": " + value.dump() + " names no field of a stack");
        const Index<Stack> s = names_.stack_of_headers(value[0], where);
        const HeaderRef last{true, slots_.temporary(), p_.stacks[s].headers[0]};
        code.push_back({Op::Last, 0, last.slot, static_cast<Slot>(s.at())});
        return load(last, names_.field(last.layout, value[1], where), code);
    }
    throw ProgramError(where + ": operand of type '" + type + "' is not supported");
}

Operand Compiler::truth(const Json& node, const Action* action, Code& code, const std::string& where) {
    const Operand value = expression(node, action, code, where);
    if (value.n == 1) return value;
    return compare("!=", value, wide_constant({0}, 1), code);
}

Slot Compiler::single(const Json& node, const Action* action, Code& code, const std::string& where) {
    return expression(node, action, code, where, 64).slot;
}

Operand Compiler::operation(const Json& node, const Action* action, Code& code, const std::string& where,
                            unsigned demand) {
    const std::string op = text(node, "op", where);
    const auto right = [&]() -> const Json& { return member(node, "right", where); };
    const auto left = [&]() -> const Json& { return member(node, "left", where); };
    if (op == "b2d") return truth(right(), action, code, where);
    if (op == "d2b") {
        const Operand value = truth(right(), action, code, where);
        return value.bits == 1 ? value : compare("!=", value, wide_constant({0}, 1), code);
    }
    if (op == "valid") {
        const HeaderRef h = header_ref(right(), action, code, where);
        if (!h.dynamic) return {p_.headers[h.layout].valid, 1};
        const Slot to = slots_.temporary();
        code.push_back({Op::IsValid, 0, to, h.slot});
        return {to, 1};
    }
    if (op == "valid_union") {
        const UnionRef u = union_ref(right(), action, code, where);
        const Slot to = slots_.temporary();
        code.push_back({Op::UnionValid, u.dynamic, to, u.operand()});
        return {to, 1};
    }
    if (op == "last_stack_index" || op == "size_stack") {
        const Json& argument = right().is_null() ? left() : right();
        const Operand next{p_.stacks[names_.stack(member(argument, "value", where), where)].next, 32};
        return op == "size_stack" ? next : arithmetic(Op::Sub, next, wide_constant({1}, 1), code, 64);
    }
    if (op == "access_field") {
        const HeaderRef h = header_ref(left(), action, code, where);
        const unsigned index = right().is_number_unsigned() ? right().get<unsigned>() : ~0u;
        if (index >= p_.headers[h.layout].fields.size())
            throw ProgramError(where + ": there is no field " + right().dump());
        return load(h, Index<Field>(index), code);
    }
    if (op == "?") {
        const Slot condition = truth(member(node, "cond", where), action, code, where).slot;
        const Operand yes = expression(left(), action, code, where, demand),
                      no = expression(right(), action, code, where, demand);
        Operand out{0, std::max(yes.negative || no.negative ? signed_bits(yes) : yes.bits,
                                yes.negative || no.negative ? signed_bits(no) : no.bits)};
        out.negative = yes.negative || no.negative;
        out.raw = yes.raw || no.raw;
        out.n = std::max({limbs(out.bits), yes.n, no.n});
        const Slot a = widen(yes, out.n, code), b = widen(no, out.n, code);
        out.slot = slots_.temporary(out.n);
        code.push_back({Op::Select, static_cast<std::uint8_t>(out.n), out.slot, condition, a, b});
        return out;
    }
    if (op == "~" || op == "not")
        return unary(op,
                     op == "~" ? expression(right(), action, code, where, demand)
                               : truth(right(), action, code, where),
                     code, demand);
    if (op == "two_comp_mod" || op == "usat_cast" || op == "sat_cast")
        return cast(op, node, action, code, where);
    if (op == "and" || op == "or") {
        const Slot a = truth(left(), action, code, where).slot, b = truth(right(), action, code, where).slot;
        const Slot to = slots_.temporary();
        code.push_back({op == "and" ? Op::LogicalAnd : Op::LogicalOr, 1, to, a, b});
        return {to, 1};
    }
    if ((op == "==" || op == "!=") && Names::is_header(left()))
        return equal_headers(node, action, code, where);
    if ((op == "==" || op == "!=") && left().is_object() && right().is_object() &&
        left().value("type", "") == "field" && right().value("type", "") == "field") {
        const Field a = names_.field(member(left(), "value", where), where),
                    b = names_.field(member(right(), "value", where), where);
        // Compare fields of variable length together with their lengths, in the slots before them.
        if (a.variable && b.variable && a.bits == b.bits)
            return compare(op, {static_cast<Slot>(a.slot - 1), a.bits + 64, limbs(a.bits) + 1},
                           {static_cast<Slot>(b.slot - 1), b.bits + 64, limbs(b.bits) + 1}, code);
    }
    if (op == ">>" || op == "<<") {
        const Operand value = expression(left(), action, code, where, op == "<<" ? demand : 0);
        return shift(op == "<<", value, expression(right(), action, code, where), code, demand);
    }
    static const std::unordered_map<std::string, Op> kArithmetic = {
        {"+", Op::Add}, {"-", Op::Sub}, {"*", Op::Mul}, {"&", Op::And},
        {"|", Op::Or},  {"^", Op::Xor}, {"/", Op::Div}, {"%", Op::Mod}};
    const auto found = kArithmetic.find(op);
    if (found == kArithmetic.end()) {
        if (op != "==" && op != "!=" && op != "<" && op != "<=" && op != ">" && op != ">=")
            throw ProgramError(where + ": operator '" + op + "' is not supported");
        const Operand a = expression(left(), action, code, where);
        return compare(op, a, expression(right(), action, code, where), code);
    }
    const Op kind = found->second;
    unsigned below = kind == Op::Div || kind == Op::Mod ? 0 : demand;
    // A constant mask limits the bits that are needed of the left operand.
    const Operand mask = kind == Op::And && right().is_object() && right().value("type", "") == "hexstr"
                             ? constant_operand(member(right(), "value", where), where)
                             : Operand{};
    if (mask.constant && !mask.negative) below = demand == 0 ? mask.bits : std::min(demand, mask.bits);
    const Operand a = expression(left(), action, code, where, below);
    if (mask.constant && !mask.negative && mask.n == 1) {
        if (a.n == 1 && !a.negative && !a.raw && (low_mask(a.bits) & ~mask.value) == 0) return a;
        if (fresh(a, code)) {
            code.back().mask &= mask.value;
            return {a.slot, std::min(mask.bits, a.negative || a.raw ? 64 : a.bits)};
        }
        const Slot to = slots_.temporary();
        code.push_back({Op::Move, 1, to, a.slot, 0, mask.value});
        return {to, mask.bits};
    }
    Operand out = arithmetic(kind, a, mask.constant ? mask : expression(right(), action, code, where, below),
                             code, demand);
    if (out.raw && mask.constant && !mask.negative && below == mask.bits) {
        out.raw = false;
        out.bits = mask.bits;
    }
    return out;
}

Operand Compiler::arithmetic(Op op, Operand left, Operand right, Code& code, unsigned demand) {
    const bool any = left.negative || right.negative;
    const unsigned a = any ? signed_bits(left) : left.bits, b = any ? signed_bits(right) : right.bits;
    Operand out{0, std::max(a, b)};
    out.negative = any;
    switch (op) {
        case Op::Add: out.bits += 1; break;
        case Op::Sub:
            out.bits = std::max(signed_bits(left), signed_bits(right)) + 1;
            out.negative = true;
            break;
        case Op::Mul: out.bits = a + b; break;
        case Op::And:
            if (!left.negative || !right.negative) {
                out.negative = false;
                out.bits = left.negative    ? right.bits
                           : right.negative ? left.bits
                                            : std::min(left.bits, right.bits);
            }
            break;
        default: break;
    }
    out.bits = std::min(out.bits, kMostBits);
    out.n = limbs(out.bits);
    if (demand > 0) out.n = std::min(out.n, limbs(demand));
    out.raw = out.bits > 64 * out.n || left.raw || right.raw;
    if (out.raw) {
        out.bits = 64 * out.n;
        out.negative = false;
    }
    // And, division and modulo need all limbs of the wider operand.
    const unsigned n = op == Op::And || op == Op::Div || op == Op::Mod
                           ? std::max({out.n, std::min(left.n, 64u), std::min(right.n, 64u)})
                           : out.n;
    const Slot x = widen(left, n, code), y = widen(right, n, code);
    out.slot = slots_.temporary(n);
    if (n == 1) {
        code.push_back({op, 1, out.slot, x, y});
        return out;
    }
    static const std::unordered_map<int, Op> kWide = {
        {static_cast<int>(Op::Add), Op::AddWide}, {static_cast<int>(Op::Sub), Op::SubWide},
        {static_cast<int>(Op::Mul), Op::MulWide}, {static_cast<int>(Op::And), Op::AndWide},
        {static_cast<int>(Op::Or), Op::OrWide},   {static_cast<int>(Op::Xor), Op::XorWide},
        {static_cast<int>(Op::Div), Op::DivWide}, {static_cast<int>(Op::Mod), Op::ModWide}};
    code.push_back({kWide.at(static_cast<int>(op)), static_cast<std::uint8_t>(n), out.slot, x, y});
    return out;
}

Operand Compiler::shift(bool left, Operand value, Operand by, Code& code, unsigned demand) {
    Operand out{0, value.bits, value.n, value.negative};
    if (left) {
        const unsigned most = by.constant
                                  ? static_cast<unsigned>(std::min<std::uint64_t>(by.value, kMostBits))
                                  : (by.bits >= 12 ? kMostBits : (1u << by.bits) - 1);
        out.bits = std::min(kMostBits, value.bits + most);
        out.n = limbs(out.bits);
        if (demand > 0) out.n = std::min(out.n, limbs(demand));
        out.raw = value.raw || out.bits > 64 * out.n;
        if (out.raw) {
            out.bits = 64 * out.n;
            out.negative = false;
        }
    } else if (by.constant && !value.negative) {
        out.bits = value.bits > by.value ? value.bits - static_cast<unsigned>(by.value) : 1;
    }
    const Slot a = widen(value, out.n, code);
    out.slot = slots_.temporary(out.n);
    const Op op = out.n == 1 ? (left             ? Op::Shl
                                : value.negative ? Op::Sar
                                                 : Op::Shr)
                             : (left             ? Op::ShlWide
                                : value.negative ? Op::SarWide
                                                 : Op::ShrWide);
    if (by.constant && by.value < 64 && (op == Op::Shl || op == Op::Shr))
        code.push_back({left ? Op::ShlBy : Op::ShrBy, 1, out.slot, a, static_cast<Slot>(by.value)});
    else code.push_back({op, static_cast<std::uint8_t>(out.n), out.slot, a, by.slot});
    return out;
}

Operand Compiler::compare(const std::string& op, Operand left, Operand right, Code& code) {
    const bool any = left.negative || right.negative;
    unsigned n = std::max(left.n, right.n);
    if (any) n = std::max(n, limbs(std::max(signed_bits(left), signed_bits(right))));
    if (op == ">" || op == ">=") return compare(op == ">" ? "<" : "<=", right, left, code);
    const Slot a = widen(left, n, code), b = widen(right, n, code), to = slots_.temporary();
    if (n == 1) {
        const Op kind = op == "=="   ? Op::Eq
                        : op == "!=" ? Op::Ne
                        : op == "<"  ? (any ? Op::LtS : Op::Lt)
                                     : (any ? Op::LeS : Op::Le);
        code.push_back({kind, 1, to, a, b});
        return {to, 1};
    }
    // x <= y is not y < x.
    const bool swap = op == "<=", negate = swap || op == "!=";
    const Op kind = op == "==" || op == "!=" ? Op::EqWide : any ? Op::LtSWide : Op::LtWide;
    code.push_back({kind, static_cast<std::uint8_t>(n), to, swap ? b : a, swap ? a : b});
    if (negate) code.push_back({Op::LogicalNot, 1, to, to});
    return {to, 1};
}

Operand Compiler::unary(const std::string& op, Operand value, Code& code, unsigned demand) {
    if (op == "not") {
        const Slot to = slots_.temporary();
        code.push_back({Op::LogicalNot, 1, to, value.slot});
        return {to, 1};
    }
    Operand out{0, signed_bits(value), 1, true, value.raw};
    out.n = limbs(out.bits);
    if (demand > 0) out.n = std::min(out.n, limbs(demand));
    if (out.raw || out.bits > 64 * out.n) {
        out.raw = true;
        out.bits = 64 * out.n;
        out.negative = false;
    }
    const Slot a = widen(value, out.n, code);
    out.slot = slots_.temporary(out.n);
    code.push_back({out.n == 1 ? Op::Not : Op::NotWide, static_cast<std::uint8_t>(out.n), out.slot, a});
    return out;
}

Operand Compiler::cast(const std::string& op, const Json& node, const Action* action, Code& code,
                       const std::string& where) {
    const Operand width = expression(member(node, "right", where), action, code, where);
    if (!width.constant || width.value == 0 || width.value > kMostBits)
        throw ProgramError(where + ": '" + op + "' to a width that is no constant");
    const auto bits = static_cast<unsigned>(width.value);
    const bool wraps = op == "two_comp_mod";
    const Operand value = expression(member(node, "left", where), action, code, where, wraps ? bits : 0);
    const unsigned n = wraps ? limbs(bits) : std::max(limbs(signed_bits(value)), limbs(bits + 1));
    const Slot a = widen(value, n, code), to = slots_.temporary(n);
    if (n == 1 && wraps) {
        code.push_back({Op::SignExtend, 1, to, a, 0, bits});
    } else {
        code.push_back({Op::MoveWide, static_cast<std::uint8_t>(n), to, a, static_cast<Slot>(n)});
        code.push_back({wraps               ? Op::SignWide
                        : op == "usat_cast" ? Op::ClampUnsigned
                                            : Op::ClampSigned,
                        static_cast<std::uint8_t>(n), to, to, 0, bits});
    }
    return {to, bits, n, op != "usat_cast"};
}

}  // namespace railyard::load
