// SPDX-License-Identifier: Apache-2.0
// Interpreter loop: one-limb arithmetic, counters, tables and jumps. Other operations are in operations.cpp,
// so that the compiler keeps this loop's variables in registers.
#include <algorithm>

#include "switch/stages/calculations.h"
#include "switch/stages/pipeline.h"

namespace railyard::switching {

namespace {

std::int64_t as_signed(std::uint64_t v) { return static_cast<std::int64_t>(v); }

}  // namespace

// Resolve a hit entry's action profile, and update the entry's counter, age and meter.
tables::LookupResult Pipeline::after_hit(FrameState& state, tables::Table& table,
                                         tables::LookupResult result) {
    const Program& p = state.program;
    const TableSpec& spec = table.spec();
    if (spec.profile)
        table.resolve(result, state.member, [&] {
            const Index<Calculation> selector = p.profiles[spec.profile].selector;
            return Calculations(state).calculate(p.calculations[selector]);
        });
    state.owner->revived |= table.count(result.entry, CountedBytes(state.ingress_length), state.now);
    tables::Meter* const m = spec.meter ? table.meter(result.entry) : nullptr;
    if (m == nullptr) return result;
    const load::MeterSpec& meter = p.meters[spec.meter];
    const std::uint64_t colour =
        m->execute(meter.bytes ? static_cast<std::int64_t>(state.ingress_length) : 1, state.now);
    if (meter.target != kNoSlot) state.slots[meter.target] = colour & low_mask(meter.target_bits);
    return result;
}

tables::LookupResult Pipeline::look_up(FrameState& state, std::size_t table, std::size_t position) {
    const tables::TableContent& content = *state.owner->contents[position];
    const tables::LookupResult result = content.lookup(state.slots.data());
    if (result.entry && content.layout->instrumented)
        return after_hit(state, state.owner->tables[table], result);
    return result;
}

// Look up a table, and copy the action's parameters to their slots; return the continuation.
inline const tables::Continuation& Pipeline::apply(std::size_t table, std::size_t position) {
    std::uint64_t* const v = state_.slots.data();
    const tables::LookupResult result = look_up(state_, table, position);
    const tables::Continuation& then = *result.then;
    ASSERT(then.limbs == 0 || result.parameters != nullptr);
    for (unsigned k = 0; k < then.limbs; ++k) v[then.targets[k]] = result.parameters[k];
    return then;
}

void Pipeline::execute(Place at) {
    std::uint64_t* const v = state_.slots.data();
    ASSERT(at < state_.program.code.size());
    const Instruction* const code = state_.program.code.data();
    const Instruction* i = code + at;
    const Instruction* back = i;  // return address of an action, set before the action runs
    // Threaded code: every instruction ends in its own indirect jump, which the branch predictor learns.
    static const void* const kPlaces[] = {
#define RAILYARD_PLACE(name) &&At##name,
#define RAILYARD_OTHER(name) &&AtOther,
        RAILYARD_ONE_LIMB_OPS(RAILYARD_PLACE) RAILYARD_OTHER_OPS(RAILYARD_OTHER)
            RAILYARD_FLOW_OPS(RAILYARD_PLACE)
#undef RAILYARD_PLACE
#undef RAILYARD_OTHER
    };
#define OP(name) At##name:
#define NEXT goto* kPlaces[static_cast<std::uint8_t>((++i)->op)]
#define GO(place)                                        \
    do {                                                 \
        i = (place);                                     \
        goto* kPlaces[static_cast<std::uint8_t>(i->op)]; \
    } while (false)
    GO(i);

    // clang-format off: one line per operation
    OP(Add) v[i->dst] = (v[i->a] + v[i->b]) & i->mask; NEXT;
    OP(Sub) v[i->dst] = (v[i->a] - v[i->b]) & i->mask; NEXT;
    OP(Mul) v[i->dst] = (v[i->a] * v[i->b]) & i->mask; NEXT;
    OP(ShlBy) v[i->dst] = (v[i->a] << i->b) & i->mask; NEXT;
    OP(ShrBy) v[i->dst] = (v[i->a] >> i->b) & i->mask; NEXT;
    OP(Shl) v[i->dst] = (v[i->b] > 63 ? 0 : v[i->a] << v[i->b]) & i->mask; NEXT;
    OP(Shr) v[i->dst] = (v[i->b] > 63 ? 0 : v[i->a] >> v[i->b]) & i->mask; NEXT;
    OP(Sar) v[i->dst] = static_cast<std::uint64_t>(as_signed(v[i->a]) >> std::min<std::uint64_t>(v[i->b], 63)) & i->mask; NEXT;
    OP(And) v[i->dst] = (v[i->a] & v[i->b]) & i->mask; NEXT;
    OP(Or) v[i->dst] = (v[i->a] | v[i->b]) & i->mask; NEXT;
    OP(Xor) v[i->dst] = (v[i->a] ^ v[i->b]) & i->mask; NEXT;
    OP(Eq) v[i->dst] = (v[i->a] == v[i->b]) & i->mask; NEXT;
    OP(Ne) v[i->dst] = (v[i->a] != v[i->b]) & i->mask; NEXT;
    OP(Lt) v[i->dst] = (v[i->a] < v[i->b]) & i->mask; NEXT;
    OP(Le) v[i->dst] = (v[i->a] <= v[i->b]) & i->mask; NEXT;
    OP(LtS) v[i->dst] = (as_signed(v[i->a]) < as_signed(v[i->b])) & i->mask; NEXT;
    OP(LeS) v[i->dst] = (as_signed(v[i->a]) <= as_signed(v[i->b])) & i->mask; NEXT;
    OP(LogicalAnd) v[i->dst] = (v[i->a] != 0 && v[i->b] != 0) & i->mask; NEXT;
    OP(LogicalOr) v[i->dst] = (v[i->a] != 0 || v[i->b] != 0) & i->mask; NEXT;
    OP(Move) v[i->dst] = v[i->a] & i->mask; NEXT;
    OP(Not) v[i->dst] = ~v[i->a] & i->mask; NEXT;
    OP(LogicalNot) v[i->dst] = (v[i->a] == 0) & i->mask; NEXT;
    OP(Other) operate(state_, *i); NEXT;

    OP(Count) state_.owner->counters[i->a].add(v[i->b], CountedBytes(state_.ingress_length)); NEXT;
    OP(Apply) {
        const tables::Continuation& then = apply(i->a, i->b);
        back = code + then.next;
        if (then.action == kNowhere) GO(back);
        GO(code + then.action);
    }
    OP(Jump) GO(code + i->mask);
    OP(JumpIf) if (v[i->a] != 0) GO(code + i->mask);
    NEXT;
    OP(JumpUnless) if (v[i->a] == 0) GO(code + i->mask);
    NEXT;
    OP(JumpEqual) if (v[i->a] == v[i->b]) GO(code + i->mask);
    NEXT;
    OP(JumpUnequal) if (v[i->a] != v[i->b]) GO(code + i->mask);
    NEXT;
    OP(JumpLess) if (v[i->a] < v[i->b]) GO(code + i->mask);
    NEXT;
    OP(JumpNotLess) if (v[i->a] >= v[i->b]) GO(code + i->mask);
    NEXT;
    OP(JumpBack)
        state_.use_rounds(1);
        GO(code + i->mask);
    OP(Return) GO(back);
    OP(Exit)
    OP(End) return;
    // clang-format on
#undef OP
#undef NEXT
#undef GO
}

}  // namespace railyard::switching
