// SPDX-License-Identifier: Apache-2.0
#include "hosts/tree/tree_frame.h"

#include <cstring>

#include "hosts/messages/fields.h"

namespace railyard::hosts {

namespace {

constexpr std::uint32_t kCfgRoute = 0xC;
constexpr std::size_t kTreeBytes = 20;                       // NTH and RDH
constexpr std::uint8_t kReductionFollows = 4, kManaged = 8;  // NTH.nlp and NTH.mgmt
constexpr std::uint16_t kFirstHop = 0x800;                   // bitmap of a source route with one instruction
constexpr std::uint8_t kFilled = 0x80, kWrapped = 0x40;

// Offsets from the end of the link header, or of the source route if there is one.
constexpr std::size_t kSourceAt = 0, kTargetAt = 2, kServiceAt = 7, kKindAt = 8, kFlagByteAt = 9,
                      kTreeAt = 10, kOwnerAt = 12, kScaleAt = 14, kBlockAt = 16;

}  // namespace

const char* scan_tree(const std::uint8_t* frame, std::size_t size, TreeResult& result) {
    if (size < frames::kLinkHeaderBytes + kTreeBytes) return "short";
    if (get<std::uint16_t>(frame, 12) != kEthertype) return "ethertype";
    const auto lph = get<std::uint32_t>(frame, kEthernetBytes);
    const std::uint32_t cfg = lph >> 16 & 0xF;
    if (cfg != kCfgRoute && cfg != frames::kCfgCna16) return "cfg";
    const std::size_t at = frames::kLinkHeaderBytes + (cfg == kCfgRoute ? frames::kRouteBytes : 0);
    const std::uint32_t link_bytes = decode_length(lph & 0x3FFF);
    if (size < at + kTreeBytes || link_bytes > size - kEthernetBytes) return "length";
    const std::uint8_t* const fields = frame + at;
    const auto service = static_cast<std::uint8_t>(fields[kServiceAt] & 0xF);
    if (service != kReductionFollows) return (service & kManaged) != 0 ? "management" : "nlp";
    const std::size_t whole = at + kTreeBytes - kEthernetBytes;
    const bool filled = (fields[kFlagByteAt] & kFilled) != 0;
    if (link_bytes != whole + (filled ? kValueBytes : 0)) return "length";
    const int kind = fields[kKindAt] >> 4;
    if (kind > 1 || (fields[kKindAt] >> 1 & 7) > 2) return "opcode";
    result.result = kind == 1;
    result.tree = get<std::uint16_t>(fields, kTreeAt);
    result.dcna = get<std::uint16_t>(fields, kTargetAt);
    result.scale = get<std::uint16_t>(fields, kScaleAt);
    result.block = get<std::uint32_t>(fields, kBlockAt);
    result.wrapped = (fields[kFlagByteAt] & kWrapped) != 0;
    result.values = filled ? fields + kTreeBytes : nullptr;
    return nullptr;
}

ContributionWriter::ContributionWriter(const TreeEnds& ends) {
    std::uint8_t* const bytes = header_.data();
    put<6>(bytes, 0, 0x0200'0000'0000u | ends.next);
    put<6>(bytes, 6, 0x0200'0000'0000u | ends.member);
    put<2>(bytes, 12, kEthertype);
    put<2>(bytes, frames::kLinkHeaderBytes, kFirstHop);
    bytes[frames::kLinkHeaderBytes + 2] = static_cast<std::uint8_t>(ends.port.value());
    std::uint8_t* const fields = bytes + frames::kLinkHeaderBytes + frames::kRouteBytes;
    put<2>(fields, kSourceAt, ends.member);
    put<2>(fields, kTargetAt, ends.next);
    fields[kServiceAt] = kReductionFollows;
    fields[kKindAt] = static_cast<std::uint8_t>(ends.operation << 1 | static_cast<int>(ends.wide));
    put<2>(fields, kTreeAt, ends.tree);
}

FrameHandle ContributionWriter::frame(FramePool& pool, std::uint32_t block, std::uint16_t owner,
                                      std::uint16_t scale, bool filled) const {
    const std::size_t length = kHeaderBytes + (filled ? kValueBytes : 0);
    FrameHandle frame = pool.acquire(length);
    std::uint8_t* const bytes = frame->data();
    std::memcpy(bytes, header_.data(), kHeaderBytes);
    put<4>(bytes, kEthernetBytes,
           kCfgRoute << 16 | encode_length(static_cast<std::uint32_t>(length - kEthernetBytes)));
    std::uint8_t* const fields = bytes + frames::kLinkHeaderBytes + frames::kRouteBytes;
    fields[kFlagByteAt] = filled ? kFilled : 0;
    put<2>(fields, kOwnerAt, owner);
    put<2>(fields, kScaleAt, scale);
    put<4>(fields, kBlockAt, block);
    return frame;
}

}  // namespace railyard::hosts
