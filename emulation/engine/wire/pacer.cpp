// SPDX-License-Identifier: Apache-2.0
#include "wire/pacer.h"

#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <system_error>
#include <utility>

#include "index.h"

namespace railyard::wire {

namespace {

constexpr std::size_t kMessagesAtOnce = 32;
// Time to the next attempt after the kernel had no room.
constexpr Nanoseconds kAgain = std::chrono::microseconds(500);
constexpr int kGrains = 16;               // a frame may be late by 1/kGrains of its slot
constexpr std::size_t kFetchedLines = 8;  // lines of a payload to prefetch; the processor prefetches the rest

bool is_response(Vl vl) { return vl == Vl(2) || vl == Vl(3); }

}  // namespace

void Pacer::add(frames::FrameHandle frame, Vl vl, Nanoseconds now, Nanoseconds since) {
    Nanoseconds lag{};
    if (!waits()) {
        lag = std::max(Nanoseconds(0), now - std::max(slot(), since));
        begun_ = now;
        slot_ = std::max(slot_, static_cast<double>(now.count()));
    }
    (is_response(vl) ? responses_ : data_).push_back({std::move(frame), now, lag});
}

void Pacer::clear(Nanoseconds now) {
    stop(now);
    responses_.clear();
    data_.clear();
}

void Pacer::stop(Nanoseconds now) {
    if (waits()) pace_.offered += static_cast<double>((now - begun_).count()) / ns_per_byte_;
    begun_ = Nanoseconds(-1);
}

Nanoseconds Pacer::due() const { return waits() ? std::max(slot(), again_) : kNoTime; }

Nanoseconds Pacer::wake(Nanoseconds rest) const {
    if (!waits()) return kNoTime;
    const frames::Frame& first = *(responses_.empty() ? data_[0] : responses_[0]).frame;
    // Round to powers of two, so that the times of hosts with frames of other sizes coincide, too.
    const auto part = static_cast<std::uint64_t>(slot_length(first) / kGrains);
    const auto grain = std::max(rest, Nanoseconds(std::max<std::uint64_t>(1, std::bit_floor(part))));
    return (due() + grain - Nanoseconds(1)) / grain * grain;
}

void Pacer::prefetch(unsigned stage) const {
    if (stage == 0) return fetch_lines(this, (sizeof *this + 63) / 64);
    if (!waits()) return;
    const Waiting& first = responses_.empty() ? data_[0] : responses_[0];
    if (stage == 1) {
        fetch(&first);
        fetch(pace_.late.data() + pace_.late.size());
        fetch(pace_.waited.data() + pace_.waited.size());
    } else if (stage == 2) {
        fetch(first.frame.get());
    } else if (stage == 3) {
        fetch(first.frame->data());
        if (first.frame->payload != nullptr) fetch(first.frame->payload);
    } else if (first.frame->stored < first.frame->length) {
        fetch_lines(first.frame->payload->bytes, kFetchedLines);
    }
}

void Pacer::send(int fd, Nanoseconds now) {
    mmsghdr messages[kMessagesAtOnce];
    iovec pieces[kMessagesAtOnce][2];
    while (due() <= now) {
        const std::size_t most = std::min(kMessagesAtOnce, responses_.size() + data_.size());
        double slot = slot_;
        std::size_t count = 0;
        for (; count < most && static_cast<std::int64_t>(slot) <= now.count(); ++count) {  // as due() rounds
            frames::Frame& frame = *at(count).frame;
            pieces[count][0] = {frame.data(), frame.stored};
            const bool whole = frame.stored == frame.length;
            // sendmmsg() only reads, but an iovec has no pointer to const.
            if (!whole)
                pieces[count][1] = {const_cast<std::uint8_t*>(frame.payload->bytes),  // NOLINT(*-const-cast)
                                    frame.length - frame.stored};
            messages[count] = {};
            messages[count].msg_hdr.msg_iov = pieces[count];
            messages[count].msg_hdr.msg_iovlen = whole ? 1 : 2;
            slot += slot_length(frame);
        }
        const int done = sendmmsg(fd, messages, static_cast<unsigned>(count), MSG_DONTWAIT);
        if (done > 0) {
            sent(static_cast<std::size_t>(done), now);
            continue;
        }
        if (errno == EINTR) continue;
        if (errno != ENOBUFS && errno != EAGAIN)
            throw std::system_error(errno, std::generic_category(), "sending a frame");
        // The kernel has not taken the frame, which stays first in the queue.
        ++pace_.refused;
        again_ = now + kAgain;
    }
}

void Pacer::sent(std::size_t count, Nanoseconds now) {
    for (std::size_t i = 0; i < count; ++i) {
        const Waiting first = (responses_.empty() ? data_ : responses_).pop_front();
        pace_.late.push_back((first.lag + now - std::max(slot(), first.since)).count());
        pace_.waited.push_back((now - first.since).count());
        pace_.sent += first.frame->size();
        slot_ += slot_length(*first.frame);
    }
    if (empty()) stop(std::max(now, slot()));
}

}  // namespace railyard::wire
