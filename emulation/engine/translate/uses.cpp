// SPDX-License-Identifier: Apache-2.0
#include "translate/uses.h"

#include <algorithm>
#include <array>

namespace railyard::translate {

using load::Instruction, load::Op, load::Place, load::Slot, load::TableSpec;

namespace {

// Return the slots that the fields of an instruction name, if it accesses no others; fields without a slot of
// this instruction are kNoSlot.
std::array<Slot, 3> named(const Instruction& i) {
    switch (i.op) {
        case Op::ShlBy:
        case Op::ShrBy:
        case Op::Move:
        case Op::Not:
        case Op::LogicalNot:
        case Op::MarkToDrop: return {i.dst, i.a, load::kNoSlot};
        case Op::Count: return {i.b, load::kNoSlot, load::kNoSlot};
        case Op::JumpIf:
        case Op::JumpUnless: return {i.a, load::kNoSlot, load::kNoSlot};
        case Op::JumpEqual:
        case Op::JumpUnequal:
        case Op::JumpLess:
        case Op::JumpNotLess: return {i.a, i.b, load::kNoSlot};
        default: break;
    }
    if (load::of_one_limb(i.op)) return {i.dst, i.a, i.b};
    return {load::kNoSlot, load::kNoSlot, load::kNoSlot};
}

// Return true if an instruction accesses slots beyond those named in its fields, such as further limbs.
bool touches_more(const Instruction& i) {
    const bool of_header = (i.op == Op::AddHeader || i.op == Op::RemoveHeader) && i.n == 0;
    return !load::of_one_limb(i.op) && !load::jumps(i.op) && i.op < Op::Count && i.op != Op::MarkToDrop &&
           !of_header;
}

}  // namespace

WordKey::WordKey(const TableSpec& spec) {
    unsigned bits = 0;
    for (const load::Key& k : spec.keys) bits += k.bits;
    const bool all_exact = std::all_of(spec.keys.begin(), spec.keys.end(),
                                       [](const load::Key& k) { return k.kind == load::MatchKind::Exact; });
    // A hit that changes state, or that goes through a profile, is no matter of the key alone.
    if (bool(spec.profile) || spec.counted || spec.ageing || bool(spec.meter)) return;
    exact = !spec.keys.empty() && all_exact && bits < 64;
    prefix = spec.keys.size() == 1 && spec.keys[0].kind == load::MatchKind::Lpm && bits <= 64;
}

Uses Uses::all(const load::Program& program) {
    std::set<Place> places;
    for (Place place = 0; place < program.code.size(); ++place) places.insert(places.end(), place);
    Uses uses(program);
    uses.add_code(places);
    uses.add_lists();
    return uses;
}

void Uses::add(std::size_t slot, std::size_t count) {
    for (std::size_t at = slot; at < slot + count && at < used_.size(); ++at) used_[at] = true;
}

void Uses::add_wide(const Instruction& i) {
    const std::size_t most = std::max<std::size_t>({1, i.n, i.b <= load::kMaxKeyLimbs ? i.b : 1u});
    for (const std::size_t at : {std::size_t{i.dst}, std::size_t{i.a}, std::size_t{i.b}})
        add(at > 0 ? at - 1 : 0, most + 1);
    if (i.mask < load::kNoSlot) add(i.mask, most);
    if (i.op == Op::CopyHeader || i.op == Op::EqHeader) {
        // The operands are headers; whole metadata is copied as a header.
        for (const load::Header& h : p_.headers)
            if (h.metadata) add(h.first, h.slots);
    }
}

void Uses::add_code(const std::set<Place>& places) {
    for (const Place place : places) {
        const Instruction& i = p_.code[place];
        if (i.op == Op::Apply) {
            const TableSpec& spec = p_.tables[Index<TableSpec>(i.a)];
            for (const load::Key& k : spec.keys) add(k.slot, load::limbs(k.bits));
            for (const Index<load::Action> action : spec.actions)
                for (const Slot target : p_.actions[action].targets) add(target);
            continue;
        }
        if (touches_more(i)) add_wide(i);
        for (const Slot slot : named(i)) add(slot);
    }
}

void Uses::add_shared(const std::set<Place>& places) {
    for (const Place place : places) {
        const Instruction& i = p_.code[place];
        if (touches_more(i)) add_wide(i);
        if (i.op != Op::Apply) continue;
        const TableSpec& spec = p_.tables[Index<TableSpec>(i.a)];
        const WordKey word(spec);
        if (!word.exact && !word.prefix)
            for (const load::Key& k : spec.keys) add(k.slot, load::limbs(k.bits));
    }
}

void Uses::add_fields(const std::vector<load::Piece>& fields) {
    for (const load::Piece& piece : fields) {
        add(piece.slot, load::limbs(piece.bits));
        if (piece.valid != load::kNoSlot) add(piece.valid);
        if (piece.kind != load::Piece::Kind::Header) continue;
        const load::Header& h = p_.headers[piece.header];
        add(h.first, h.slots);
    }
}

void Uses::add_lists() {
    for (const load::ParserState& state : p_.states) {
        for (const load::ParserOp& op : state.ops) {
            if (op.kind == load::ParserOp::Kind::Extract) continue;
            add(op.value, std::max(1u, load::limbs(op.bits)));
            add(op.error);
        }
        for (const load::TransitionKey& k : state.key)
            if (k.kind == load::TransitionKey::Kind::Slot) add(k.slot, load::limbs(k.bits));
    }
    for (const load::Checksum& c : p_.checksums) {
        add(c.target);
        add(c.result);
    }
    for (const load::Calculation& c : p_.calculations) add_fields(c.input);
    for (const load::FieldList& l : p_.digests) add_fields(l.fields);
    for (const load::FieldList& l : p_.field_lists) add_fields(l.fields);
    for (const load::LogMessage& m : p_.messages)
        for (const load::LogMessage::Value& v : m.values) add(v.slot, v.limbs);
    for (const load::MeterSpec& m : p_.meters)
        if (m.target != load::kNoSlot) add(m.target);
}

}  // namespace railyard::translate
