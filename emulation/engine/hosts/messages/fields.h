// SPDX-License-Identifier: Apache-2.0
// Header fields: their offsets, access in network byte order, and the length field of the link header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "frames/link_header.h"

namespace railyard::hosts {

constexpr std::uint16_t kEthertype = 0x88B5;
constexpr std::size_t kEthernetBytes = 14;
// Offsets of fields in a frame without a source route.
constexpr std::size_t kEthertypeAt = 12, kLengthAt = 16, kScnaAt = 18, kDcnaAt = 20, kCcAt = 22, kLbAt = 24,
                      kClassAt = 25, kOpcodeAt = 26, kFlagsAt = 27, kSrcQAt = 28, kDstQAt = 30, kPsnAt = 32,
                      kMarksAt = 33, kAckPsnAt = 35, kJobAt = 38, kSackAt = 38, kOpAt = 40, kDtypeAt = 41,
                      kStepAt = 42, kChunkAt = 44, kOffsetAt = 46, kSizeAt = 50;

template <typename T, std::size_t kBytes = sizeof(T)>
T get(const std::uint8_t* frame, std::size_t at) {
    if constexpr (kBytes == 2 || kBytes == 4) {
        T word = 0;
        std::memcpy(&word, frame + at, kBytes);
        return kBytes == 2 ? static_cast<T>(__builtin_bswap16(static_cast<std::uint16_t>(word)))
                           : static_cast<T>(__builtin_bswap32(static_cast<std::uint32_t>(word)));
    }
    if constexpr (kBytes == 3) {  // the byte after the field belongs to the header, too
        std::uint32_t word = 0;
        std::memcpy(&word, frame + at, sizeof word);
        return static_cast<T>(__builtin_bswap32(word) >> 8);
    }
    T value = 0;
    for (std::size_t i = 0; i < kBytes; ++i) value = static_cast<T>(value << 8 | frame[at + i]);
    return value;
}

template <std::size_t kBytes>
void put(std::uint8_t* frame, std::size_t at, std::uint64_t value) {
    for (std::size_t i = 0; i < kBytes; ++i)
        frame[at + i] = static_cast<std::uint8_t>(value >> 8 * (kBytes - 1 - i));
}

// Return the LPH.length field of a packet with `link_bytes` from the LPH to its end.
inline std::uint32_t encode_length(std::uint32_t link_bytes) {
    const std::uint32_t flits = (link_bytes - 1) / frames::kFlitBytes;
    return flits / frames::kBlockFlits << 10 | flits % frames::kBlockFlits << 5 |
           (link_bytes - 1) % frames::kFlitBytes;
}

// Return the bytes from the LPH to the packet's end. An invalid field (last flit of more than 20 bytes) gives
// 2^30, more than any packet has.
inline std::uint32_t decode_length(std::uint32_t field) {
    const std::uint32_t tail = field & 0x1F;
    if (tail >= frames::kFlitBytes) return 1 << 30;
    return ((field >> 10) * frames::kBlockFlits + (field >> 5 & 0x1F)) * frames::kFlitBytes + tail + 1;
}

}  // namespace railyard::hosts
