// SPDX-License-Identifier: Apache-2.0
#include "guided.h"

#include <algorithm>

namespace railyard::fuzz {

namespace {

constexpr std::size_t kMostBytes = 2048;

class Walk {
   public:
    Walk(const load::Program& program, FuzzedDataProvider& in)
        : p_(program), in_(in), elements_(program.stacks.size(), 0) {}

    GuidedFrame frame() {
        Index<load::ParserState> at = p_.first_state;
        for (int step = 0; step < 48 && at && out_.bytes.size() < kMostBytes; ++step) {
            const load::ParserState& state = p_.states[at];
            for (const load::ParserOp& op : state.ops) take(op);
            if (state.transitions.empty()) break;
            const load::Transition& chosen =
                state.transitions[in_.ConsumeIntegralInRange<std::size_t>(0, state.transitions.size() - 1)];
            steer(state, chosen);
            at = chosen.next;
        }
        return std::move(out_);
    }

   private:
    void append(std::size_t bytes) {
        // Mostly zeros and small numbers: then keys and values meet.
        const bool plain = in_.ConsumeBool();
        for (std::size_t i = 0; i < bytes && out_.bytes.size() < kMostBytes; ++i)
            out_.bytes.push_back(plain ? 0 : in_.ConsumeIntegral<std::uint8_t>());
    }

    void extract(Index<load::Header> number) {
        const load::Header& h = p_.headers[number];
        std::size_t bit = 8 * out_.bytes.size();
        const std::size_t extra =
            h.variable ? in_.ConsumeIntegralInRange<std::size_t>(0, h.max_bytes - h.bytes) : 0;
        for (const load::Field& f : h.fields) {
            if (f.slot != load::kNoSlot) out_.fields[f.slot] = bit;
            bit += f.variable ? 8 * extra : f.bits;
        }
        append(std::min<std::size_t>(h.bytes, kMostBytes) + extra);
    }

    void take(const load::ParserOp& op) {
        if (op.kind == load::ParserOp::Kind::Extract) return extract(op.header);
        if (op.kind == load::ParserOp::Kind::Advance)
            return append(in_.ConsumeIntegralInRange<std::size_t>(0, 8));
        if (op.kind != load::ParserOp::Kind::ExtractStack &&
            op.kind != load::ParserOp::Kind::ExtractUnionStack)
            return;
        const load::Stack& s = p_.stacks[op.stack];
        std::size_t& next = elements_[op.stack.at()];
        const std::size_t element = std::min(next, s.size() - 1);
        ++next;
        extract(s.of_unions() ? p_.unions[s.unions[element]].headers[op.member] : s.headers[element]);
    }

    void write(std::size_t bit, const std::uint8_t* value, unsigned bits) {
        for (unsigned i = 0; i < bits; ++i) {
            const std::size_t at = bit + i;
            const unsigned low = bits - 1 - i;  // of the value
            if (at / 8 >= kMostBytes) return;
            if (at / 8 >= out_.bytes.size()) out_.bytes.resize(at / 8 + 1);
            const unsigned set = (value[(bits + 7) / 8 - 1 - low / 8] >> (low % 8)) & 1u,
                           mask = 0x80u >> (at % 8);
            out_.bytes[at / 8] =
                static_cast<std::uint8_t>(set != 0 ? out_.bytes[at / 8] | mask : out_.bytes[at / 8] & ~mask);
        }
    }

    void steer(const load::ParserState& state, const load::Transition& t) {
        std::size_t at = 0;
        for (const load::TransitionKey& key : state.key) {
            const std::uint8_t* value = t.wide_value.data() + at;
            at += (key.bits + 7) / 8;
            if (key.kind == load::TransitionKey::Kind::Lookahead)
                write(8 * out_.bytes.size() + key.offset, value, key.bits);
            const auto slot = slot_of(key);
            if (const auto found = out_.fields.find(slot); found != out_.fields.end())
                write(found->second, value, key.bits);
        }
    }

    load::Slot slot_of(const load::TransitionKey& key) const {
        if (key.kind == load::TransitionKey::Kind::Slot) return key.slot;
        if (key.kind == load::TransitionKey::Kind::Lookahead) return load::kNoSlot;
        const load::Stack& s = p_.stacks[key.stack];
        const std::size_t next = elements_[key.stack.at()];
        if (next == 0 || next > s.size()) return load::kNoSlot;
        const Index<load::Header> header =
            s.of_unions() ? p_.unions[s.unions[next - 1]].headers[key.member] : s.headers[next - 1];
        return p_.headers[header].fields[key.field].slot;
    }

    const load::Program& p_;
    FuzzedDataProvider& in_;
    GuidedFrame out_;
    std::vector<std::size_t> elements_;  // of each stack, extracted so far
};

}  // namespace

GuidedFrame guided_frame(const load::Program& program, FuzzedDataProvider& in) {
    GuidedFrame out = Walk(program, in).frame();
    const auto payload = in.ConsumeBytes<std::uint8_t>(in.ConsumeIntegralInRange<std::size_t>(0, 64));
    out.bytes.insert(out.bytes.end(), payload.begin(), payload.end());
    // Cut short now and then.
    if (in.ConsumeProbability<float>() < 0.15F)
        out.bytes.resize(in.ConsumeIntegralInRange<std::size_t>(0, out.bytes.size()));
    out.bytes.resize(std::min(out.bytes.size(), kMostBytes));
    return out;
}

}  // namespace railyard::fuzz
