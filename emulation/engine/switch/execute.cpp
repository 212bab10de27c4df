// SPDX-License-Identifier: Apache-2.0
// The interpreter.
#include <algorithm>
#include <stdexcept>

#include "switch/switch.h"
#include "switch/wide.h"

namespace railyard {

namespace {

constexpr std::uint64_t kNoHeader = ~0ULL;

std::int64_t as_signed(std::uint64_t v) { return static_cast<std::int64_t>(v); }

// Decimal digits, as BMv2 prints a value.
std::string decimal(const std::uint64_t* value, unsigned n, bool negative) {
    std::vector<std::uint64_t> v(value, value + n), ten(n, 0), rest(n, 0), zero(n, 0);
    ten[0] = 10;
    const bool minus = negative && (v[n - 1] >> 63) != 0;
    if (minus) wide::add(v.data(), zero.data(), v.data(), n, true);
    std::string digits;
    do {
        wide::divide(v.data(), rest.data(), v.data(), ten.data(), n);
        digits.push_back(static_cast<char>('0' + rest[0]));
    } while (wide::compare(v.data(), zero.data(), n, false) != 0);
    if (minus) digits.push_back('-');
    std::reverse(digits.begin(), digits.end());
    return digits;
}

}  // namespace

void Traversal::log(const LogMessage& message) const {
    std::string out;
    std::size_t value = 0;
    for (std::size_t i = 0; i < message.format.size(); ++i) {
        const char c = message.format[i];
        const std::size_t close = c == '{' ? message.format.find('}', i) : std::string::npos;
        if (c == '\\' && i + 1 < message.format.size() &&
            (message.format[i + 1] == '{' || message.format[i + 1] == '}')) {
            out.push_back(message.format[++i]);
        } else if (close != std::string::npos && value < message.values.size()) {
            const auto& v = message.values[value++];
            out += decimal(&slots_[v.slot], v.limbs, v.negative);
            i = close;
        } else {
            out.push_back(c);
        }
    }
    switch_.on_log(out);
}

// Resolve the action profile of an entry, and update its counter, age and meter.
void Traversal::after_hit(Table& table, LookupResult& result) {
    const Program& p = program_;
    const TableSpec& spec = table.spec();
    if (spec.profile)
        table.resolve(result, [&] {
            const Index<Calculation> selector = p.profiles[spec.profile].selector;
            return calculate(p.calculations[selector]);
        });
    switch_.revived_ |= table.count(result.entry, ingress_length_, now_);
    Meter* const m = table.meter(result.entry);
    if (m == nullptr) return;
    const MeterSpec& meter = p.meters[spec.meter];
    const std::uint64_t colour =
        m->execute(meter.bytes ? static_cast<std::int64_t>(ingress_length_) : 1, now_);
    if (meter.target != kNoSlot) slots_[meter.target] = colour & low_mask(meter.target_bits);
}

void Traversal::execute(Place at) {
    std::uint64_t* const v = slots_.data();
    const Program& p = program_;
    const Instruction* const code = p.code.data();
    const Instruction* i = code + at;
    Place back = 0;  // return address of an action
    // Threaded code: every instruction ends in its own indirect jump, which the branch predictor learns.
    static const void* const kPlaces[] = {
#define RAILYARD_PLACE(name) &&At##name,
        RAILYARD_OPS(RAILYARD_PLACE)
#undef RAILYARD_PLACE
    };
#define OP(name) At##name:
#define NEXT goto* kPlaces[static_cast<std::uint8_t>((++i)->op)]
#define GO(place)                                        \
    do {                                                 \
        i = code + (place);                              \
        goto* kPlaces[static_cast<std::uint8_t>(i->op)]; \
    } while (false)
    goto* kPlaces[static_cast<std::uint8_t>(i->op)];

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
    OP(Div) v[i->dst] = v[i->b] == 0 ? 0 : v[i->a] / v[i->b]; NEXT;
    OP(Mod) v[i->dst] = v[i->b] == 0 ? 0 : v[i->a] % v[i->b]; NEXT;
    OP(SignExtend) v[i->dst] = static_cast<std::uint64_t>(as_signed(v[i->a] << (64 - i->mask)) >> (64 - i->mask)); NEXT;
    OP(Select) std::memmove(v + i->dst, v + (v[i->a] != 0 ? i->b : i->mask), i->n * sizeof(std::uint64_t)); NEXT;
    OP(MoveSigned) wide::extend(v + i->dst, v + i->a, i->n, i->b, true); NEXT;
    OP(MoveWide) wide::extend(v + i->dst, v + i->a, i->n, i->b, false); NEXT;
    OP(AddWide) wide::add(v + i->dst, v + i->a, v + i->b, i->n, false); NEXT;
    OP(SubWide) wide::add(v + i->dst, v + i->a, v + i->b, i->n, true); NEXT;
    OP(MulWide) wide::multiply(v + i->dst, v + i->a, v + i->b, i->n); NEXT;
    OP(AndWide) for (unsigned k = 0; k < i->n; ++k) v[i->dst + k] = v[i->a + k] & v[i->b + k]; NEXT;
    OP(OrWide) for (unsigned k = 0; k < i->n; ++k) v[i->dst + k] = v[i->a + k] | v[i->b + k]; NEXT;
    OP(XorWide) for (unsigned k = 0; k < i->n; ++k) v[i->dst + k] = v[i->a + k] ^ v[i->b + k]; NEXT;
    OP(NotWide) for (unsigned k = 0; k < i->n; ++k) v[i->dst + k] = ~v[i->a + k]; NEXT;
    OP(DivWide) wide::divide(v + i->dst, nullptr, v + i->a, v + i->b, i->n); NEXT;
    OP(ModWide) wide::divide(nullptr, v + i->dst, v + i->a, v + i->b, i->n); NEXT;
    OP(ShlWide) wide::shift_left(v + i->dst, v + i->a, v[i->b], i->n); NEXT;
    OP(ShrWide) wide::shift_right(v + i->dst, v + i->a, v[i->b], i->n, false); NEXT;
    OP(SarWide) wide::shift_right(v + i->dst, v + i->a, v[i->b], i->n, true); NEXT;
    OP(EqWide) v[i->dst] = std::equal(v + i->a, v + i->a + i->n, v + i->b); NEXT;
    OP(LtWide) v[i->dst] = wide::compare(v + i->a, v + i->b, i->n, false) < 0; NEXT;
    OP(LtSWide) v[i->dst] = wide::compare(v + i->a, v + i->b, i->n, true) < 0; NEXT;
    OP(MaskWide) wide::keep(v + i->dst, i->n, static_cast<unsigned>(i->mask), false); NEXT;
    OP(SignWide) wide::keep(v + i->dst, i->n, static_cast<unsigned>(i->mask), true); NEXT;
    OP(ClampUnsigned) wide::clamp(v + i->dst, i->n, static_cast<unsigned>(i->mask), false); NEXT;
    OP(ClampSigned) wide::clamp(v + i->dst, i->n, static_cast<unsigned>(i->mask), true); NEXT;

    OP(AddHeader) add_header(i->n != 0 ? v[i->a] : i->a); NEXT;
    OP(RemoveHeader) remove_header(i->n != 0 ? v[i->a] : i->a); NEXT;
    OP(CopyHeader) copy_header((i->n & 1) != 0 ? v[i->dst] : i->dst, (i->n & 2) != 0 ? v[i->a] : i->a); NEXT;
    OP(EqHeader) v[i->dst] = equal_headers((i->n & 1) != 0 ? v[i->a] : i->a, (i->n & 2) != 0 ? v[i->b] : i->b); NEXT;
    OP(IsValid) v[i->dst] = v[i->a] < p.headers.size() && v[p.headers[v[i->a]].valid] != 0; NEXT;
    OP(UnionValid) {
        const std::uint64_t u = i->n != 0 ? v[i->a] : i->a;
        std::uint64_t any = 0;
        if (u < p.unions.size())
            for (const Index<Header> h : p.unions[u].headers) any |= v[p.headers[h].valid];
        v[i->dst] = any;
    }
    NEXT;
    OP(Element) {
        const Stack& s = p.stacks[i->a];
        v[i->dst] = v[i->b] < s.size() ? s.element(v[i->b]) : kNoHeader;
    }
    NEXT;
    OP(Last) {
        const Stack& s = p.stacks[i->a];
        v[i->dst] = v[s.next] > 0 ? s.element(v[s.next] - 1) : kNoHeader;
    }
    NEXT;
    OP(Member) v[i->dst] = v[i->a] < p.unions.size() ? p.unions[v[i->a]].headers[i->b].at() : kNoHeader; NEXT;
    OP(LoadField)
        if (v[i->a] < p.headers.size()) std::copy_n(v + p.headers[v[i->a]].fields[i->b].slot, i->n, v + i->dst);
        else std::fill_n(v + i->dst, i->n, 0);
    NEXT;
    OP(StoreField)
        if (v[i->a] < p.headers.size()) std::copy_n(v + i->dst, i->n, v + p.headers[v[i->a]].fields[i->b].slot);
    NEXT;
    OP(Push) shift_stack(p.stacks[i->a], v[i->b], true); NEXT;
    OP(Pop) shift_stack(p.stacks[i->a], v[i->b], false); NEXT;
    OP(CopyStack) copy_stack(p.stacks[i->dst], p.stacks[i->a]); NEXT;
    OP(CopyVariable) std::memmove(v + i->dst - 1, v + i->a - 1, (i->n + 1u) * sizeof(std::uint64_t)); NEXT;

    OP(MarkToDrop)
        v[i->dst] = kDropPort;
        v[i->a] = 0;
    NEXT;
    OP(Count) {
        Switch::Counter& c = switch_.counters_[i->a];
        if (v[i->b] < c.packets.size()) {
            c.packets[v[i->b]] += 1;
            c.bytes[v[i->b]] += ingress_length_;
        }
    }
    NEXT;
    OP(RegisterRead) {
        const auto& r = switch_.registers_[i->a];
        if (v[i->b] < r.size() / i->n) std::copy_n(r.begin() + static_cast<std::ptrdiff_t>(v[i->b] * i->n), i->n, v + i->dst);
        else std::fill_n(v + i->dst, i->n, 0);
    }
    NEXT;
    OP(RegisterWrite) {
        auto& r = switch_.registers_[i->a];
        if (v[i->b] < r.size() / i->n) std::copy_n(v + i->mask, i->n, r.begin() + static_cast<std::ptrdiff_t>(v[i->b] * i->n));
    }
    NEXT;
    OP(Meter) {
        auto& m = switch_.meters_[i->a];
        if (v[i->b] < m.size())
            v[i->dst] = m[v[i->b]].execute(p.meters[i->a].bytes ? static_cast<std::int64_t>(ingress_length_) : 1, now_);
        else v[i->dst] = 0;
    }
    NEXT;
    OP(Hash) v[i->dst] = v[i->b] + calculate(p.calculations[i->a]) % std::max<std::uint64_t>(v[i->mask], 1); NEXT;
    OP(Random)
        if (v[i->a] <= v[i->b]) v[i->dst] = switch_.random(v[i->a], v[i->b]);
        else v[i->dst] = v[i->a];
    NEXT;
    OP(Clone)
        requests_.cloned = requests_.any = true;
        requests_.clone = v[i->a] & low_mask(15);
        requests_.clone_fields = v[i->b];
    NEXT;
    OP(Resubmit)
        requests_.resubmit = v[i->a];
        requests_.any = true;
    NEXT;
    OP(Recirculate) requests_.recirculate = v[i->a]; NEXT;
    OP(Digest)
        requests_.digest = v[i->a];
        requests_.any = true;
    NEXT;
    OP(Truncate) truncate_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(truncate_ == 0 ? ~0U : truncate_, std::max<std::uint64_t>(v[i->a], 1))); NEXT;
    OP(Log)
        if (switch_.on_log) log(p.messages[i->a]);
    NEXT;
    OP(Assert)
        if (v[i->a] == 0) throw std::runtime_error("switch " + switch_.name() + ": " + p.assertions[i->b]);
    NEXT;

    OP(Apply) {
        Table& table = switch_.tables_[i->a];
        LookupResult result = table.lookup(v);
        if (result.entry && table.instrumented()) after_hit(table, result);
        if (result.code == kNowhere) GO(result.next);
        const Slot to = table.spec().parameters;
        for (unsigned k = 0; k < result.limbs; ++k) v[to + k] = result.parameters[k];
        back = result.next;
        GO(result.code);
    }
    OP(Jump) GO(i->mask);
    OP(JumpIf) if (v[i->a] != 0) GO(i->mask);
    NEXT;
    OP(JumpUnless) if (v[i->a] == 0) GO(i->mask);
    NEXT;
    OP(JumpEqual) if (v[i->a] == v[i->b]) GO(i->mask);
    NEXT;
    OP(JumpUnequal) if (v[i->a] != v[i->b]) GO(i->mask);
    NEXT;
    OP(JumpBack)
        use_rounds(1);
        GO(i->mask);
    OP(Return) GO(back);
    OP(Exit)
    OP(End) return;
    // clang-format on
#undef OP
#undef NEXT
#undef GO
}

}  // namespace railyard
