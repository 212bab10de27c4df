// SPDX-License-Identifier: Apache-2.0
#include "p4runtime/counter_cells.h"

#include <array>
#include <string_view>

namespace railyard::p4runtime {

namespace {

// Tags of fields in p4/v1/p4runtime.proto: field number << 3 | type. Type 2 is a message, type 0 a number.
constexpr char kEntities = 1 << 3 | 2;      // of ReadResponse
constexpr char kCounterEntry = 7 << 3 | 2;  // of Entity
constexpr char kCounterId = 1 << 3, kIndex = 2 << 3 | 2, kData = 3 << 3 | 2;
constexpr char kIndexOfIndex = 1 << 3;
constexpr char kByteCount = 1 << 3, kPacketCount = 2 << 3;

// Serialised message of less than 128 bytes, so that its length takes one byte.
class ShortMessage {
   public:
    // Append a number; protocol buffers omit 0.
    void number(char tag, std::uint64_t value) {
        if (value == 0) return;
        put(tag);
        for (; value > 0x7F; value >>= 7) put(static_cast<char>(value | 0x80));
        put(static_cast<char>(value));
    }
    void message(char tag, const ShortMessage& inner) {
        put(tag);
        put(static_cast<char>(inner.size_));
        for (const char byte : inner.view()) put(byte);
    }
    std::string_view view() const { return {bytes_.data(), size_}; }

   private:
    void put(char byte) { bytes_[size_++] = byte; }

    // Enough for the longest message: 4 lengths and 8 tags, an id of 5 bytes and 3 numbers of up to 10 bytes.
    std::array<char, 64> bytes_;
    std::size_t size_ = 0;
};

}  // namespace

std::string counter_response(std::uint32_t counter_id, std::size_t first,
                             std::span<const tables::Count> cells) {
    std::string out;
    out.reserve(cells.size() * 24);
    for (const tables::Count& count : cells) {
        ShortMessage index, data, entry, entity, response;
        index.number(kIndexOfIndex, first++);
        data.number(kByteCount, count.bytes.value());
        data.number(kPacketCount, count.packets);
        entry.number(kCounterId, counter_id);
        entry.message(kIndex, index);
        entry.message(kData, data);
        entity.message(kCounterEntry, entry);
        response.message(kEntities, entity);
        out += response.view();
    }
    return out;
}

}  // namespace railyard::p4runtime
