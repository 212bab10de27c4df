// SPDX-License-Identifier: Apache-2.0
// An NPU's array and the payloads of its frames, copy-on-write: a payload refers to the array until its slice
// of the array changes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "frames/frame.h"
#include "hosts/messages/array_memory.h"
#include "hosts/messages/codec.h"

namespace railyard::hosts {

// Bytes of all arrays of the process.
inline std::atomic<std::size_t> array_bytes = 0;

// Allocator of page-aligned arrays, so that a slice of a page's size lies in one page. Huge pages would make
// frames faster still, but if memory is fragmented, the kernel takes longer to find them than they save.
template <typename T>
struct PageAllocator {
    using value_type = T;

    PageAllocator() = default;
    template <typename U>
    explicit PageAllocator(const PageAllocator<U>& /*other*/) {}

    T* allocate(std::size_t count) {
        array_bytes += count * sizeof(T);
        return static_cast<T*>(acquire_array(count * sizeof(T)));
    }
    void deallocate(T* block, std::size_t count) {
        array_bytes -= count * sizeof(T);
        release_array(block, count * sizeof(T));
    }
    // Leave new elements uninitialised: every user fills its array, and clearing it would take as long again.
    template <typename U>
    void construct(U* place) {
        ::new (static_cast<void*>(place)) U;
    }
    template <typename U, typename... Arguments>
    void construct(U* place, Arguments&&... arguments) {
        ::new (static_cast<void*>(place)) U(std::forward<Arguments>(arguments)...);
    }
    bool operator==(const PageAllocator& /*other*/) const { return true; }
};

using ByteArray = std::vector<std::uint8_t, PageAllocator<std::uint8_t>>;

// A sent frame that may have to be retransmitted.
struct Sent {
    Message message;
    std::uint32_t slice = 0, start = 0;  // slice of the payload, and its offset in the array in bytes
    std::uint8_t lb = 0;
    Time sent_at{};
    // Sequence number of the transmission, and number of retransmissions; set by PathSender only.
    std::int64_t order = 0;
    std::uint32_t resent = 0;
    frames::Payload* payload = nullptr;  // null once the frame is acknowledged
};

class Payloads {
   public:
    Payloads(std::shared_ptr<ByteArray> array, std::size_t slices)
        : array_(std::move(array)), first_(slices) {}
    Payloads(const Payloads&) = delete;
    // Running out of memory in keep_all ends the process.
    ~Payloads() { keep_all(); }  // NOLINT(bugprone-exception-escape)

    std::uint8_t* array() { return array_->data(); }
    [[nodiscard]] const std::shared_ptr<ByteArray>& shared() const { return array_; }

    void refer(Sent& sent, FramePool& pool) {
        ASSERT(sent.slice < first_.size());
        ASSERT(std::size_t{sent.start} + sent.message.size <= array_->size());
        sent.payload = pool.share(array_->data() + sent.start, sent.message.size);
        sent.payload->refer(first_[sent.slice]);
    }
    // Release the payload of an acknowledged frame.
    static void drop(Sent& sent) {
        if (sent.payload != nullptr) FramePool::drop(std::exchange(sent.payload, nullptr));
    }
    // Copy the payloads that refer to a slice, which is about to change.
    void keep(std::uint32_t slice) {
        while (first_[slice] != nullptr) first_[slice]->keep();
    }
    // Copy the payloads of all slices: frames of a removed application may still be in flight.
    void keep_all() {
        for (std::uint32_t slice = 0; slice < first_.size(); ++slice) keep(slice);
    }

   private:
    std::shared_ptr<ByteArray> array_;
    std::vector<frames::Payload*> first_;  // by slice: head of the list of payloads that refer to it
};

}  // namespace railyard::hosts
