// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "switch/stages/calculations.h"
#include "switch/stages/deparser.h"
#include "switch/stages/pipeline.h"

namespace railyard::switching {

// Write the fields that the program may change into `bytes`, the bytes of their header.
void Deparser::overlay(const Header& header, std::uint8_t* bytes) const {
    const std::uint64_t* v = state_.slots.data();
    const load::FieldPart* part = header.written.data();
    const load::FieldPart* const end = part + header.written.size();
    while (part != end) {
        const std::size_t at = part->word;
        std::uint64_t word = frames::load_word(bytes + 8 * at);
        for (; part != end && part->word == at; ++part)
            word = (word & ~part->mask) | (std::rotl(v[part->slot], part->rotation) & part->mask);
        frames::store_word(bytes + 8 * at, word);
    }
}

// Write a header to `to`. from: the parsed bytes of the frame, for fields that the program does not write.
void Deparser::emit(const Header& header, const std::uint8_t* from, std::uint8_t* to) {
    if (header.variable) {
        BitWriter out(state_.emitted);
        for (const Field& f : header.fields) out.put_field(state_.slots.data(), f.slot, f.bits, f.variable);
        ASSERT(state_.emitted.size() == state_.bytes_of(header));
        std::copy(state_.emitted.begin(), state_.emitted.end(), to);
        return;
    }
    const std::uint64_t base = state_.slots[header.base()];
    ASSERT(base == 0 || base - 1 + header.bytes <= state_.parsed);
    if (base != 0) std::memcpy(to, from + base - 1, header.bytes);
    else std::memset(to, 0, header.bytes);
    overlay(header, to);
}

// The headroom is too small for `bytes` bytes: move the rest of the frame to a larger buffer.
void Deparser::enlarge(FrameState& state, Frame& frame, unsigned bytes) {
    const std::uint32_t rest = frame.stored - state.parsed;
    const FrameHandle larger = state.owner->pool.acquire(bytes + rest);
    std::memcpy(larger->data() + bytes, frame.data() + state.parsed, rest);
    std::swap(frame.buffer, larger->buffer);
    std::swap(frame.size_class, larger->size_class);
    frame.start = Frame::kHeadroom;
}

void Deparser::interpret(Frame& frame) {
    const Program& p = state_.program;
    if (!p.checksums.empty()) Calculations(state_).update_checksums();
    if (p.deparser_code != kNowhere) Pipeline(state_).execute(p.deparser_code);
    // If every header keeps its position, write only changed fields, in place.
    std::uint64_t at = 1;
    bool in_place = true;
    unsigned bytes = 0;
    for (const Index<Header> number : p.deparser) {
        const Header& h = p.headers[number];
        if (state_.slots[h.valid] == 0) continue;
        in_place = in_place && !h.variable && state_.slots[h.base()] == at;
        const unsigned n = state_.bytes_of(h);
        at += n;
        bytes += n;
    }
    if (in_place && bytes == state_.parsed) {
        std::uint8_t* to = frame.data();
        for (const Index<Header> number : p.deparser) {
            const Header& h = p.headers[number];
            if (state_.slots[h.valid] == 0) continue;
            overlay(h, to);
            to += h.bytes;
        }
        return;
    }
    std::uint8_t* to = make_room(state_, frame, bytes);
    for (const Index<Header> number : p.deparser) {
        const Header& h = p.headers[number];
        if (state_.slots[h.valid] == 0) continue;
        emit(h, state_.scratch.data(), to);
        to += state_.bytes_of(h);
    }
    ASSERT(to == frame.data() + bytes);
}

}  // namespace railyard::switching
