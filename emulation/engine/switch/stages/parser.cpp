// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>

#include "switch/stages/parser.h"
#include "switch/stages/pipeline.h"

namespace railyard::switching {

namespace {

// Copy `bits` bits, from bit position `bit` on, into limbs.
void peek(const std::uint8_t* bytes, std::uint64_t bit, unsigned bits, std::uint64_t* to) {
    for (unsigned limb = 0; limb < limbs(bits); ++limb) to[limb] = 0;
    for (unsigned i = 0; i < bits; ++i) {
        const std::uint64_t at = bit + bits - 1 - i;
        to[i / 64] |= static_cast<std::uint64_t>((bytes[at / 8] >> (7 - at % 8)) & 1u) << (i % 64);
    }
}

void sign_extend(std::uint64_t* limb, unsigned bits) {
    const unsigned top = (bits - 1) / 64, in_top = bits - 64 * top;
    if (in_top < 64)
        limb[top] = static_cast<std::uint64_t>(static_cast<std::int64_t>(limb[top] << (64 - in_top)) >>
                                               (64 - in_top));
}

}  // namespace

void Parser::execute(Place at) { Pipeline(state_).execute(at); }

// Return true if fewer than `bytes` bytes follow the parsed bytes.
inline bool Parser::lacks(Frame& frame, std::uint64_t bytes) const {
    ASSERT(state_.parsed <= frame.stored);
    if (frame.stored - state_.parsed >= bytes) [[likely]]
        return false;
    frame.join();
    return frame.length - state_.parsed < bytes;
}

inline void Parser::finish_extract(const Header& header, std::uint32_t bytes) {
    std::uint64_t* v = state_.slots.data();
    for (const Index<Field> f : header.signed_fields)
        sign_extend(v + header.fields[f].slot, header.fields[f].bits);
    if (header.header_union)
        for (const Index<Header> other : state_.program.unions[header.header_union].headers)
            v[state_.program.headers[other].valid] = 0;
    v[header.valid] = 1;
    ASSERT(bytes <= header.max_bytes || !header.variable);
    v[header.base()] = 1 + static_cast<std::uint64_t>(state_.parsed);
    state_.parsed += bytes;
}

// Extract a header whose fields have fixed widths.
inline std::uint64_t Parser::extract_fixed(const Header& header, Frame& frame) {
    if (lacks(frame, header.bytes)) return state_.program.error_too_short;
    std::uint64_t* v = state_.slots.data();
    const std::uint8_t* bytes = frame.data() + state_.parsed;
    std::size_t at = SIZE_MAX;
    std::uint64_t word = 0;
    for (const load::FieldPart& part : header.read) {
        ASSERT(8U * part.word < header.bytes && part.slot < state_.slots.size());
        if (part.word != at) {
            at = part.word;
            word = frames::load_word(bytes + 8 * at);
        }
        const std::uint64_t bits = std::rotr(word & part.mask, part.rotation);
        v[part.slot] = part.joins ? v[part.slot] | bits : bits;
    }
    finish_extract(header, header.bytes);
    return 0;
}

std::uint64_t Parser::extract_variable(const Header& header, const ParserOp& op, Frame& frame) {
    std::uint64_t* v = state_.slots.data();
    execute(op.code);
    const std::uint64_t length = v[op.value];  // bits of the variable-length field
    // Like BMv2, reject lengths outside of the range of a signed 32-bit number, such as negative lengths.
    if (length % 8 != 0 || length > 0x7FFFFFFF) return state_.program.error_argument;
    const auto bytes = header.bytes + static_cast<std::uint32_t>(length / 8);
    if (lacks(frame, bytes)) return state_.program.error_too_short;
    if (bytes > header.max_bytes) return state_.program.error_header_short;
    std::uint64_t at = 0;
    for (const Field& f : header.fields) {
        const unsigned width = f.variable ? static_cast<unsigned>(length) : f.bits;
        if (f.variable) {
            std::fill_n(v + f.slot, limbs(f.bits), 0);
            v[f.slot - 1] = length;
        }
        peek(frame.data() + state_.parsed, at, width, v + f.slot);
        at += width;
    }
    finish_extract(header, bytes);
    return 0;
}

std::uint64_t Parser::extract_next(const Stack& stack, const ParserOp& op, Frame& frame) {
    const Program& p = state_.program;
    std::uint64_t& next = state_.slots[stack.next];
    if (next >= stack.size()) return p.error_stack;
    const Header& header =
        p.headers[stack.of_unions() ? p.unions[stack.unions[next]].headers[op.member] : stack.headers[next]];
    const std::uint64_t error =
        header.variable ? extract_variable(header, op, frame) : extract_fixed(header, frame);
    if (error == 0) ++next;
    return error;
}

// Run an operation other than the extraction of a fixed header; return an error, or 0.
std::uint64_t Parser::parse_op(const ParserOp& op, Frame& frame) {
    const Program& p = state_.program;
    switch (op.kind) {
        case ParserOp::Kind::Extract: break;  // done by interpret()
        case ParserOp::Kind::ExtractVariable: return extract_variable(p.headers[op.header], op, frame);
        case ParserOp::Kind::ExtractStack:
        case ParserOp::Kind::ExtractUnionStack: return extract_next(p.stacks[op.stack], op, frame);
        case ParserOp::Kind::Lookahead:
            if (lacks(frame, (op.offset + op.bits + 7) / 8)) return p.error_too_short;
            peek(frame.data() + state_.parsed, op.offset, op.bits, &state_.slots[op.value]);
            return 0;
        case ParserOp::Kind::Run: execute(op.code); return 0;
        case ParserOp::Kind::Verify:
            execute(op.code);
            return state_.slots[op.value] != 0 ? 0 : state_.slots[op.error];
        case ParserOp::Kind::Advance: {
            execute(op.code);
            const std::uint64_t bits = state_.slots[op.value];
            if (bits % 8 != 0) return p.error_argument;
            if (lacks(frame, bits / 8)) return p.error_too_short;
            state_.parsed += static_cast<std::uint32_t>(bits / 8);
            return 0;
        }
    }
    return 0;
}

// Return the value of a transition key; null if its stack is empty.
const std::uint64_t* Parser::key_value(const TransitionKey& key) const {
    if (key.kind == TransitionKey::Kind::Slot) return &state_.slots[key.slot];
    const Stack& stack = state_.program.stacks[key.stack];
    if (state_.slots[stack.next] == 0) return nullptr;
    const std::size_t last = state_.slots[stack.next] - 1;
    const bool of_unions = key.kind == TransitionKey::Kind::UnionLast;
    const Index<Header> header =
        of_unions ? state_.program.unions[stack.unions[last]].headers[key.member] : stack.headers[last];
    return &state_.slots[state_.program.headers[header].fields[key.field].slot];
}

bool Parser::in_value_set(const Transition& t, const std::uint8_t* key, unsigned bytes) const {
    for (const auto& [value, mask] : state_.owner->value_sets[t.value_set.at()]) {
        bool equal = value.size() == bytes && mask.size() == bytes;
        for (unsigned i = 0; i < bytes && equal; ++i)
            equal = ((key[i] ^ value[i]) & mask[i] & t.wide_mask[i]) == 0;
        if (equal) return true;
    }
    return false;
}

Index<ParserState> Parser::wide_transition(const ParserState& state, Frame& frame, std::uint64_t& error) {
    std::array<std::uint8_t, sizeof(std::uint64_t) * load::kMaxKeyLimbs> key;
    std::array<std::uint64_t, 32> ahead;
    unsigned at = 0;
    for (const TransitionKey& k : state.key) {
        const std::uint64_t* value = ahead.data();
        if (k.kind == TransitionKey::Kind::Lookahead) {
            if (lacks(frame, (k.offset + k.bits + 7) / 8)) {
                error = state_.program.error_too_short;
                return {};
            }
            peek(frame.data() + state_.parsed, k.offset, k.bits, ahead.data());
        } else {
            value = key_value(k);
            if (value == nullptr) {
                error = state_.program.error_stack;
                return {};
            }
        }
        for (unsigned byte = (k.bits + 7) / 8; byte-- > 0;) {
            const unsigned kept = std::min(8u, k.bits - 8 * byte);
            ASSERT(at < key.size());
            key[at++] = static_cast<std::uint8_t>((value[byte / 8] >> (8 * (byte % 8))) & low_mask(kept));
        }
    }
    for (const Transition& t : state.transitions) {
        bool equal = true;
        if (t.value_set) equal = in_value_set(t, key.data(), at);
        else
            for (unsigned i = 0; i < at && equal; ++i) equal = (key[i] & t.wide_mask[i]) == t.wide_value[i];
        if (equal) return t.next;
    }
    return {};
}

// Return the next state of a simple state; none: accept or reject.
inline Index<ParserState> Parser::transition(const ParserState& state) const {
    std::uint64_t key = 0;
    for (const TransitionKey& k : state.key)
        key = (key << k.shift) | (state_.slots[k.slot] & low_mask(k.bits));
    for (const Transition& t : state.transitions)
        if ((key & t.mask) == t.value) return t.next;
    return {};
}

void Parser::interpret(Frame& frame) {
    const Program& p = state_.program;
    state_.parsed = 0;
    std::uint64_t error = 0;
    // Bound the steps, to stop states that loop without consuming bytes.
    const auto most = static_cast<unsigned>(4 * p.states.size() + frame.length + 16);
    unsigned steps = 0;
    for (Index<ParserState> at = p.first_state; at && steps < most && error == 0; ++steps) {
        const ParserState& state = p.states[at];
        for (const ParserOp& op : state.ops) {
            error = op.kind == ParserOp::Kind::Extract ? extract_fixed(p.headers[op.header], frame)
                                                       : parse_op(op, frame);
            if (error != 0) break;
        }
        if (error != 0) continue;
        if (state.simple) {
            at = transition(state);
        } else {
            std::uint64_t failed = 0;
            at = wide_transition(state, frame, failed);
            error = failed;
        }
    }
    state_.use_rounds(steps);
    state_.slots[p.standard.parser_error] = error & low_mask(32);
}

}  // namespace railyard::switching
