// SPDX-License-Identifier: Apache-2.0
#include "frames/cna24.h"

#include <algorithm>
#include <array>
#include <optional>

#include "frames/link_header.h"

namespace railyard::frames {

namespace {

using Byte = std::uint8_t;

constexpr std::uint32_t kCna16Bytes = 8, kCna24Bytes = 12, kTphBytes = 12, kRtphBytes = 16;
constexpr Byte kCfgRoute16 = 0xC, kCfgCna24 = 0xD, kCfgRoute24 = 0xE;
constexpr std::uint32_t kBlocks = 16;
constexpr Byte kManagement = 0x8, kNlpMask = 0x7, kNlpReliable = 2;
constexpr Byte kLast = 0x80, kReliable = 1, kSelectiveAck = 5, kAckRequest = 0x80;

// Kind of packet: opcode of the TPH, and the corresponding opcode and next header of the RTPH.
struct Kind {
    Byte opcode, reliable, next;
};
constexpr std::array<Kind, 6> kKinds{{{1, kLast | kReliable, 0x8},
                                      {2, kSelectiveAck, 0x9},
                                      {4, kSelectiveAck, 0xD},
                                      {0x40, kLast | kReliable, 0xA},
                                      {0x41, kLast | kReliable, 0xB},
                                      {0x50, kLast | kReliable, 0xC}}};

// Add `more` bytes to LPH.length, a mixed-radix number. Return false if the field is invalid or cannot hold
// the sum.
bool lengthen(Byte* lph, int more) {
    const std::uint32_t field = static_cast<std::uint32_t>(lph[2] << 8 | lph[3]);
    const std::uint32_t tail = field & 0x1F;
    if (tail >= kFlitBytes) return false;
    const auto bytes =
        static_cast<int>(((field >> 10 & 0xF) * kBlockFlits + (field >> 5 & 0x1F)) * kFlitBytes + tail) +
        more;
    if (bytes < 0 || bytes >= static_cast<int>(kBlocks * kBlockFlits * kFlitBytes)) return false;
    const auto number = static_cast<std::uint32_t>(bytes);
    const std::uint32_t flits = number / kFlitBytes;
    const std::uint32_t length = flits / kBlockFlits << 10 | flits % kBlockFlits << 5 | number % kFlitBytes;
    lph[2] = static_cast<Byte>((field >> 8 & 0xC0) | length >> 8);
    lph[3] = static_cast<Byte>(length);
    return true;
}

// Return the offset of a UB frame's network header, and replace LPH.cfg in `head`: `plain` by `to_plain`,
// `routed` by `to_routed`. None if LPH.cfg is neither `plain` nor `routed`.
std::optional<std::uint32_t> network_at(const Frame& frame, Byte* head, Byte plain, Byte routed,
                                        Byte to_plain, Byte to_routed) {
    if (frame.stored < kLinkHeaderBytes || head[12] != 0x88 || head[13] != 0xB5) return std::nullopt;
    const Byte cfg = head[kLphAt + 1] & 0xF;
    if (cfg != plain && cfg != routed) return std::nullopt;
    const Byte other = cfg == plain ? to_plain : to_routed;
    head[kLphAt + 1] = static_cast<Byte>((head[kLphAt + 1] & 0xF0) | other);
    return kLinkHeaderBytes + (cfg == routed ? kRouteBytes : 0);
}

// Replace the first `old_size` bytes of a frame by the `size` bytes of `head`.
void replace(Frame& frame, std::uint32_t old_size, const Byte* head, std::uint32_t size) {
    frame.start += old_size;
    frame.start -= size;
    frame.length += size;
    frame.length -= old_size;
    frame.stored += size;
    frame.stored -= old_size;
    ASSERT(frame.start + old_size >= size && frame.stored <= frame.length);
    std::memcpy(frame.data(), head, size);
}

constexpr std::uint32_t kHead = kLinkHeaderBytes + kRouteBytes + kCna24Bytes + kRtphBytes;

}  // namespace

void to_cna24(Frame& frame) {
    if (frame.stored < kHead) frame.join();
    std::array<Byte, kHead> head{};
    std::memcpy(head.data(), frame.data(), std::min(frame.stored, kLinkHeaderBytes + kRouteBytes));
    const auto at = network_at(frame, head.data(), kCfgCna16, kCfgRoute16, kCfgCna24, kCfgRoute24);
    if (!at || frame.stored < *at + kCna16Bytes || frame.start < kHead) return;
    const Byte* const in = frame.data() + *at;
    Byte* out = head.data() + *at;
    const bool management = (in[7] & kManagement) != 0;
    const Byte zero = 0, nlp = management ? in[7] & kNlpMask : kNlpReliable;
    *out++ = zero;  // rt and reserved bits
    *out++ = zero;
    out = std::copy_n(in, 2, out);
    *out++ = zero;
    out = std::copy_n(in + 2, 5, out);  // destination, congestion control, load balancing
    *out++ = static_cast<Byte>((in[7] & ~kNlpMask) | nlp);
    *out++ = zero;
    std::uint32_t old_size = *at + kCna16Bytes, size = *at + kCna24Bytes;
    if (!management) {
        if (frame.stored < old_size + kTphBytes) return;
        const Byte* const tph = in + kCna16Bytes;
        const auto kind =
            std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& k) { return k.opcode == tph[0]; });
        if (kind == kKinds.end()) return;
        const bool ack = kind->reliable == kSelectiveAck;
        *out++ = kind->reliable;
        *out++ = kind->next;
        *out++ = zero;
        out = std::copy_n(tph + 2, 2, out);
        *out++ = zero;
        out = std::copy_n(tph + 4, 2, out);
        *out++ = static_cast<Byte>((tph[1] & 1) << 7 | (tph[1] >> 1 & 0x3F));
        out = std::copy_n(tph + (ack ? 9 : 6), 3, out);
        *out++ = zero;
        std::copy_n(tph + (ack ? 6 : 9), 3, out);
        old_size += kTphBytes;
        size += kRtphBytes;
    }
    if (lengthen(head.data() + kLphAt, static_cast<int>(size - old_size)))
        replace(frame, old_size, head.data(), size);
}

void from_cna24(Frame& frame) {
    if (frame.stored < kHead) frame.join();
    std::array<Byte, kHead> head{};
    std::memcpy(head.data(), frame.data(), std::min(frame.stored, kLinkHeaderBytes + kRouteBytes));
    const auto at = network_at(frame, head.data(), kCfgCna24, kCfgRoute24, kCfgCna16, kCfgRoute16);
    if (!at || frame.stored < *at + kCna24Bytes) return;
    const Byte* const in = frame.data() + *at;
    if (in[1] != 0 || in[4] != 0) return;  // an address needs more than 16 bits
    Byte* out = head.data() + *at;
    const bool management = (in[10] & kManagement) != 0;
    if (!management && (in[10] & kNlpMask) != kNlpReliable) return;
    out = std::copy_n(in + 2, 2, out);
    out = std::copy_n(in + 5, 5, out);
    *out++ = management ? in[10] : static_cast<Byte>(in[10] & ~kNlpMask);
    std::uint32_t old_size = *at + kCna24Bytes, size = *at + kCna16Bytes;
    if (!management) {
        if (frame.stored < old_size + kRtphBytes) return;
        const Byte* const rtph = in + kCna24Bytes;
        const auto kind = std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& k) {
            return k.reliable == rtph[0] && k.next == rtph[1];
        });
        if (kind == kKinds.end() || rtph[2] != 0 || rtph[5] != 0) return;
        const bool ack = kind->reliable == kSelectiveAck;
        *out++ = kind->opcode;
        *out++ = static_cast<Byte>((rtph[8] & 0x3F) << 1 | ((rtph[8] & kAckRequest) != 0 ? 1 : 0));
        out = std::copy_n(rtph + 3, 2, out);
        out = std::copy_n(rtph + 6, 2, out);
        out = std::copy_n(rtph + (ack ? 13 : 9), 3, out);
        std::copy_n(rtph + (ack ? 9 : 13), 3, out);
        old_size += kRtphBytes;
        size += kTphBytes;
    }
    if (lengthen(head.data() + kLphAt, -static_cast<int>(old_size - size)))
        replace(frame, old_size, head.data(), size);
}

}  // namespace railyard::frames
