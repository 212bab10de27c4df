// SPDX-License-Identifier: Apache-2.0
// Optimiser of a run of instructions. It removes computations of values that a slot already holds (value
// numbering over extended basic blocks) and writes to temporaries that nothing reads.
#include <bitset>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "load/compile/compiler.h"

namespace railyard::load {

namespace {

using Live = std::bitset<kTemporaries>;

bool immediate(Op op) { return op == Op::ShlBy || op == Op::ShrBy; }
bool unary(Op op) { return op == Op::Move || op == Op::Not || op == Op::LogicalNot; }
bool compares(Op op) { return op >= Op::Eq && op <= Op::LogicalOr; }
bool commutes(Op op) {
    switch (op) {
        case Op::Add:
        case Op::Mul:
        case Op::And:
        case Op::Or:
        case Op::Xor:
        case Op::Eq:
        case Op::Ne: return true;
        default: return false;
    }
}

bool reads_a(Op op) { return of_one_limb(op) || (jumps(op) && op != Op::Jump && op != Op::JumpBack); }
bool reads_b(Op op) {
    return (of_one_limb(op) && !unary(op) && !immediate(op)) ||
           (op >= Op::JumpEqual && op <= Op::JumpNotLess);
}
bool falls_through(Op op) { return op != Op::Jump && op != Op::JumpBack && op != Op::Exit; }

// Value numbers of the slots at the current instruction.
class Values {
   public:
    // Forget all values: at a jump target, and after an instruction with other effects.
    void clear() {
        of_slot_.clear();
        computed_.clear();
    }

    // Return the slot that got the value of `slot` first, if it still holds it; else `slot`.
    Slot source(Slot slot) { return holder(of(slot)).value_or(slot); }

    // Track a one-limb instruction. If another slot holds its result, turn it into a move. Return false if
    // `dst` itself does, so that the instruction is not needed.
    bool run(Instruction& i) {
        const unsigned a = of(i.a), b = unary(i.op) ? 0 : immediate(i.op) ? i.b : of(i.b);
        unsigned result = a;
        if (i.op != Op::Move || (most_[a] & ~i.mask) != 0) {
            auto key = std::tuple(i.op, a, b, i.mask);
            if (commutes(i.op) && b < a) key = std::tuple(i.op, b, a, i.mask);
            const auto known = computed_.find(key);
            if (known != computed_.end() && holder(known->second)) {
                result = known->second;
            } else {
                result = add(i.mask & (compares(i.op) || i.op == Op::LogicalNot ? 1 : ~0ULL));
                computed_[key] = result;
            }
        }
        if (const auto held = holder(result)) {
            if (*held == i.dst) return false;
            i = {Op::Move, 1, i.dst, *held};
        }
        of_slot_[i.dst] = result;
        if (!holder(result)) holders_[result] = i.dst;
        return true;
    }

   private:
    unsigned add(std::uint64_t most) {
        most_.push_back(most);
        holders_.push_back(kNoSlot);
        return static_cast<unsigned>(most_.size() - 1);
    }
    unsigned of(Slot slot) {
        const auto at = of_slot_.find(slot);
        if (at != of_slot_.end()) return at->second;
        const unsigned value = add(~0ULL);
        holders_[value] = slot;
        return of_slot_[slot] = value;
    }
    std::optional<Slot> holder(unsigned value) const {
        const auto at = of_slot_.find(holders_[value]);
        if (at == of_slot_.end() || at->second != value) return std::nullopt;
        return at->first;
    }

    std::unordered_map<Slot, unsigned> of_slot_;
    std::map<std::tuple<Op, unsigned, unsigned, std::uint64_t>, unsigned> computed_;
    std::vector<std::uint64_t> most_;  // by value: mask of the bits that may be set
    std::vector<Slot> holders_;        // by value: slot that got it first
};

// Return by instruction whether it is the target of a jump.
std::vector<bool> targets(const Code& code) {
    std::vector<bool> out(code.size() + 1, false);
    for (const Instruction& i : code)
        if (jumps(i.op) && i.mask <= code.size()) out[i.mask] = true;
    return out;
}

// Replace computations by moves where possible; return by instruction whether it is needless, since `dst`
// holds its result already.
std::vector<bool> reuse(Code& code) {
    std::vector<bool> needless(code.size(), false);
    const std::vector<bool> target = targets(code);
    Values values;
    for (std::size_t at = 0; at < code.size(); ++at) {
        Instruction& i = code[at];
        if (target[at]) values.clear();
        if (reads_a(i.op)) i.a = values.source(i.a);
        if (reads_b(i.op)) i.b = values.source(i.b);
        if (of_one_limb(i.op)) needless[at] = !values.run(i);
        else if (!jumps(i.op) || !falls_through(i.op)) values.clear();
    }
    return needless;
}

// Mark instructions whose result nothing reads as needless. `at_end`: temporaries read after the code.
void find_unread(const Code& code, Slot temporaries, const Live& at_end, std::vector<bool>& needless) {
    const auto number = [&](Slot slot) { return static_cast<std::size_t>(slot - temporaries); };
    const auto temporary = [&](Slot slot) { return slot >= temporaries && number(slot) < kTemporaries; };
    std::vector<Live> before(code.size() + 1);
    before[code.size()] = at_end;
    for (std::size_t at = code.size(); at-- > 0;) {
        const Instruction& i = code[at];
        Live live = falls_through(i.op) ? before[at + 1] : Live();
        if (jumps(i.op)) {
            if (i.mask > code.size()) live |= at_end;
            else if (i.mask > at) live |= before[i.mask];
            else live.set();  // a loop
        } else if (!of_one_limb(i.op)) {
            live.set();
        } else if (needless[at]) {
            before[at] = live;
            continue;
        } else if (temporary(i.dst)) {
            needless[at] = !live[number(i.dst)];
            live[number(i.dst)] = false;
        }
        if (!needless[at]) {
            if (reads_a(i.op) && temporary(i.a)) live[number(i.a)] = true;
            if (reads_b(i.op) && temporary(i.b)) live[number(i.b)] = true;
        }
        before[at] = live;
    }
}

void remove(Code& code, const std::vector<bool>& needless) {
    std::vector<std::size_t> moved;
    Code kept;
    for (std::size_t at = 0; at < code.size(); ++at) {
        moved.push_back(kept.size());
        if (!needless[at]) kept.push_back(code[at]);
    }
    moved.push_back(kept.size());
    for (Instruction& i : kept)
        if (jumps(i.op) && i.mask < moved.size()) i.mask = moved[i.mask];
    code = std::move(kept);
}

}  // namespace

void Compiler::shorten(Code& code, bool results) const {
    std::vector<bool> needless = reuse(code);
    find_unread(code, slots_.first_temporary(), results ? Live().set() : Live(), needless);
    remove(code, needless);
}

}  // namespace railyard::load
