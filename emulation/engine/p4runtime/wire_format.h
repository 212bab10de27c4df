// SPDX-License-Identifier: Apache-2.0
// Reader of the wire format of protocol buffers, for the types of fields in messages of table entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace railyard::p4runtime {

// A field of a message: the field's number; `value` if it holds an integer, `bytes` if it holds a string or a
// nested message.
struct WireField {
    std::uint32_t number = 0;
    bool is_bytes = false;
    std::uint64_t value = 0;
    std::string_view bytes;
};

// Reads the fields of a message in order.
class WireReader {
   public:
    explicit WireReader(std::string_view message) : rest_(message) {}

    // Read the next field. Return false at the end, and for anything but a varint or length-delimited field.
    bool next(WireField& field) {
        if (rest_.empty()) return false;
        std::uint64_t tag = 0;
        regular_ = varint(tag) && tag >> 3 != 0 && tag >> 32 == 0 && content(tag & 7, field);
        field.number = static_cast<std::uint32_t>(tag >> 3);
        return regular_;
    }
    // True if all bytes read so far are varint or length-delimited fields.
    [[nodiscard]] bool regular() const { return regular_; }
    // The bytes after the field read last.
    [[nodiscard]] std::string_view rest() const { return rest_; }

   private:
    bool content(std::uint64_t wire_type, WireField& field) {
        field.is_bytes = wire_type == 2;
        if (wire_type == 0) return varint(field.value);
        std::uint64_t size = 0;
        if (wire_type != 2 || !varint(size) || size > rest_.size()) return false;
        field.bytes = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return true;
    }
    bool varint(std::uint64_t& value) {
        value = 0;
        for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
            const auto byte = static_cast<unsigned char>(rest_.front());
            rest_.remove_prefix(1);
            value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
            if (byte < 0x80) return shift < 63 || byte < 2;
        }
        return false;
    }

    std::string_view rest_;
    bool regular_ = true;
};

}  // namespace railyard::p4runtime
