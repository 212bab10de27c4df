// SPDX-License-Identifier: Apache-2.0
#include "network/links/queue_policy.h"

#include <utility>

#include "frames/link_header.h"

namespace railyard::network {

namespace {

constexpr std::uint8_t kDataOpcode = 1, kResponseLevel = 1, kModeBits = 0xE0, kFecn = 0x80, kMark = 3,
                       kCut = 2;
// Offsets from the network header: its cc and class fields, the opcode, and the end of the collective header.
constexpr std::size_t kCc = 4, kClass = 7, kOpcode = 8, kEnd = 36;

}  // namespace

bool trim(frames::Frame& frame) {
    if (frame.stored < frames::kLinkHeaderBytes + kEnd) return false;
    std::uint8_t* const bytes = frame.data();
    if (bytes[12] != 0x88 || bytes[13] != 0xB5) return false;
    const unsigned cfg = bytes[15] & 0xFu;
    if (cfg != 0x6 && cfg != 0xC) return false;
    const std::size_t network = frames::kLinkHeaderBytes + (cfg == 0xC ? frames::kRouteBytes : 0),
                      end = network + kEnd;
    if (frame.stored < end || frame.length <= end) return false;
    std::uint8_t* const header = bytes + network;
    if (header[kOpcode] != kDataOpcode || (header[kCc] & kModeBits) != kFecn ||
        (header[kCc + 1] & kMark) == 0)
        return false;
    header[kCc + 1] = static_cast<std::uint8_t>((header[kCc + 1] & ~kMark) | kCut);
    header[kClass] = static_cast<std::uint8_t>(kResponseLevel << 4 | (header[kClass] & 0xFu));
    // Select VL 2 or 3, with the lane unchanged: the VL field is the last bit of byte 14 and the first three
    // of byte 15, and its lowest bit is the lane.
    bytes[14] = static_cast<std::uint8_t>(bytes[14] & 0xFEu);
    bytes[15] = static_cast<std::uint8_t>((bytes[15] & 0x3Fu) | 0x40u);
    const auto link = static_cast<std::uint32_t>(end - frames::kLphAt - 1);
    const std::uint32_t length = link / frames::kFlitBytes / frames::kBlockFlits << 10 |
                                 link / frames::kFlitBytes % frames::kBlockFlits << 5 |
                                 link % frames::kFlitBytes;
    bytes[16] = static_cast<std::uint8_t>((bytes[16] & 0xC0u) | length >> 8);
    bytes[17] = static_cast<std::uint8_t>(length);
    if (frame.payload != nullptr) frames::FramePool::drop(std::exchange(frame.payload, nullptr));
    frame.stored = frame.length = static_cast<std::uint32_t>(end);
    return true;
}

}  // namespace railyard::network
