// SPDX-License-Identifier: Apache-2.0
// Frames, and pools of them, so that forwarding a frame allocates nothing.
#pragma once

#include <cassert>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "index.h"

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

struct Frame {
    static constexpr std::uint32_t kHeadroom = 128;
    static constexpr std::uint32_t kTailroom = 8;  // behind a frame, so that the word of its last byte exists

    std::uint32_t start = 0, length = 0;
    std::size_t size_class = 0;
    Held held;
    std::uint8_t vl = 0;
    bool pending = false;             // egress has not run yet; it continues with `phv`
    std::uint32_t enqueue_depth = 0;  // frames in its queue when it was enqueued, at time `enqueued`
    Time enqueued = 0;
    std::unique_ptr<std::uint8_t[]> buffer;
    std::unique_ptr<Phv> phv;  // stays with the frame in the pool
    FramePool* pool = nullptr;

    std::uint8_t* data() { return buffer.get() + start; }
    const std::uint8_t* data() const { return buffer.get() + start; }
    std::string_view view() const { return {reinterpret_cast<const char*>(data()), length}; }
};

struct ReleaseFrame {
    void operator()(Frame* frame) const;
};
// Owns a frame, which goes back to its pool with the handle.
using FrameHandle = std::unique_ptr<Frame, ReleaseFrame>;

// Frames for reuse, by the size of their buffers. A pool outlives every handle that it returns.
class FramePool {
   public:
    FramePool() = default;
    FramePool(const FramePool&) = delete;
    FramePool& operator=(const FramePool&) = delete;
    ~FramePool() { assert(idle() == owned_.size()); }

    // Return a frame of `length` bytes whose content is undefined.
    FrameHandle acquire(std::size_t length) {
        const std::size_t size_class = (length + Frame::kHeadroom + Frame::kTailroom + kStep - 1) / kStep;
        if (size_class >= free_.size()) free_.resize(size_class + 1);
        auto& free = free_[size_class];
        Frame* frame = nullptr;
        if (free.empty()) {
            owned_.push_back(std::make_unique<Frame>());
            frame = owned_.back().get();
            frame->pool = this;
            frame->size_class = size_class;
            frame->buffer = std::make_unique_for_overwrite<std::uint8_t[]>(size_class * kStep);
        } else {
            frame = free.back();
            free.pop_back();
        }
        frame->start = Frame::kHeadroom;
        frame->length = static_cast<std::uint32_t>(length);
        frame->held = {};
        frame->vl = 0;
        frame->pending = false;
        return FrameHandle(frame);
    }
    FrameHandle acquire(const void* bytes, std::size_t length) {
        FrameHandle frame = acquire(length);
        if (length > 0) std::memcpy(frame->data(), bytes, length);  // the address of 0 bytes may be null
        return frame;
    }

   private:
    friend struct ReleaseFrame;
    void release(Frame* frame) { free_[frame->size_class].push_back(frame); }
    std::size_t idle() const {
        std::size_t count = 0;
        for (const auto& free : free_) count += free.size();
        return count;
    }

    // Buffers are multiples of this: fine enough to waste little, coarse enough that few sizes are in use.
    static constexpr std::size_t kStep = 256;
    std::vector<std::vector<Frame*>> free_;
    std::vector<std::unique_ptr<Frame>> owned_;
};

inline void ReleaseFrame::operator()(Frame* frame) const { frame->pool->release(frame); }

}  // namespace railyard
