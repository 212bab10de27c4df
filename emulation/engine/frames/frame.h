// SPDX-License-Identifier: Apache-2.0
// Frames, and pools of them, so that forwarding a frame allocates nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frames/pages.h"
#include "index.h"
#include "invariant.h"

namespace railyard {

using Time = std::int64_t;  // picoseconds

class Channel;
struct Share;

// Part of the receive buffer of a channel that a frame occupies until it has left the switch.
struct Held {
    Index<Channel> channel;  // none: the frame occupies no buffer
    std::uint32_t bytes = 0;
    Index<Share> share;  // of the frame's copies; none: the frame has no copies
    std::uint8_t vl = 0;
};

// Work that a frame and all its copies may still cause in a switch, so that no program and no entry keeps the
// switch busy without end. Copies that wait in queues divide what is left.
struct Budget {
    std::uint32_t passes = 1000;     // further passes: resubmitted, recirculated, cloned by egress
    std::uint32_t copies = 1 << 16;  // copies of multicast groups and clone sessions
    std::uint32_t rounds = 1 << 20;  // rounds of loops, and states of the parser
};

// Packet header vector: results of parser and ingress, kept while the frame waits for its egress.
struct Phv {
    std::vector<std::uint64_t> slots;
    std::uint64_t epoch = 0;  // of the switch when the slots were saved
    std::uint32_t parsed = 0;
    std::uint64_t ingress_length = 0, length = 0;
    std::uint32_t truncate = 0;
    Budget left;
    std::uint32_t enqueue_depth = 0;  // frames in its queue when the frame was enqueued, at time `enqueued`
    Time enqueued = 0;
};

// Words of 64 bits in network byte order.
inline std::uint64_t load_word(const std::uint8_t* bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, sizeof word);
    return __builtin_bswap64(word);
}
inline void store_word(std::uint8_t* bytes, std::uint64_t word) {
    word = __builtin_bswap64(word);
    std::memcpy(bytes, &word, sizeof word);
}

class FramePool;
struct Frame;

struct ReleaseFrame {
    void operator()(Frame* frame) const;
};
// Owns a frame, which goes back to its pool with the handle.
using FrameHandle = std::unique_ptr<Frame, ReleaseFrame>;

// Bytes behind the header of a frame that are not in the frame's buffer: part of the sender's array, or a
// copy of it once the array has changed. The sender and all frames that carry the bytes share a payload.
struct alignas(64) Payload {  // a line of the cache
    const std::uint8_t* bytes = nullptr;
    std::uint32_t size = 0, users = 0;
    FrameHandle copy;
    // Payloads that refer to the same part of an array, a list that begins at `first`; null: `copy` has the
    // bytes.
    Payload **first = nullptr, *previous = nullptr, *next = nullptr;
    FramePool* pool = nullptr;

    void refer(Payload*& list) {
        ASSERT(first == nullptr);  // in one list at most
        first = &list;
        previous = nullptr;
        next = list;
        if (next != nullptr) next->previous = this;
        list = this;
    }
    // Leave the list.
    void unlink() {
        if (first == nullptr) return;
        ASSERT((previous != nullptr ? previous->next : *first) == this);
        ASSERT(next == nullptr || next->previous == this);
        if (next != nullptr) next->previous = previous;
        (previous != nullptr ? previous->next : *first) = next;
        first = nullptr;
    }
    // Copy the bytes, which are about to change.
    void keep();
};

struct alignas(64) Frame {  // a line of the cache
    // A header of up to 56 bytes then stands in one line, with the 8 bytes that a source route takes before
    // it.
    static constexpr std::uint32_t kHeadroom = 72;
    static constexpr std::uint32_t kTailroom = 8;  // behind a frame, so that the word of its last byte exists

    // `stored` bytes of `length` are in the buffer; the others are the beginning of the payload.
    std::uint32_t start = 0, length = 0, stored = 0;
    std::uint16_t size_class = 0;
    std::uint8_t vl = 0;
    bool pending : 1 = false;     // egress has not run yet; it continues with `phv`
    bool controlled : 1 = false;  // from the control plane, or a copy of such a frame
    bool lost : 1 = false;        // occupies the wire, and is dropped at arrival
    bool idle : 1 = false;        // is in its pool; kept in builds with assertions only
    Held held;
    std::uint8_t* buffer = nullptr;
    Payload* payload = nullptr;
    FramePool* pool = nullptr;
    std::unique_ptr<Phv> phv;  // stays with the frame in the pool

    std::uint8_t* data() { return buffer + start; }
    const std::uint8_t* data() const { return buffer + start; }
    std::uint8_t byte(std::uint32_t at) const {
        ASSERT(at < length && (at < stored || payload != nullptr));
        return at < stored ? data()[at] : payload->bytes[at - stored];
    }
    void truncate(std::uint32_t bytes) {
        length = std::min(length, bytes);
        stored = std::min(stored, length);
    }
    // Copy the payload behind the header, so that all bytes are in the buffer.
    void join() {
        ASSERT(stored <= length);
        if (stored < length) [[unlikely]]
            append();
    }
    std::string_view view() {
        join();
        return {reinterpret_cast<const char*>(data()), length};
    }

   private:
    void append();
};
static_assert(sizeof(Frame) == 64 && sizeof(Payload) == 64);

// Frames for reuse, by the size of their buffers, and payloads. A pool outlives every handle that it returns.
class FramePool {
   public:
    FramePool() = default;
    FramePool(const FramePool&) = delete;
    FramePool& operator=(const FramePool&) = delete;
    ~FramePool() {
        ASSERT(idle() == frames_.size() || exchanges);
        ASSERT(free_payloads_.size() == payloads_.size());
        ASSERT(controlled_ == 0 || exchanges);
        for (Frame* const frame : frames_) frame->~Frame();
        for (Payload* const payload : payloads_) payload->~Payload();
        for (const auto& [block, bytes] : blocks_) free_pages(block, bytes);
    }

    // Return a frame of `length` bytes whose content is undefined.
    FrameHandle acquire(std::size_t length) {
        const std::size_t size_class = class_of(length + Frame::kHeadroom + Frame::kTailroom);
        if (size_class >= free_.size()) free_.resize(size_class + 1);
        auto& free = free_[size_class];
        Frame* frame = nullptr;
        if (free.empty()) {
            frame = create(size_class);
        } else {
            frame = free.back();
            free.pop_back();
            ASSERT(frame->idle && frame->size_class == size_class);
        }
        ASSERT(frame->payload == nullptr && frame->pool == this);
        ASSERT((frame->idle = false, true));
        frame->start = Frame::kHeadroom;
        frame->length = frame->stored = static_cast<std::uint32_t>(length);
        frame->held = {};
        frame->vl = 0;
        frame->pending = false;
        frame->controlled = false;
        frame->lost = false;
        return FrameHandle(frame);
    }
    FrameHandle acquire(const void* bytes, std::size_t length) {
        FrameHandle frame = acquire(length);
        if (length > 0) std::memcpy(frame->data(), bytes, length);  // the address of 0 bytes may be null
        return frame;
    }
    FrameHandle copy(const Frame& original) {
        ASSERT(!original.idle && original.stored <= original.length);
        FrameHandle frame = acquire(original.data(), original.stored);
        if (original.stored < original.length) carry(*frame, *original.payload, original.length);
        if (original.controlled) mark(*frame);
        return frame;
    }
    // Count a frame as one of the control plane.
    void mark(Frame& frame) {
        controlled_ += !frame.controlled;
        frame.controlled = true;
    }
    // Frames of the control plane that are in use; the sum over pools that exchange frames.
    std::int64_t controlled() const { return controlled_; }
    // Keep a frame of another pool, which must live as long, from now on.
    void adopt(Frame& frame) {
        ASSERT(!frame.idle && frame.payload == nullptr);  // the payload may be of another partition's array
        frame.pool = this;
    }
    bool exchanges = false;  // frames change between this pool and others
    // Let a frame carry a payload behind its bytes, as far as `length`.
    static void carry(Frame& frame, Payload& payload, std::uint32_t length) {
        ASSERT(frame.payload == nullptr && payload.users > 0);
        ASSERT(length >= frame.stored && length - frame.stored <= payload.size);
        frame.payload = &payload;
        frame.length = length;
        ++payload.users;
    }
    // Return a payload with one user, which has to drop it.
    Payload* share(const std::uint8_t* bytes, std::uint32_t size) {
        if (free_payloads_.empty()) {
            payloads_.push_back(new (allocate(sizeof(Payload))) Payload);
            payloads_.back()->pool = this;
            free_payloads_.push_back(payloads_.back());
        }
        Payload* const payload = free_payloads_.back();
        free_payloads_.pop_back();
        ASSERT(payload->users == 0 && payload->first == nullptr && payload->copy == nullptr);
        ASSERT(payload->pool == this);
        payload->bytes = bytes;
        payload->size = size;
        payload->users = 1;
        return payload;
    }
    static void drop(Payload* payload) {
        ASSERT(payload->users > 0);
        if (--payload->users > 0) return;
        payload->unlink();
        payload->copy.reset();
        payload->pool->free_payloads_.push_back(payload);
    }

   private:
    friend struct ReleaseFrame;
    void release(Frame* frame) {
        ASSERT(!frame->idle);  // a frame has one owner
        ASSERT((frame->idle = true));
        if (frame->payload != nullptr) drop(std::exchange(frame->payload, nullptr));
        controlled_ -= frame->controlled;
        if (frame->size_class >= free_.size()) [[unlikely]]
            free_.resize(frame->size_class + 1);  // a frame of another pool
        free_[frame->size_class].push_back(frame);
    }
    // A frame and its buffer are neighbours in memory: a frame that has left the cache costs fewer misses.
    Frame* create(std::size_t size_class) {
        void* const memory = allocate(sizeof(Frame) + size_class * kStep);
        frames_.push_back(new (memory) Frame);
        Frame* const frame = frames_.back();
        frame->pool = this;
        frame->size_class = static_cast<std::uint16_t>(size_class);
        frame->buffer = static_cast<std::uint8_t*>(memory) + sizeof(Frame);
        return frame;
    }
    // Take memory from a block that many frames share; blocks grow with the pool.
    void* allocate(std::size_t bytes) {
        if (room_ < bytes) {
            const std::size_t size = std::max(bytes, next_block_);
            next_block_ = kSeparate ? 0 : std::min(2 * next_block_, kHugePageBytes);
            blocks_.emplace_back(allocate_pages(size), size);
            rest_ = static_cast<std::uint8_t*>(blocks_.back().first);
            room_ = size;
        }
        room_ -= bytes;
        ASSERT(reinterpret_cast<std::uintptr_t>(rest_) % kLineBytes == 0);
        return std::exchange(rest_, rest_ + bytes);
    }
    std::size_t idle() const {
        std::size_t count = 0;
        for (const auto& free : free_) count += free.size();
        return count;
    }

    // Buffers are multiples of a line, large ones of four lines: fine enough to waste little, coarse enough
    // that few sizes are in use.
    static constexpr std::size_t kStep = 64, kLargeStep = 256;
    static std::size_t class_of(std::size_t bytes) {
        const std::size_t step = bytes <= kLargeStep ? kStep : kLargeStep;
        const std::size_t size_class = (bytes + step - 1) / step * (step / kStep);
        if (size_class > 0xFFFF) throw std::length_error("a frame of " + std::to_string(bytes) + " bytes");
        return size_class;
    }
#ifdef __SANITIZE_ADDRESS__
    static constexpr bool kSeparate = true;  // a block for each frame, so that its bounds are checked
#else
    static constexpr bool kSeparate = false;
#endif
    std::int64_t controlled_ = 0;
    std::vector<std::vector<Frame*>> free_;
    std::vector<Frame*> frames_;
    std::vector<std::pair<void*, std::size_t>> blocks_;  // with their sizes
    std::size_t room_ = 0, next_block_ = kSeparate ? 0 : 16 * kPageBytes;
    std::uint8_t* rest_ = nullptr;  // of the last block
    std::vector<Payload*> free_payloads_;
    std::vector<Payload*> payloads_;
};

inline void ReleaseFrame::operator()(Frame* frame) const { frame->pool->release(frame); }

inline void Payload::keep() {
    ASSERT(copy == nullptr && users > 0);
    unlink();
    copy = pool->acquire(bytes, size);
    bytes = copy->data();
}

inline void Frame::append() {
    ASSERT(payload != nullptr && length - stored <= payload->size);
    const FrameHandle larger = pool->acquire(length);
    std::memcpy(larger->data(), data(), stored);
    std::memcpy(larger->data() + stored, payload->bytes, length - stored);
    std::swap(buffer, larger->buffer);
    std::swap(size_class, larger->size_class);
    start = kHeadroom;
    stored = length;
    FramePool::drop(std::exchange(payload, nullptr));
}

}  // namespace railyard
