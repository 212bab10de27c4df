// SPDX-License-Identifier: Apache-2.0
// Three-address instructions over an array of 64-bit slots.
#pragma once

#include <cstdint>
#include <vector>

namespace railyard {

using Slot = std::uint16_t;
using Place = std::uint32_t;  // of an instruction
constexpr Slot kNoSlot = 0xFFFF;
constexpr Place kNowhere = 0xFFFFFFFF;

constexpr std::uint64_t low_mask(unsigned bits) { return bits >= 64 ? ~0ULL : (1ULL << bits) - 1; }
constexpr unsigned limbs(unsigned bits) { return (bits + 63) / 64; }

// Lists of operations, for the enumeration and for the interpreter's jump table.
// v is the array of slots; n: limbs of a value wider than one.
// clang-format off
#define RAILYARD_ONE_LIMB_OPS(X)                                                                                     \
    /* v[dst] = (v[a] op v[b]) & mask; S: signed; By: the shift is b itself */                                       \
    X(Add) X(Sub) X(Mul) X(Shl) X(Shr) X(Sar) X(ShlBy) X(ShrBy) X(And) X(Or) X(Xor) X(Eq) X(Ne) X(Lt) X(Le)          \
    X(LtS) X(LeS) X(LogicalAnd) X(LogicalOr)                                                                         \
    /* v[dst] = op(v[a]) & mask */                                                                                   \
    X(Move) X(Not) X(LogicalNot)
#define RAILYARD_OTHER_OPS(X)                                                                                        \
    /* 0 where the divisor is 0 */                                                                                   \
    X(Div) X(Mod)                                                                                                    \
    /* of mask bits */                                                                                               \
    X(SignExtend)                                                                                                    \
    /* v[dst] = v[a] ? v[b] : v[mask], n limbs */                                                                    \
    X(Select)                                                                                                        \
    /* n limbs at dst = the b limbs at a, sign- or zero-extended */                                                  \
    X(MoveSigned) X(MoveWide)                                                                                        \
    X(AddWide) X(SubWide) X(MulWide) X(AndWide) X(OrWide) X(XorWide) X(NotWide) X(DivWide) X(ModWide)                \
    /* by v[b] */                                                                                                    \
    X(ShlWide) X(ShrWide) X(SarWide)                                                                                 \
    X(EqWide) X(LtWide) X(LtSWide)                                                                                   \
    /* the n limbs at dst: keep the low mask bits; extend them; clamp a signed value to them */                      \
    X(MaskWide) X(SignWide) X(ClampUnsigned) X(ClampSigned)                                                          \
    /* Headers. n = 0: a is the header; n = 1: v[a] is, and an index out of range does nothing. Of two, n has a     \
       bit each: 1 for dst (or a), 2 for a (or b) */                                                                 \
    X(AddHeader) X(RemoveHeader) X(CopyHeader) X(EqHeader)                                                           \
    /* v[dst] = valid(v[a]); some header of union a or v[a] is */                                                    \
    X(IsValid) X(UnionValid)                                                                                         \
    /* v[dst] = the number, or none, of stack a's element v[b]; its last; union v[a]'s header b */                   \
    X(Element) X(Last) X(Member)                                                                                     \
    /* n limbs at dst = field b of header v[a]; and back */                                                          \
    X(LoadField) X(StoreField)                                                                                       \
    /* stack a by v[b]; stack dst from a; a field of variable length: dst from a, the length before each */          \
    X(Push) X(Pop) X(CopyStack) X(CopyVariable)                                                                      \
    /* v[dst] = no port; v[a] = no multicast group */                                                                \
    X(MarkToDrop)                                                                                                    \
    /* array a at v[b]: n limbs at dst, or from v[mask]; the meter's colour to dst */                                \
    X(RegisterRead) X(RegisterWrite) X(Meter)                                                                        \
    /* v[dst] = v[b] + calculation a % v[mask]; a number from v[a] to v[b] */                                        \
    X(Hash) X(Random)                                                                                                \
    /* session v[a], fields v[b]; fields v[a]; to v[a] bytes */                                                      \
    X(Clone) X(Resubmit) X(Recirculate) X(Digest) X(Truncate)                                                        \
    /* message a; v[a] must not be 0, or text b; note a of a traced program, its condition b */                      \
    X(Log) X(Assert) X(Note)
#define RAILYARD_FLOW_OPS(X)                                                                                         \
    /* counter array a at v[b] */                                                                                    \
    X(Count)                                                                                                         \
    /* table a: goes on in the action it finds, then where the table says */                                         \
    X(Apply)                                                                                                         \
    /* to mask; if v[a] is not 0, is 0; if v[a] and v[b] are equal, are not; if v[a] < v[b], is not; a loop, which    \
       must end some time */                                                                                         \
    X(Jump) X(JumpIf) X(JumpUnless) X(JumpEqual) X(JumpUnequal) X(JumpLess) X(JumpNotLess) X(JumpBack)               \
    /* of an action; of the pipeline; of whatever runs */                                                            \
    X(Return) X(Exit) X(End)
// clang-format on

enum class Op : std::uint8_t {
#define RAILYARD_NAME(name) name,
    RAILYARD_ONE_LIMB_OPS(RAILYARD_NAME) RAILYARD_OTHER_OPS(RAILYARD_NAME) RAILYARD_FLOW_OPS(RAILYARD_NAME)
#undef RAILYARD_NAME
};

// True if an operation has no effect but v[dst] = result & mask: the compiler may tighten the mask, choose
// another target or take the instruction out.
constexpr bool of_one_limb(Op op) { return op <= Op::LogicalNot; }
constexpr bool jumps(Op op) { return op >= Op::Jump && op <= Op::JumpBack; }

struct Instruction {
    Op op = Op::End;
    std::uint8_t n = 0;
    Slot dst = 0, a = 0, b = 0;
    std::uint64_t mask = ~0ULL;
};

using Code = std::vector<Instruction>;

}  // namespace railyard
