// SPDX-License-Identifier: Apache-2.0
#include "switch/stages/calculations.h"

#include <algorithm>

#include "switch/stages/pipeline.h"

namespace railyard::switching {

void BitWriter::put(const std::uint64_t* value, unsigned bits) {
    if (used_ == 0 && bits % 8 == 0) {
        for (unsigned byte = bits / 8; byte-- > 0;)
            out_.push_back(static_cast<std::uint8_t>(value[byte / 8] >> (8 * (byte % 8))));
        return;
    }
    for (unsigned left = bits; left > 0;) {
        if (used_ == 0) out_.push_back(0);
        const unsigned n = std::min({8 - used_, left, (left - 1) % 64 + 1});
        const unsigned low = left - n;  // lowest of the n bits of the value
        const std::uint64_t part =
            (value[low / 64] >> (low % 64)) |
            (low % 64 == 0 || low / 64 + 1 >= limbs(bits) ? 0 : value[low / 64 + 1] << (64 - low % 64));
        out_.back() = static_cast<std::uint8_t>(out_.back() | (part & low_mask(n)) << (8 - used_ - n));
        used_ = (used_ + n) % 8;
        left -= n;
    }
}

std::uint64_t Calculations::calculate(const Calculation& c) {
    BitWriter out(state_.scratch);
    const std::uint64_t* v = state_.slots.data();
    for (const Piece& piece : c.input) {
        if (piece.valid != kNoSlot && v[piece.valid] == 0) continue;
        if (piece.kind != Piece::Kind::Header) {
            out.put_field(v, piece.slot, piece.bits, piece.variable);
            continue;
        }
        for (const Field& f : state_.program.headers[piece.header].fields)
            out.put_field(v, f.slot, f.bits, f.variable);
    }
    if (c.payload) {
        state_.frame->join();
        // As in BMv2, a frame that the program has truncated to n bytes counts the first n of its payload.
        std::uint32_t bytes = state_.frame->length - state_.parsed;
        if (state_.truncate != 0) bytes = std::min(bytes, state_.truncate);
        const std::uint8_t* const payload = state_.frame->data() + state_.parsed;
        state_.scratch.insert(state_.scratch.end(), payload, payload + bytes);
    }
    return hash(c.algorithm, state_.scratch.data(), state_.scratch.size());
}

bool Calculations::applies(const Checksum& checksum) {
    if (checksum.condition == kNowhere) return true;
    Pipeline(state_).execute(checksum.condition);
    return state_.slots[checksum.result] != 0;
}

void Calculations::verify_checksums() {
    std::uint64_t wrong = 0;
    for (const Checksum& c : state_.program.checksums) {
        if (!c.verify || (c.header_valid != kNoSlot && state_.slots[c.header_valid] == 0) || !applies(c))
            continue;
        wrong |= calculate(state_.program.calculations[c.calculation]) != state_.slots[c.target];
    }
    state_.slots[state_.program.standard.checksum_error] = wrong;
}

void Calculations::update_checksums() {
    for (const Checksum& c : state_.program.checksums)
        if (c.update && applies(c))
            state_.slots[c.target] = calculate(state_.program.calculations[c.calculation]) & low_mask(c.bits);
}

}  // namespace railyard::switching
