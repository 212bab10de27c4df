// SPDX-License-Identifier: Apache-2.0
// The deparser: from slots to frames; hashes and checksums over fields.
#include <algorithm>
#include <bit>

#include "switch/switch.h"

namespace railyard {

namespace {

// Concatenates values bit by bit, most significant bit first.
class BitWriter {
   public:
    explicit BitWriter(std::vector<std::uint8_t>& out) : out_(out) { out_.clear(); }

    void put(const std::uint64_t* value, unsigned bits) {
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
    void put_field(const std::uint64_t* v, Slot slot, unsigned bits, bool variable) {
        put(v + slot, variable ? static_cast<unsigned>(v[slot - 1]) : bits);
    }

   private:
    std::vector<std::uint8_t>& out_;
    unsigned used_ = 0;  // bits of the last byte
};

}  // namespace

unsigned Traversal::emitted_bytes(const Header& header) const {
    unsigned bytes = header.bytes;
    if (header.variable)
        for (const Field& f : header.fields)
            if (f.variable) bytes += static_cast<unsigned>(slots_[f.slot - 1] / 8);
    return bytes;
}

// Overwrite the fields that the program writes.
void Traversal::overlay(const Header& header, std::uint8_t* bytes) const {
    const std::uint64_t* v = slots_.data();
    const FieldPart* part = header.written.data();
    const FieldPart* const end = part + header.written.size();
    while (part != end) {
        const std::size_t at = part->word;
        std::uint64_t word = load_word(bytes + 8 * at);
        for (; part != end && part->word == at; ++part)
            word = (word & ~part->mask) | (std::rotl(v[part->slot], part->rotation) & part->mask);
        store_word(bytes + 8 * at, word);
    }
}

// from: the bytes that were parsed.
void Traversal::emit(const Header& header, const std::uint8_t* from, std::uint8_t* to) {
    if (header.variable) {
        BitWriter out(emitted_);
        for (const Field& f : header.fields) out.put_field(slots_.data(), f.slot, f.bits, f.variable);
        ASSERT(emitted_.size() == emitted_bytes(header));
        std::copy(emitted_.begin(), emitted_.end(), to);
        return;
    }
    const std::uint64_t base = slots_[header.base()];
    ASSERT(base == 0 || base - 1 + header.bytes <= scratch_.size());
    if (base != 0) std::memcpy(to, from + base - 1, header.bytes);
    else std::memset(to, 0, header.bytes);
    overlay(header, to);
}

// Set the parsed bytes aside, in scratch_, and return room for so many bytes in their place.
std::uint8_t* Traversal::make_room(Frame& frame, unsigned bytes) {
    ASSERT(parsed_ <= frame.stored);
    scratch_.assign(frame.data(), frame.data() + parsed_);
    const std::uint32_t payload = frame.start + parsed_, rest = frame.stored - parsed_;
    if (bytes > payload) {
        // The headroom is too small: move to a larger buffer.
        const FrameHandle larger = switch_->pool_.acquire(bytes + rest);
        std::memcpy(larger->data() + bytes, frame.data() + parsed_, rest);
        std::swap(frame.buffer, larger->buffer);
        std::swap(frame.size_class, larger->size_class);
        frame.start = Frame::kHeadroom;
    } else {
        frame.start = payload - bytes;
    }
    frame.length += bytes - parsed_;
    frame.stored = rest + bytes;
    return frame.data();
}

void Traversal::deparse(Frame& frame) {
    const Program& p = program_;
    if (p.translation.deparse != nullptr) return p.translation.deparse(*this, frame);
    if (!p.checksums.empty()) update_checksums();
    if (p.deparser_code != kNowhere) execute(p.deparser_code);
    // If every header keeps its position, only written fields change.
    std::uint64_t at = 1;
    bool in_place = true;
    unsigned bytes = 0;
    for (const Index<Header> number : p.deparser) {
        const Header& h = p.headers[number];
        if (slots_[h.valid] == 0) continue;
        in_place = in_place && !h.variable && slots_[h.base()] == at;
        const unsigned n = emitted_bytes(h);
        at += n;
        bytes += n;
    }
    if (in_place && bytes == parsed_) {
        std::uint8_t* to = frame.data();
        for (const Index<Header> number : p.deparser) {
            const Header& h = p.headers[number];
            if (slots_[h.valid] == 0) continue;
            overlay(h, to);
            to += h.bytes;
        }
        return;
    }
    std::uint8_t* to = make_room(frame, bytes);
    for (const Index<Header> number : p.deparser) {
        const Header& h = p.headers[number];
        if (slots_[h.valid] == 0) continue;
        emit(h, scratch_.data(), to);
        to += emitted_bytes(h);
    }
    ASSERT(to == frame.data() + bytes);
}

std::uint64_t Traversal::calculate(const Calculation& c) {
    BitWriter out(scratch_);
    const std::uint64_t* v = slots_.data();
    for (const Piece& piece : c.input) {
        if (piece.valid != kNoSlot && v[piece.valid] == 0) continue;
        if (piece.kind != Piece::Kind::Header) {
            out.put_field(v, piece.slot, piece.bits, piece.variable);
            continue;
        }
        for (const Field& f : program_.headers[piece.header].fields)
            out.put_field(v, f.slot, f.bits, f.variable);
    }
    if (c.payload) {
        frame_->join();
        // As in BMv2, a frame that the program has truncated to n bytes counts the first n of its payload.
        std::uint32_t bytes = frame_->length - parsed_;
        if (truncate_ != 0) bytes = std::min(bytes, truncate_);
        const std::uint8_t* const payload = frame_->data() + parsed_;
        scratch_.insert(scratch_.end(), payload, payload + bytes);
    }
    return hash(c.algorithm, scratch_.data(), scratch_.size());
}

bool Traversal::applies(const Checksum& checksum) {
    if (checksum.condition == kNowhere) return true;
    execute(checksum.condition);
    return slots_[checksum.result] != 0;
}

void Traversal::verify_checksums() {
    std::uint64_t wrong = 0;
    for (const Checksum& c : program_.checksums) {
        if (!c.verify || (c.header_valid != kNoSlot && slots_[c.header_valid] == 0) || !applies(c)) continue;
        wrong |= calculate(program_.calculations[c.calculation]) != slots_[c.target];
    }
    slots_[program_.standard.checksum_error] = wrong;
}

void Traversal::update_checksums() {
    for (const Checksum& c : program_.checksums)
        if (c.update && applies(c))
            slots_[c.target] = calculate(program_.calculations[c.calculation]) & low_mask(c.bits);
}

}  // namespace railyard
