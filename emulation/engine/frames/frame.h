// SPDX-License-Identifier: Apache-2.0
// Frames and their pools, so that forwarding a frame allocates nothing.
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
#include "units.h"

namespace railyard::network {

class Channel;
struct Share;

}  // namespace railyard::network

namespace railyard::frames {

// Receive buffer of a channel that a frame occupies until it has left the switch.
struct Held {
    Index<network::Channel> channel;  // none: the frame occupies no buffer
    FrameBytes bytes{};
    Index<network::Share> share;  // shared by the frame's copies; none: the frame has no copies
    Lane lane;
};

// Work that a frame and all its copies may still cause in a switch. It stops programs and entries that would
// keep the switch busy endlessly. Copies that wait in queues divide the remaining budget.
struct Budget {
    std::uint32_t passes = 1000;     // further passes: resubmission, recirculation, cloning by egress
    std::uint32_t copies = 1 << 16;  // copies by multicast groups and clone sessions
    std::uint32_t rounds = 1 << 20;  // rounds of loops, and parser states
};

// Packet header vector: results of parser and ingress, stored while the frame waits for its egress.
struct Phv {
    std::vector<std::uint64_t> slots;
    std::uint64_t epoch = 0;  // SwitchState::epoch when the slots were saved
    std::uint32_t parsed = 0;
    std::uint64_t ingress_length = 0, length = 0;
    std::uint32_t truncate = 0;
    Budget left;
    std::uint32_t enqueue_depth = 0;  // frames in the queue at time `enqueued`
    Time enqueued{};
};

// Load and store 64-bit words in network byte order.
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
// Owns a frame; its destruction returns the frame to its pool.
using FrameHandle = std::unique_ptr<Frame, ReleaseFrame>;

// Payload bytes outside of frame buffers: part of the sender's array, or a copy of that part once the array
// changes. The sender and all frames that carry the bytes share a Payload, with a count of users.
struct alignas(64) Payload {  // a cache line
    const std::uint8_t* bytes = nullptr;
    std::uint32_t size = 0, users = 0;
    FrameHandle copy;
    // Links of the list of payloads that refer to a slice of an array; `first` points to the list's head.
    // Null `first`: this payload is in no list, since `copy` has the bytes.
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
    // Copy the bytes, since the array is about to change.
    void keep();
};

struct alignas(64) Frame {  // a cache line
    // Room before a frame for added headers. With a header of up to 56 bytes and the 8 bytes of a source
    // route before it, a frame's headers lie in a single cache line.
    static constexpr std::uint32_t kHeadroom = 72;
    static constexpr std::uint32_t kTailroom = 8;  // after a frame, so that 64-bit loads of its end are valid

    // The frame begins at buffer + start. Of its `length` bytes, `stored` are in the buffer; the rest is the
    // beginning of the payload.
    std::uint32_t start = 0, length = 0, stored = 0;
    std::uint16_t size_class = 0;
    // Number of the priority that a switch has given the frame, or on a channel of the lane. See priority().
    std::uint8_t level = 0;
    bool pending : 1 = false;     // waits for its egress pass, with the state in `phv`
    bool controlled : 1 = false;  // sent by the control plane, or a copy of such a frame
    bool lost : 1 = false;        // lost on the wire: dropped at arrival
    bool idle : 1 = false;        // is in its pool; maintained only in builds with assertions
    Held held;
    std::uint8_t* buffer = nullptr;
    Payload* payload = nullptr;
    FramePool* pool = nullptr;
    std::unique_ptr<Phv> phv;  // of a frame whose processing continues later; from `pool`

    // Return the length as traffic: what a queue, a credit or a rate counts.
    [[nodiscard]] FrameBytes size() const { return FrameBytes(length); }
    std::uint8_t* data() { return buffer + start; }
    [[nodiscard]] const std::uint8_t* data() const { return buffer + start; }
    // A frame that leaves a switch has a priority; a frame that enters a channel, a lane.
    [[nodiscard]] Priority priority() const { return Priority(level); }
    void set_priority(Priority priority) { level = priority.value(); }
    [[nodiscard]] Lane lane() const { return Lane(level); }
    void set_lane(Lane lane) { level = lane.value(); }
    [[nodiscard]] std::uint8_t byte(std::uint32_t at) const {
        ASSERT(at < length && (at < stored || payload != nullptr));
        return at < stored ? data()[at] : payload->bytes[at - stored];
    }
    void truncate(std::uint32_t most) {
        length = std::min(length, most);
        stored = std::min(stored, length);
    }
    // Copy the payload into the buffer, so that it has all bytes.
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

// Pool of frames, by the size of their buffers, and of payloads. It must outlive all its handles.
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

    // Return a frame of `length` uninitialised bytes.
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
        frame->level = 0;
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
    // Return memory for the state of a frame. What was given back last comes first: most frames find an empty
    // queue, so that a few states serve all of them and stay in the cache.
    std::unique_ptr<Phv> acquire_state() {
        if (free_states_.empty()) return std::make_unique<Phv>();
        std::unique_ptr<Phv> state = std::move(free_states_.back());
        free_states_.pop_back();
        return state;
    }
    void release_state(std::unique_ptr<Phv> state) { free_states_.push_back(std::move(state)); }
    // Mark a frame as sent by the control plane.
    void mark(Frame& frame) {
        controlled_ += !frame.controlled;
        frame.controlled = true;
    }
    // Number of marked frames in use. If pools exchange frames, only the sum over the pools is meaningful.
    [[nodiscard]] std::int64_t controlled() const { return controlled_; }
    // Take over a frame from another pool, which must live as long as this pool.
    void adopt(Frame& frame) {
        ASSERT(!frame.idle && frame.payload == nullptr);  // the payload may be of another partition's array
        frame.pool = this;
    }
    bool exchanges = false;  // frames move between this pool and other pools
    // Append the beginning of a payload to a frame, so that it has `length` bytes.
    static void carry(Frame& frame, Payload& payload, std::uint32_t length) {
        ASSERT(frame.payload == nullptr && payload.users > 0);
        ASSERT(length >= frame.stored && length - frame.stored <= payload.size);
        frame.payload = &payload;
        frame.length = length;
        ++payload.users;
    }
    // Return a payload with one user: the caller, who has to drop() it.
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
        ASSERT((frame->idle = true, true));
        if (frame->payload != nullptr) drop(std::exchange(frame->payload, nullptr));
        if (frame->phv != nullptr) release_state(std::move(frame->phv));
        controlled_ -= frame->controlled;
        if (frame->size_class >= free_.size()) [[unlikely]]
            free_.resize(frame->size_class + 1);  // the frame was adopted from another pool
        free_[frame->size_class].push_back(frame);
    }
    // Create a frame with its buffer next to it in memory, which saves cache misses.
    Frame* create(std::size_t size_class) {
        void* const memory = allocate(sizeof(Frame) + size_class * kStep);
        frames_.push_back(new (memory) Frame);
        Frame* const frame = frames_.back();
        frame->pool = this;
        frame->size_class = static_cast<std::uint16_t>(size_class);
        frame->buffer = static_cast<std::uint8_t*>(memory) + sizeof(Frame);
        return frame;
    }
    // Allocate from a block shared by many frames; each new block is larger than the one before.
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
    [[nodiscard]] std::size_t idle() const {
        std::size_t count = 0;
        for (const auto& free : free_) count += free.size();
        return count;
    }

    // Sizes of buffers are multiples of a cache line, or of four for large buffers: fine enough to waste
    // little memory, coarse enough to have few size classes.
    static constexpr std::size_t kStep = 64, kLargeStep = 256;
    static std::size_t class_of(std::size_t bytes) {
        const std::size_t step = bytes <= kLargeStep ? kStep : kLargeStep;
        const std::size_t size_class = (bytes + step - 1) / step * (step / kStep);
        if (size_class > 0xFFFF)
            throw std::length_error("a frame cannot have " + std::to_string(bytes) + " bytes");
        return size_class;
    }
#ifdef __SANITIZE_ADDRESS__
    static constexpr bool kSeparate = true;  // a block per frame, so that the sanitizer checks its bounds
#else
    static constexpr bool kSeparate = false;
#endif
    std::int64_t controlled_ = 0;
    std::vector<std::vector<Frame*>> free_;
    std::vector<Frame*> frames_;
    std::vector<std::pair<void*, std::size_t>> blocks_;  // addresses and sizes
    std::size_t room_ = 0,
                next_block_ = kSeparate ? 0 : 16 * kPageBytes;  // bytes left; size of the next block
    std::uint8_t* rest_ = nullptr;                              // free part of the last block
    std::vector<Payload*> free_payloads_;
    std::vector<Payload*> payloads_;
    std::vector<std::unique_ptr<Phv>> free_states_;
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

}  // namespace railyard::frames
