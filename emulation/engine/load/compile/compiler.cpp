// SPDX-License-Identifier: Apache-2.0
// Compiler: assignments and branches.
#include "load/compile/compiler.h"

#include <algorithm>

namespace railyard::load {

Operand Compiler::wide_constant(const std::vector<std::uint64_t>& value, unsigned bits) {
    if (value.size() == 1) return {slots_.constant(value[0]), bits, 1, false, false, true, value[0]};
    const Slot at = slots_.allocate(static_cast<unsigned>(value.size()));
    std::copy(value.begin(), value.end(), p_.image.begin() + at);
    return {at, bits, static_cast<unsigned>(value.size()), false, false, true, value[0]};
}

void Compiler::store(const Field& target, Operand value, Code& code) {
    const unsigned n = limbs(target.bits);
    if (n == 1) {
        if (fresh(value, code)) {
            code.back().dst = target.slot;
            if (!target.is_signed) code.back().mask &= low_mask(target.bits);
        } else {
            code.push_back(
                {Op::Move, 1, target.slot, value.slot, 0, target.is_signed ? ~0ULL : low_mask(target.bits)});
        }
        if (target.is_signed && target.bits < 64)
            code.push_back({Op::SignExtend, 1, target.slot, target.slot, 0, target.bits});
        return;
    }
    const Slot from = widen(value, n, code);
    code.push_back({Op::MoveWide, static_cast<std::uint8_t>(n), target.slot, from, static_cast<Slot>(n)});
    if (target.bits % 64 != 0)
        code.push_back({target.is_signed ? Op::SignWide : Op::MaskWide, static_cast<std::uint8_t>(n),
                        target.slot, target.slot, 0, target.bits});
}

void Compiler::assign(const Json& target, const Json& source, const Action* action, Code& code,
                      const std::string& where) {
    const Json* const node = &unwrap(target, where);
    if (node->contains("op")) {
        if (text(*node, "op", where) != "access_field")
            throw ProgramError(where + ": the target of an assignment is no field");
        const HeaderRef to = header_ref(member(*node, "left", where), action, code, where);
        const Json& index = member(*node, "right", where);
        const Header& layout = p_.headers[to.layout];
        if (!index.is_number_unsigned() || index.get<std::size_t>() >= layout.fields.size())
            throw ProgramError(where + ": there is no field " + index.dump());
        const Field& f = layout.fields[index.get<std::size_t>()];
        const Operand value = expression(source, action, code, where, f.bits);
        if (!to.dynamic) return store(f, value, code);
        const unsigned n = limbs(f.bits);
        const Slot from = slots_.temporary(n);
        store(Field{"", f.bits, from, f.is_signed, false}, value, code);
        code.push_back({Op::StoreField, static_cast<std::uint8_t>(n), from, to.slot,
                        static_cast<Slot>(index.get<unsigned>())});
        return;
    }
    const std::string type = text(*node, "type", where);
    if (type == "stack_field") {
        const Json& value = member(*node, "value", where);
        if (!value.is_array() || value.size() != 2)
            throw ProgramError(where + ": " + value.dump() + " names no field of a stack");
        const Index<Stack> s = names_.stack_of_headers(value[0], where);
        const Slot last = slots_.temporary();
        const Index<Header> layout = p_.stacks[s].headers[0];
        const Index<Field> index = names_.field(layout, value[1], where);
        const Field& f = p_.headers[layout].fields[index];
        const Slot from = slots_.temporary(limbs(f.bits));
        store(Field{"", f.bits, from, f.is_signed, false}, expression(source, action, code, where, f.bits),
              code);
        code.push_back({Op::Last, 0, last, static_cast<Slot>(s.at())});
        code.push_back({Op::StoreField, static_cast<std::uint8_t>(limbs(f.bits)), from, last,
                        static_cast<Slot>(index.at())});
        return;
    }
    if (type != "field") throw ProgramError(where + ": the target of an assignment is no field");
    const Field f = names_.target_field(member(*node, "value", where), where);
    store(f, expression(source, action, code, where, f.bits), code);
}

// Append code that jumps if the condition equals `wanted`, and the indices of its jumps to `taken`. The
// caller fills in their targets.
void Compiler::branch(const Json& node, bool wanted, Code& code, std::vector<std::size_t>& taken,
                      const std::string& where) {
    const Json* at = &node;
    while (at->is_object() && at->value("type", Json()) == "expression") at = &member(*at, "value", where);
    const std::string op = at->is_object() && at->contains("op") ? text(*at, "op", where) : "";
    if (op == "not") return branch(member(*at, "right", where), !wanted, code, taken, where);
    if (op == "and" || op == "or") {
        if ((op == "or") == wanted) {
            branch(member(*at, "left", where), wanted, code, taken, where);
            return branch(member(*at, "right", where), wanted, code, taken, where);
        }
        std::vector<std::size_t> decided;
        branch(member(*at, "left", where), !wanted, code, decided, where);
        branch(member(*at, "right", where), wanted, code, taken, where);
        for (const std::size_t i : decided) code[i].mask = code.size();
        return;
    }
    slots_.free_temporaries();
    const Operand value = truth(*at, nullptr, code, where);
    Instruction jump{wanted ? Op::JumpIf : Op::JumpUnless, 0, 0, value.slot};
    // Fuse the preceding comparison with the jump.
    if (fresh(value, code) && code.back().mask == ~0ULL) {
        const Instruction last = code.back();
        const bool equal = last.op == Op::Eq, less = last.op == Op::Lt;
        if (equal || last.op == Op::Ne)
            jump = {equal == wanted ? Op::JumpEqual : Op::JumpUnequal, 0, 0, last.a, last.b};
        else if (less || last.op == Op::Le)  // a <= b is not b < a
            jump = {less == wanted ? Op::JumpLess : Op::JumpNotLess, 0, 0, less ? last.a : last.b,
                    less ? last.b : last.a};
        if (jump.op != Op::JumpIf && jump.op != Op::JumpUnless) code.pop_back();
    }
    taken.push_back(code.size());
    code.push_back(jump);
}

Place Compiler::append(Code code, Op end) {
    shorten(code, end == Op::End);
    const auto base = static_cast<Place>(p_.code.size());
    for (Instruction& i : code)
        if (jumps(i.op) && i.mask != kNowhere) i.mask += base;
    p_.code.insert(p_.code.end(), code.begin(), code.end());
    if (end != Op::Jump) p_.code.push_back({end});
    return base;
}

}  // namespace railyard::load
