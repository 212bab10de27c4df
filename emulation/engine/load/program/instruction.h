// SPDX-License-Identifier: Apache-2.0
// Three-address instructions over an array of 64-bit slots.
#pragma once

#include <cstdint>
#include <vector>

namespace railyard::load {

using Slot = std::uint16_t;
using Place = std::uint32_t;  // address of an instruction in Program::code
constexpr Slot kNoSlot = 0xFFFF;
constexpr Place kNowhere = 0xFFFFFFFF;

constexpr std::uint64_t low_mask(unsigned bits) { return bits >= 64 ? ~0ULL : (1ULL << bits) - 1; }
constexpr unsigned limbs(unsigned bits) { return (bits + 63) / 64; }

// Lists of operations, for the enumeration and for the interpreter's jump table. In the comments, v is the
// array of slots, and n the number of limbs of a wide value. Parts of a comment explain the operations below
// it in turn.
// clang-format off
#define RAILYARD_ONE_LIMB_OPS(X)                                                                                     \
    /* v[dst] = (v[a] op v[b]) & mask. Suffix S: signed; suffix By: shift by the constant b */                       \
    X(Add) X(Sub) X(Mul) X(Shl) X(Shr) X(Sar) X(ShlBy) X(ShrBy) X(And) X(Or) X(Xor) X(Eq) X(Ne) X(Lt) X(Le)          \
    X(LtS) X(LeS) X(LogicalAnd) X(LogicalOr)                                                                         \
    /* v[dst] = op(v[a]) & mask */                                                                                   \
    X(Move) X(Not) X(LogicalNot)
#define RAILYARD_OTHER_OPS(X)                                                                                        \
    /* v[dst] = v[a] op v[b]; 0 if the divisor is 0 */                                                               \
    X(Div) X(Mod)                                                                                                    \
    /* v[dst] = v[a], sign-extended from its low `mask` bits */                                                      \
    X(SignExtend)                                                                                                    \
    /* v[dst] = v[a] ? v[b] : v[mask], n limbs */                                                                    \
    X(Select)                                                                                                        \
    /* n limbs at dst = the b limbs at a, sign- or zero-extended */                                                  \
    X(MoveSigned) X(MoveWide)                                                                                        \
    X(AddWide) X(SubWide) X(MulWide) X(AndWide) X(OrWide) X(XorWide) X(NotWide) X(DivWide) X(ModWide)                \
    /* n limbs at dst = the n limbs at a, shifted by v[b] */                                                         \
    X(ShlWide) X(ShrWide) X(SarWide)                                                                                 \
    X(EqWide) X(LtWide) X(LtSWide)                                                                                   \
    /* n limbs at dst, in place: zero- or sign-extend the low `mask` bits; clamp a signed value to `mask` bits */    \
    X(MaskWide) X(SignWide) X(ClampUnsigned) X(ClampSigned)                                                          \
    /* Add, remove header a (if n = 1, v[a]); copy header a to dst; v[dst] = header a equals b. With two headers, a  \
       set bit of n means that the header's index is in the slot: bit 0 for the first (dst, or a), bit 1 for the     \
       second. An index out of range has no effect */                                                                \
    X(AddHeader) X(RemoveHeader) X(CopyHeader) X(EqHeader)                                                           \
    /* v[dst] = header v[a] is valid; any header of union a (if n = 1, v[a]) is valid */                             \
    X(IsValid) X(UnionValid)                                                                                         \
    /* v[dst] = index, or kNoHeader, of: element v[b] of stack a; its last element; header b of union v[a] */        \
    X(Element) X(Last) X(Member)                                                                                     \
    /* n limbs at dst = field b of header v[a]; field b of header v[a] = n limbs at dst */                           \
    X(LoadField) X(StoreField)                                                                                       \
    /* stack a by v[b]; copy stack a to dst; copy a field of variable length, and the length before it, to dst */    \
    X(Push) X(Pop) X(CopyStack) X(CopyVariable)                                                                      \
    /* v[dst] = kDropPort; v[a] = 0, no multicast group */                                                           \
    X(MarkToDrop)                                                                                                    \
    /* array a, cell v[b]: n limbs at dst = cell; cell = n limbs at mask; v[dst] = colour of the meter */            \
    X(RegisterRead) X(RegisterWrite) X(Meter)                                                                        \
    /* v[dst] = v[b] + calculation a % v[mask]; random number from v[a] to v[b] */                                   \
    X(Hash) X(Random)                                                                                                \
    /* session v[a], field list v[b]; field list v[a] (Resubmit, Recirculate, Digest); truncate to v[a] bytes */     \
    X(Clone) X(Resubmit) X(Recirculate) X(Digest) X(Truncate)                                                        \
    /* log message a; fail with text b if v[a] is 0; note a of a traced program, with b as value of its condition */ \
    X(Log) X(Assert) X(Note)
#define RAILYARD_FLOW_OPS(X)                                                                                         \
    /* count the frame in cell v[b] of counter a */                                                                  \
    X(Count)                                                                                                         \
    /* look up table a, the b-th of those looked up; run the chosen action, continue at the table's successor */     \
    X(Apply)                                                                                                         \
    /* jump to mask: always; if v[a] is not 0; if v[a] is 0; if v[a] == v[b]; if v[a] != v[b]; if v[a] < v[b];       \
       if v[a] >= v[b]; always, backwards, taking a loop round from the budget */                                    \
    X(Jump) X(JumpIf) X(JumpUnless) X(JumpEqual) X(JumpUnequal) X(JumpLess) X(JumpNotLess) X(JumpBack)               \
    /* end of an action; exit statement; end of the code */                                                          \
    X(Return) X(Exit) X(End)
// clang-format on

enum class Op : std::uint8_t {
#define RAILYARD_NAME(name) name,
    RAILYARD_ONE_LIMB_OPS(RAILYARD_NAME) RAILYARD_OTHER_OPS(RAILYARD_NAME) RAILYARD_FLOW_OPS(RAILYARD_NAME)
#undef RAILYARD_NAME
};

// True if the only effect of an operation is v[dst] = result & mask: the compiler may then tighten the mask,
// change the target or remove the instruction.
constexpr bool of_one_limb(Op op) { return op <= Op::LogicalNot; }
constexpr bool jumps(Op op) { return op >= Op::Jump && op <= Op::JumpBack; }

struct Instruction {
    Op op = Op::End;
    std::uint8_t n = 0;
    Slot dst = 0, a = 0, b = 0;
    std::uint64_t mask = ~0ULL;
};

using Code = std::vector<Instruction>;

}  // namespace railyard::load
