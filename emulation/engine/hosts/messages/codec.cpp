// SPDX-License-Identifier: Apache-2.0
#include "hosts/messages/codec.h"

#include <cstring>

#include "hosts/messages/fields.h"

namespace railyard::hosts {

namespace {

// NTH.cc: mode in the upper three bits, mark in the lower two.
constexpr std::uint32_t kMarkBits = 0xE003, kMarked = 0x8003, kTrimmed = 0x8002;

void set_length(std::uint8_t* frame, std::size_t bytes) {
    const std::uint32_t rest = get<std::uint16_t>(frame, kLengthAt) & 0xC000u;
    put<2>(frame, kLengthAt, rest | encode_length(static_cast<std::uint32_t>(bytes - kEthernetBytes)));
}

void set_ends(std::uint8_t* frame, Ends ends, int lb_mode) {
    put<6>(frame, 0, 0x0200'0000'0000u | ends.dcna);
    put<6>(frame, 6, 0x0200'0000'0000u | ends.scna);
    const std::uint32_t rest = get<std::uint16_t>(frame, kLengthAt) & 0x4000u;
    put<2>(frame, kLengthAt, rest | static_cast<std::uint32_t>(lb_mode) << 15);
    put<2>(frame, kScnaAt, ends.scna);
    put<2>(frame, kDcnaAt, ends.dcna);
    put<2>(frame, kSrcQAt, ends.src_q);
    put<2>(frame, kDstQAt, ends.dst_q);
}

}  // namespace

Preview preview(const std::uint8_t* frame) {
    return {frame[kOpcodeAt] == kOpcodeData, frame[kOpAt] == kCopy, get<std::uint16_t>(frame, kScnaAt),
            get<std::uint16_t>(frame, kDstQAt), get<std::uint32_t>(frame, kOffsetAt)};
}

const char* scan(const std::uint8_t* frame, std::size_t size, Fields& fields) {
    if (size < kAckBytes) return "short";
    if (get<std::uint16_t>(frame, kEthertypeAt) != kEthertype) return "ethertype";
    const auto lph = get<std::uint32_t>(frame, frames::kLphAt);
    if ((lph >> 16 & 0xF) != frames::kCfgCna16) return "cfg";
    const std::uint32_t link_bytes = decode_length(lph & 0x3FFF);
    if (link_bytes > size - kEthernetBytes) return "length";
    if ((frame[kClassAt] & 0x8) != 0) return "management";
    fields.opcode = frame[kOpcodeAt];
    fields.flags = frame[kFlagsAt];
    fields.lb = frame[kLbAt];
    fields.scna = get<std::uint16_t>(frame, kScnaAt);
    fields.dcna = get<std::uint16_t>(frame, kDcnaAt);
    fields.src_q = get<std::uint16_t>(frame, kSrcQAt);
    fields.dst_q = get<std::uint16_t>(frame, kDstQAt);
    if (fields.opcode == kOpcodeAck || fields.opcode == kOpcodeNack || fields.opcode == kOpcodeCredit) {
        fields.psn = get<std::uint32_t, 3>(frame, kAckPsnAt);
        fields.sack = frames::load_word(frame + kSackAt);
        if (fields.opcode == kOpcodeAck) {
            fields.marks = get<std::uint16_t>(frame, kMarksAt);
            fields.skipped = frame[kPsnAt] * kMapStep;
        } else fields.nacked = get<std::uint32_t, 3>(frame, kPsnAt);
        return link_bytes == kAckBytes - kEthernetBytes ? nullptr : "length";
    }
    if (fields.opcode != kOpcodeData) return "opcode";
    // A frame shorter than the data header fails the length check below.
    fields.length = size >= kDataHeaderBytes ? get<std::uint32_t>(frame, kSizeAt) : 0;
    const std::uint32_t mark = get<std::uint16_t>(frame, kCcAt) & kMarkBits;
    fields.marked = mark == kMarked;
    fields.trimmed = mark == kTrimmed;
    const std::uint32_t carried = fields.trimmed ? 0 : fields.length;
    if (link_bytes != carried + (kDataHeaderBytes - kEthernetBytes)) return "length";
    fields.psn = get<std::uint32_t, 3>(frame, kPsnAt);
    fields.asked = get<std::uint32_t, 3>(frame, kAckPsnAt);
    fields.job = get<std::uint16_t>(frame, kJobAt);
    fields.op = frame[kOpAt];
    fields.dtype = frame[kDtypeAt];
    fields.step = get<std::uint16_t>(frame, kStepAt);
    fields.chunk = get<std::uint16_t>(frame, kChunkAt);
    fields.offset = get<std::uint32_t>(frame, kOffsetAt);
    return nullptr;
}

DataWriter::DataWriter(const Templates& templates, Ends ends, int lb_mode, std::uint16_t job,
                       std::uint8_t dtype)
    : header_(templates.data) {
    set_ends(header_.data(), ends, lb_mode);
    put<2>(header_.data(), kJobAt, job);
    header_[kDtypeAt] = dtype;
}

FrameHandle DataWriter::frame(FramePool& pool, std::uint8_t lb, std::uint8_t flags, std::uint32_t psn,
                              const Message& message, frames::Payload& payload) const {
    FrameHandle frame = pool.acquire(kDataHeaderBytes);
    std::uint8_t* bytes = frame->data();
    std::memcpy(bytes, header_.data(), kDataHeaderBytes);
    set_length(bytes, kDataHeaderBytes + message.size);
    bytes[kLbAt] = lb;
    bytes[kFlagsAt] = flags;
    put<3>(bytes, kPsnAt, psn);
    bytes[kOpAt] = message.op;
    put<2>(bytes, kStepAt, message.step);
    put<2>(bytes, kChunkAt, message.chunk);
    put<4>(bytes, kOffsetAt, message.offset);
    put<4>(bytes, kSizeAt, message.size);
    FramePool::carry(*frame, payload, static_cast<std::uint32_t>(kDataHeaderBytes + message.size));
    return frame;
}

void DataWriter::ask(Frame& frame, Bytes bytes) {
    put<3>(frame.data(), kAckPsnAt, static_cast<std::uint64_t>(bytes.value()));
}

AckWriter::AckWriter(const Templates& templates, Ends ends, int lb_mode) : header_(templates.ack) {
    set_ends(header_.data(), ends, lb_mode);
    set_length(header_.data(), kAckBytes);
}

FrameHandle AckWriter::frame(FramePool& pool, std::uint8_t lb, std::uint32_t ack_psn, std::uint64_t sack,
                             std::uint8_t flags, std::uint16_t marks, std::uint32_t skipped) const {
    FrameHandle frame = pool.acquire(header_.data(), kAckBytes);
    std::uint8_t* bytes = frame->data();
    bytes[kLbAt] = lb;
    bytes[kFlagsAt] = flags;
    bytes[kPsnAt] = static_cast<std::uint8_t>(skipped / kMapStep);
    put<2>(bytes, kMarksAt, marks);
    put<3>(bytes, kAckPsnAt, ack_psn);
    frames::store_word(bytes + kSackAt, sack);
    return frame;
}

FrameHandle AckWriter::refusal(FramePool& pool, std::uint8_t lb, std::uint32_t ack_psn, std::uint64_t sack,
                               std::uint8_t flags, std::uint32_t psn) const {
    FrameHandle made = frame(pool, lb, ack_psn, sack, flags, 0);
    made->data()[kOpcodeAt] = kOpcodeNack;
    put<3>(made->data(), kPsnAt, psn);
    return made;
}

FrameHandle AckWriter::grant(FramePool& pool, std::uint8_t lb, std::uint32_t ack_psn, Bytes granted) const {
    FrameHandle made = frame(pool, lb, ack_psn, static_cast<std::uint64_t>(granted.value()), 0, 0);
    made->data()[kOpcodeAt] = kOpcodeCredit;
    return made;
}

}  // namespace railyard::hosts
