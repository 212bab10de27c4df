// SPDX-License-Identifier: Apache-2.0
// Data frames and acknowledgements of NPUs: from bytes to fields and back. docs/reference/wire-format.md has
// the layout.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "frames/frame.h"

namespace railyard {

constexpr std::size_t kDataHeaderBytes = 54, kAckBytes = 46;
constexpr std::uint32_t kPsnMask = 0xFFFFFF;
constexpr std::uint32_t kHalf = 1 << 23;  // of the sequence numbers
// Frames that a connection may have under way; a frame's slot is its sequence number & kSlot.
constexpr std::uint32_t kMaxWindow = 64, kSlot = kMaxWindow - 1;
constexpr std::uint8_t kOpcodeData = 1, kOpcodeAck = 2, kOpcodeNack = 3, kOpcodeCredit = 4;
constexpr std::uint8_t kAckNow = 1, kRetransmission = 2, kWithoutCredit = 4;  // flags
// Operation of a receiver on a payload: replace its own elements by it, or combine both; kReduce adds.
constexpr std::uint8_t kReduce = 1, kCopy = 2, kProduct = 3, kMinimum = 4, kMaximum = 5, kAnd = 6, kOr = 7,
                       kXor = 8;
// Element types.
constexpr std::uint8_t kInt32 = 1, kFloat32 = 2, kInt64 = 3, kFloat64 = 4, kInt8 = 5, kUint8 = 6,
                       kFloat16 = 7, kBfloat16 = 8;
constexpr int kVlResponse = 2;  // VL of acknowledgements

struct Fields {
    std::uint8_t opcode = 0, flags = 0, lb = 0, op = 0, dtype = 0;
    std::uint16_t scna = 0, dcna = 0, src_q = 0, dst_q = 0, job = 0, step = 0, chunk = 0;
    std::uint32_t psn = 0;  // of an acknowledgement: the first PSN not received yet
    std::uint32_t offset = 0, length = 0;
    std::uint64_t sack = 0;    // of a grant of credit: all bytes granted so far
    std::uint32_t asked = 0;   // data: low bits of the bytes that the sender asks credit for, in all
    std::uint32_t nacked = 0;  // negative acknowledgement: PSN of the frame that came trimmed
    bool marked = false;       // data: a switch has marked the frame
    bool trimmed = false;      // data: a queue has cut the frame behind its headers
    std::uint16_t marks = 0;   // acknowledgement: buckets of marked frames, a bit each
};

// Read a frame; null if it is a data frame or an acknowledgement, else a word that says why it is junk. Bytes
// behind the packet's end are the carrier's padding.
const char* scan(const std::uint8_t* frame, std::size_t size, Fields& fields);

// Source of a frame, and place of its payload in the receiver's array, which is copied there or added;
// anything for other frames.
struct Preview {
    bool data, copied;
    std::uint16_t scna, dst_q;
    std::uint32_t offset;
};
Preview preview(const std::uint8_t* frame);  // of kAckBytes at least

// Let the bytes in the frame's buffer be the header of a data frame, and no more, or all.
inline void arrange(Frame& frame) {
    if (frame.stored != kDataHeaderBytes) frame.join();
}
// Payload of a data frame that has been arranged.
inline const std::uint8_t* content(const Frame& frame) {
    return frame.stored < frame.length ? frame.payload->bytes : frame.data() + kDataHeaderBytes;
}

// Addresses and queues of a connection's frames.
struct Ends {
    std::uint16_t scna, dcna, src_q, dst_q;
};

// Headers of a data frame and of an acknowledgement with the fields that no connection changes.
struct Templates {
    std::array<std::uint8_t, kDataHeaderBytes> data{};
    std::array<std::uint8_t, kAckBytes> ack{};
};

// Content of a data frame, apart from the payload's bytes; `offset` is in bytes of the receiver's array.
struct Message {
    std::uint8_t op = 0;
    std::uint16_t step = 0, chunk = 0;
    std::uint32_t offset = 0, size = 0;
};

class DataWriter {
   public:
    DataWriter(const Templates& templates, Ends ends, int lb_mode, std::uint16_t job, std::uint8_t dtype);
    FrameHandle frame(FramePool& pool, std::uint8_t lb, std::uint8_t flags, std::uint32_t psn,
                      const Message& message, Payload& payload) const;
    // Ask for credit: all bytes that the sender has sent or has ready.
    static void ask(Frame& frame, std::uint64_t bytes);

   private:
    std::array<std::uint8_t, kDataHeaderBytes> header_;
};

class AckWriter {
   public:
    AckWriter(const Templates& templates, Ends ends, int lb_mode);
    FrameHandle frame(FramePool& pool, std::uint8_t lb, std::uint32_t ack_psn, std::uint64_t sack,
                      std::uint8_t flags, std::uint16_t marks) const;
    // A negative acknowledgement of the frame `psn`.
    FrameHandle refusal(FramePool& pool, std::uint8_t lb, std::uint32_t ack_psn, std::uint64_t sack,
                        std::uint8_t flags, std::uint32_t psn) const;
    // A grant of credit: all bytes granted so far.
    FrameHandle grant(FramePool& pool, std::uint8_t lb, std::uint32_t ack_psn, std::uint64_t granted) const;

   private:
    std::array<std::uint8_t, kAckBytes> header_;
};

}  // namespace railyard
