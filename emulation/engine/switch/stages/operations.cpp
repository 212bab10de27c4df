// SPDX-License-Identifier: Apache-2.0
// Instructions on several limbs, headers, registers and meters, and requests for copies and further passes.
#include <algorithm>
#include <stdexcept>

#include "switch/stages/calculations.h"
#include "switch/stages/headers.h"
#include "switch/stages/pipeline.h"
#include "switch/stages/wide.h"

namespace railyard::switching {

namespace {

constexpr std::uint64_t kNoHeader = ~0ULL;

std::int64_t as_signed(std::uint64_t v) { return static_cast<std::int64_t>(v); }

// Format a value in decimal, as BMv2 prints it.
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

void Pipeline::log(const load::LogMessage& message) const {
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
            out += decimal(&state_.slots[v.slot], v.limbs, v.negative);
            i = close;
        } else {
            out.push_back(c);
        }
    }
    state_.owner->on_log(out);
}

void Pipeline::operate(FrameState& state, const Instruction& i) {
    std::uint64_t* const v = state.slots.data();
    const Program& p = state.program;
    // clang-format off: one line per operation
    switch (i.op) {
        case Op::Div: v[i.dst] = v[i.b] == 0 ? 0 : v[i.a] / v[i.b]; return;
        case Op::Mod: v[i.dst] = v[i.b] == 0 ? 0 : v[i.a] % v[i.b]; return;
        case Op::SignExtend: v[i.dst] = static_cast<std::uint64_t>(as_signed(v[i.a] << (64 - i.mask)) >> (64 - i.mask)); return;
        case Op::Select: std::memmove(v + i.dst, v + (v[i.a] != 0 ? i.b : i.mask), i.n * sizeof(std::uint64_t)); return;
        case Op::MoveSigned: wide::extend(v + i.dst, v + i.a, i.n, i.b, true); return;
        case Op::MoveWide: wide::extend(v + i.dst, v + i.a, i.n, i.b, false); return;
        case Op::AddWide: wide::add(v + i.dst, v + i.a, v + i.b, i.n, false); return;
        case Op::SubWide: wide::add(v + i.dst, v + i.a, v + i.b, i.n, true); return;
        case Op::MulWide: wide::multiply(v + i.dst, v + i.a, v + i.b, i.n); return;
        case Op::AndWide: for (unsigned k = 0; k < i.n; ++k) v[i.dst + k] = v[i.a + k] & v[i.b + k]; return;
        case Op::OrWide: for (unsigned k = 0; k < i.n; ++k) v[i.dst + k] = v[i.a + k] | v[i.b + k]; return;
        case Op::XorWide: for (unsigned k = 0; k < i.n; ++k) v[i.dst + k] = v[i.a + k] ^ v[i.b + k]; return;
        case Op::NotWide: for (unsigned k = 0; k < i.n; ++k) v[i.dst + k] = ~v[i.a + k]; return;
        case Op::DivWide: wide::divide(v + i.dst, nullptr, v + i.a, v + i.b, i.n); return;
        case Op::ModWide: wide::divide(nullptr, v + i.dst, v + i.a, v + i.b, i.n); return;
        case Op::ShlWide: wide::shift_left(v + i.dst, v + i.a, v[i.b], i.n); return;
        case Op::ShrWide: wide::shift_right(v + i.dst, v + i.a, v[i.b], i.n, false); return;
        case Op::SarWide: wide::shift_right(v + i.dst, v + i.a, v[i.b], i.n, true); return;
        case Op::EqWide: v[i.dst] = std::equal(v + i.a, v + i.a + i.n, v + i.b); return;
        case Op::LtWide: v[i.dst] = wide::compare(v + i.a, v + i.b, i.n, false) < 0; return;
        case Op::LtSWide: v[i.dst] = wide::compare(v + i.a, v + i.b, i.n, true) < 0; return;
        case Op::MaskWide: wide::keep(v + i.dst, i.n, static_cast<unsigned>(i.mask), false); return;
        case Op::SignWide: wide::keep(v + i.dst, i.n, static_cast<unsigned>(i.mask), true); return;
        case Op::ClampUnsigned: wide::clamp(v + i.dst, i.n, static_cast<unsigned>(i.mask), false); return;
        case Op::ClampSigned: wide::clamp(v + i.dst, i.n, static_cast<unsigned>(i.mask), true); return;

        case Op::AddHeader: Headers(state).add(i.n != 0 ? v[i.a] : i.a); return;
        case Op::RemoveHeader: Headers(state).remove(i.n != 0 ? v[i.a] : i.a); return;
        case Op::CopyHeader: Headers(state).copy((i.n & 1) != 0 ? v[i.dst] : i.dst, (i.n & 2) != 0 ? v[i.a] : i.a); return;
        case Op::EqHeader: v[i.dst] = Headers(state).equal((i.n & 1) != 0 ? v[i.a] : i.a, (i.n & 2) != 0 ? v[i.b] : i.b); return;
        case Op::IsValid: v[i.dst] = v[i.a] < p.headers.size() && v[p.headers[v[i.a]].valid] != 0; return;
        case Op::UnionValid: {
            const std::uint64_t u = i.n != 0 ? v[i.a] : i.a;
            std::uint64_t any = 0;
            if (u < p.unions.size())
                for (const Index<Header> h : p.unions[u].headers) any |= v[p.headers[h].valid];
            v[i.dst] = any;
            return;
        }
        case Op::Element: {
            const Stack& s = p.stacks[i.a];
            v[i.dst] = v[i.b] < s.size() ? s.element(v[i.b]) : kNoHeader;
            return;
        }
        case Op::Last: {
            const Stack& s = p.stacks[i.a];
            v[i.dst] = v[s.next] > 0 ? s.element(v[s.next] - 1) : kNoHeader;
            return;
        }
        case Op::Member: v[i.dst] = v[i.a] < p.unions.size() ? p.unions[v[i.a]].headers[i.b].at() : kNoHeader; return;
        case Op::LoadField:
            if (v[i.a] < p.headers.size()) std::copy_n(v + p.headers[v[i.a]].fields[i.b].slot, i.n, v + i.dst);
            else std::fill_n(v + i.dst, i.n, 0);
            return;
        case Op::StoreField:
            if (v[i.a] < p.headers.size()) std::copy_n(v + i.dst, i.n, v + p.headers[v[i.a]].fields[i.b].slot);
            return;
        case Op::Push: Headers(state).shift_stack(p.stacks[i.a], v[i.b], true); return;
        case Op::Pop: Headers(state).shift_stack(p.stacks[i.a], v[i.b], false); return;
        case Op::CopyStack: Headers(state).copy_stack(p.stacks[i.dst], p.stacks[i.a]); return;
        case Op::CopyVariable: std::memmove(v + i.dst - 1, v + i.a - 1, (i.n + 1u) * sizeof(std::uint64_t)); return;

        case Op::MarkToDrop:
            v[i.dst] = kDropPort;
            v[i.a] = 0;
            return;
        case Op::RegisterRead: {
            const auto& r = state.owner->registers[i.a];
            if (v[i.b] < r.size() / i.n) std::copy_n(r.begin() + static_cast<std::ptrdiff_t>(v[i.b] * i.n), i.n, v + i.dst);
            else std::fill_n(v + i.dst, i.n, 0);
            return;
        }
        case Op::RegisterWrite: {
            auto& r = state.owner->registers[i.a];
            if (v[i.b] < r.size() / i.n) std::copy_n(v + i.mask, i.n, r.begin() + static_cast<std::ptrdiff_t>(v[i.b] * i.n));
            return;
        }
        case Op::Meter: {
            auto& m = state.owner->meters[i.a];
            if (v[i.b] < m.size())
                v[i.dst] = m[v[i.b]].execute(p.meters[i.a].bytes ? static_cast<std::int64_t>(state.ingress_length) : 1, state.now);
            else v[i.dst] = 0;
            return;
        }
        case Op::Hash: v[i.dst] = v[i.b] + Calculations(state).calculate(p.calculations[i.a]) % std::max<std::uint64_t>(v[i.mask], 1); return;
        case Op::Random:
            if (v[i.a] <= v[i.b]) v[i.dst] = state.owner->random(v[i.a], v[i.b]);
            else v[i.dst] = v[i.a];
            return;
        case Op::Clone:
            state.requests.cloned = state.requests.any = true;
            state.requests.clone = v[i.a] & low_mask(15);
            state.requests.clone_fields = v[i.b];
            return;
        case Op::Resubmit:
            state.requests.resubmit = v[i.a];
            state.requests.any = true;
            return;
        case Op::Recirculate:
            state.requests.recirculate = v[i.a];
            state.requests.any = true;
            return;
        case Op::Digest:
            state.requests.digest = v[i.a];
            state.requests.any = true;
            return;
        case Op::Truncate: state.truncate = static_cast<std::uint32_t>(std::min<std::uint64_t>(state.truncate == 0 ? ~0U : state.truncate, std::max<std::uint64_t>(v[i.a], 1))); return;
        case Op::Log:
            if (state.owner->on_log) Pipeline(state).log(p.messages[i.a]);
            return;
        case Op::Assert:
            if (v[i.a] == 0) throw std::runtime_error("switch " + state.owner->name + ": " + p.assertions[i.b]);
            return;
        case Op::Note:
            if (state.owner->trace != nullptr) Pipeline(state).note(i);
            return;
        default: ASSERT(false);
    }
    // clang-format on
}

}  // namespace railyard::switching
