// SPDX-License-Identifier: Apache-2.0
// Blocks of memory aligned to pages. Large blocks are in huge pages if the system has any, which saves
// address translations (TLB misses).
#pragma once

#include <cstddef>
#include <new>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

namespace railyard::frames {

constexpr std::size_t kLineBytes = 64, kPageBytes = 4096, kHugePageBytes = std::size_t{1} << 21;

// Return the alignment of a block of `bytes`: a huge page, a page or a cache line.
inline std::align_val_t alignment_of(std::size_t bytes) {
    return std::align_val_t{bytes >= kHugePageBytes ? kHugePageBytes
                            : bytes >= kPageBytes   ? kPageBytes
                                                    : kLineBytes};
}

inline void* allocate_pages(std::size_t bytes) {
    void* const block = ::operator new(bytes, alignment_of(bytes));
#ifdef MADV_HUGEPAGE
    if (bytes >= kHugePageBytes) madvise(block, bytes / kHugePageBytes * kHugePageBytes, MADV_HUGEPAGE);
#endif
    return block;
}

// Map the pages of a new block that will be filled: one call takes less time than a fault for each page.
inline void map_pages([[maybe_unused]] void* block, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_POPULATE_WRITE
    madvise(block, bytes, MADV_POPULATE_WRITE);  // older kernels refuse it and map each page at its first use
#endif
}

inline void free_pages(void* block, std::size_t bytes) { ::operator delete(block, alignment_of(bytes)); }

// Allocator for lists with random access, which huge pages make faster.
template <typename T>
struct HugePageAllocator {
    using value_type = T;

    HugePageAllocator() = default;
    template <typename U>
    explicit HugePageAllocator(const HugePageAllocator<U>& /*other*/) {}

    T* allocate(std::size_t count) { return static_cast<T*>(allocate_pages(count * sizeof(T))); }
    void deallocate(T* block, std::size_t count) { free_pages(block, count * sizeof(T)); }
    bool operator==(const HugePageAllocator& /*other*/) const { return true; }
};

}  // namespace railyard::frames
