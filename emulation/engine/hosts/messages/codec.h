// SPDX-License-Identifier: Apache-2.0
// Parser and writers of data frames and acknowledgements. docs/reference/wire-format.md has the layout.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "hosts/application.h"

namespace railyard::hosts {

constexpr std::size_t kDataHeaderBytes = 54, kAckBytes = 46;
constexpr std::uint32_t kPsnMask = 0xFFFFFF;
constexpr std::uint32_t kHalf = 1 << 23;  // half of the PSN space, to compare PSNs
// Most PSNs from the oldest frame in flight to the newest; of a connection that knows its paths.
constexpr std::uint32_t kMaxWindow = 1024, kMaxPathWindow = 64;
constexpr std::uint32_t kMapFrames = 64;  // frames in the map of an acknowledgement
constexpr std::uint32_t kMapStep = 4;     // the map begins at a multiple of this number of frames
constexpr std::uint8_t kOpcodeData = 1, kOpcodeAck = 2, kOpcodeNack = 3, kOpcodeCredit = 4;
constexpr std::uint8_t kAckNow = 1, kRetransmission = 2, kWithoutCredit = 4;  // flags
// Operation by which a receiver combines its elements with a payload. kReduce adds; kCopy overwrites.
constexpr std::uint8_t kReduce = 1, kCopy = 2, kProduct = 3, kMinimum = 4, kMaximum = 5, kAnd = 6, kOr = 7,
                       kXor = 8;
// Element types.
constexpr std::uint8_t kInt32 = 1, kFloat32 = 2, kInt64 = 3, kFloat64 = 4, kInt8 = 5, kUint8 = 6,
                       kFloat16 = 7, kBfloat16 = 8;
constexpr Vl kVlResponse{2};  // VL of acknowledgements

struct Fields {
    std::uint8_t opcode = 0, flags = 0, lb = 0, op = 0, dtype = 0;
    std::uint16_t scna = 0, dcna = 0, src_q = 0, dst_q = 0, job = 0, step = 0, chunk = 0;
    std::uint32_t psn = 0;  // acknowledgement: the first PSN not received yet
    std::uint32_t offset = 0, length = 0;
    std::uint64_t sack = 0;     // acknowledgement: map of received frames; credit: all bytes granted so far
    std::uint32_t skipped = 0;  // acknowledgement: bit i of the map stands for PSN psn + 1 + skipped + i
    std::uint32_t asked = 0;    // data: low bits of the bytes that the sender asks credit for, in all
    std::uint32_t nacked = 0;   // negative acknowledgement: PSN of the trimmed or first missing frame
    bool marked = false;        // data: a switch has set a congestion mark
    bool trimmed = false;       // data: a switch has cut off the payload
    std::uint16_t marks = 0;    // acknowledgement: bit per bucket with marked frames
};

// Parse a frame of `size` bytes into `fields`. Return null for a data frame or an acknowledgement, else the
// reason why it is junk. Bytes after the packet's end, by its length field, are padding of the carrier.
const char* scan(const std::uint8_t* frame, std::size_t size, Fields& fields);

// Fields of an unchecked frame, to prefetch memory. `offset` and `copied` have no meaning unless `data`.
struct Preview {
    bool data, copied;  // a data frame; its operation is kCopy
    std::uint16_t scna, dst_q;
    std::uint32_t offset;
};
Preview preview(const std::uint8_t* frame);  // reads kAckBytes

// Make the frame contiguous, unless its buffer has exactly the header of a data frame.
inline void arrange(Frame& frame) {
    if (frame.stored != kDataHeaderBytes) frame.join();
}
// Return the payload of a data frame; call arrange() first.
inline const std::uint8_t* content(const Frame& frame) {
    return frame.stored < frame.length ? frame.payload->bytes : frame.data() + kDataHeaderBytes;
}

// Addresses and queue numbers in the headers of a connection's frames.
struct Ends {
    std::uint16_t scna, dcna, src_q, dst_q;
};

// Header bytes of data frames and acknowledgements with the fields that are equal in all connections.
struct Templates {
    std::array<std::uint8_t, kDataHeaderBytes> data{};
    std::array<std::uint8_t, kAckBytes> ack{};
};

// Collective header of a data frame; `offset`, in the receiver's array, and `size` are bytes.
struct Message {
    std::uint8_t op = 0;
    std::uint16_t step = 0, chunk = 0;
    std::uint32_t offset = 0, size = 0;
    // Return the length of a frame with the message.
    [[nodiscard]] Bytes frame_bytes() const { return Bytes(kDataHeaderBytes + size); }
};

class DataWriter {
   public:
    DataWriter(const Templates& templates, Ends ends, int lb_mode, std::uint16_t job, std::uint8_t dtype);
    [[nodiscard]] FrameHandle frame(FramePool& pool, std::uint8_t lb, std::uint8_t flags, std::uint32_t psn,
                                    const Message& message, frames::Payload& payload) const;
    // Ask for credit: all bytes that the sender has sent or has ready.
    static void ask(Frame& frame, Bytes bytes);

   private:
    std::array<std::uint8_t, kDataHeaderBytes> header_;
};

class AckWriter {
   public:
    AckWriter(const Templates& templates, Ends ends, int lb_mode);
    // `skipped`: bit i of `sack` stands for PSN ack_psn + 1 + skipped + i; a multiple of kMapStep.
    [[nodiscard]] FrameHandle frame(FramePool& pool, std::uint8_t lb, std::uint32_t ack_psn,
                                    std::uint64_t sack, std::uint8_t flags, std::uint16_t marks,
                                    std::uint32_t skipped = 0) const;
    // Return a negative acknowledgement of the frame `psn`.
    [[nodiscard]] FrameHandle refusal(FramePool& pool, std::uint8_t lb, std::uint32_t ack_psn,
                                      std::uint64_t sack, std::uint8_t flags, std::uint32_t psn) const;
    // A grant of credit: all bytes granted so far.
    [[nodiscard]] FrameHandle grant(FramePool& pool, std::uint8_t lb, std::uint32_t ack_psn,
                                    Bytes granted) const;

   private:
    std::array<std::uint8_t, kAckBytes> header_;
};

}  // namespace railyard::hosts
