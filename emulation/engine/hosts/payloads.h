// SPDX-License-Identifier: Apache-2.0
// An NPU's array, and the payloads of its frames that are not acknowledged yet. A payload is a reference to
// the array until the array changes; only then is it copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "frames/frame.h"
#include "hosts/codec.h"

namespace railyard {

using Bytes = std::vector<std::uint8_t>;

// A frame that may have to be sent again.
struct Sent {
    Message message;
    std::uint32_t slice = 0, start = 0;  // of the payload in the array
    std::uint8_t lb = 0;
    Time sent_at = 0;
    // Of a sender that knows its paths: place in the order of transmissions, and how often it was sent again.
    std::int64_t order = 0;
    std::uint32_t resent = 0;
    // Owned by Payloads.
    FrameHandle copy;                           // of the payload, once the array has changed
    Sent *previous = nullptr, *next = nullptr;  // frames of the same slice
    bool referring = false;
};

class Payloads {
   public:
    Payloads(std::shared_ptr<Bytes> array, std::size_t slices) : array_(std::move(array)), first_(slices) {}

    std::uint8_t* array() { return array_->data(); }
    const std::shared_ptr<Bytes>& shared() const { return array_; }

    const std::uint8_t* of(const Sent& sent) const {
        return sent.copy ? sent.copy->data() : array_->data() + sent.start;
    }
    void refer(Sent& sent) {
        sent.previous = nullptr;
        sent.next = first_[sent.slice];
        if (sent.next != nullptr) sent.next->previous = &sent;
        first_[sent.slice] = &sent;
        sent.referring = true;
    }
    // The frame is acknowledged.
    void drop(Sent& sent) {
        sent.copy.reset();
        if (!std::exchange(sent.referring, false)) return;
        if (sent.next != nullptr) sent.next->previous = sent.previous;
        if (sent.previous != nullptr) sent.previous->next = sent.next;
        else first_[sent.slice] = sent.next;
    }
    // Copy the payloads that refer to a slice, which is about to change.
    void keep(std::uint32_t slice, FramePool& pool) {
        for (Sent* sent = std::exchange(first_[slice], nullptr); sent != nullptr; sent = sent->next) {
            sent->copy = pool.acquire(array_->data() + sent->start, sent->message.size);
            sent->referring = false;
        }
    }

   private:
    std::shared_ptr<Bytes> array_;
    std::vector<Sent*> first_;  // by slice
};

}  // namespace railyard
