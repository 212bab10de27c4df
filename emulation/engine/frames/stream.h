// SPDX-License-Identifier: Apache-2.0
// Copies that bypass the caches, for payloads of arrays that together are larger than the caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace railyard::frames {

// Copy without the caches: the processor neither fetches the lines to be overwritten nor evicts lines that it
// needs sooner. Other threads see the bytes after a locked instruction or end_streams().
inline void stream(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
#ifdef __SSE2__
    constexpr std::size_t kWord = sizeof(__m128i), kLine = 4 * kWord;
    if (reinterpret_cast<std::uintptr_t>(to) % kWord == 0 && bytes % kLine == 0) {
        for (std::size_t line = 0; line < bytes; line += kLine)
            for (std::size_t at = line; at < line + kLine; at += kWord)
                _mm_stream_si128(reinterpret_cast<__m128i*>(to + at),
                                 _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
        return;
    }
#endif
    std::memcpy(to, from, bytes);
}

inline void end_streams() {
#ifdef __SSE2__
    _mm_sfence();
#endif
}

}  // namespace railyard::frames
