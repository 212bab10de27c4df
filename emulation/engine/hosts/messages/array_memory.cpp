// SPDX-License-Identifier: Apache-2.0
#include "hosts/messages/array_memory.h"

#include <mutex>
#include <new>
#include <vector>

#include "frames/pages.h"

namespace railyard::hosts {

namespace {

// Smallest array whose memory is kept: the heap allocator itself keeps the pages of smaller arrays.
constexpr std::size_t kLeastBytes = 64 << 10;
// Most bytes kept for the next arrays.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

// Free blocks, all of `bytes`: the size of the array acquired last.
struct Kept {
    std::mutex mutex;
    std::size_t bytes = 0;
    std::vector<void*> blocks;
};

// Return the free blocks; never destroyed, so that they outlive all arrays.
Kept& kept() {
    static auto* const all = new Kept;
    return *all;
}

void* new_block(std::size_t bytes) { return ::operator new(bytes, std::align_val_t{frames::kPageBytes}); }
void free_block(void* block) { ::operator delete(block, std::align_val_t{frames::kPageBytes}); }

}  // namespace

void* acquire_array(std::size_t bytes) {
    if (bytes < kLeastBytes) return new_block(bytes);
    {
        Kept& all = kept();
        const std::lock_guard lock(all.mutex);
        if (all.bytes != bytes) {
            for (void* block : all.blocks) free_block(block);
            all.blocks.clear();
            all.bytes = bytes;
        }
        if (!all.blocks.empty()) {
            void* const block = all.blocks.back();
            all.blocks.pop_back();
            return block;
        }
    }
    void* const block = new_block(bytes);
    frames::map_pages(block, bytes);
    return block;
}

void release_array(void* block, std::size_t bytes) {
    if (bytes >= kLeastBytes) {
        Kept& all = kept();
        const std::lock_guard lock(all.mutex);
        if (all.bytes == bytes && (all.blocks.size() + 1) * bytes <= kMostBytes) {
            all.blocks.push_back(block);
            return;
        }
    }
    free_block(block);
}

}  // namespace railyard::hosts
