// SPDX-License-Identifier: Apache-2.0
// Allowance of a connection by its congestion control: counts the bytes under way, tells the algorithm of
// every event, and spaces frames by the algorithm's rate.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "hosts/congestion/control.h"
#include "hosts/messages/codec.h"
#include "network/links/application.h"

namespace railyard {

class Allowance {
   public:
    // `patience`: with credits, time after which a frame without credit asks again; kNever: without credits.
    Allowance(std::unique_ptr<CongestionControl> control, std::int64_t frame_bytes, Time patience)
        : control_(std::move(control)),
          frame_bytes_(frame_bytes),
          patience_(patience),
          limits_(control_->start()) {}

    // True if another frame may leave: its window has room, and its time by the rate has come. A frame always
    // has room if none is under way; with credits, only if it asks for more than earlier frames, or none has
    // been granted for long. `backlog`: bytes that are ready.
    bool admits(std::uint64_t backlog) const {
        const bool alone = under_way_ == 0 && (patience_ == kNever || overdue_ || asks(backlog) > asked_);
        return (alone || !exceeds()) && open_at == kNever;
    }
    // Time at which `open` is due.
    Time due() const { return std::min(open_at, ask_at_); }
    // Let time pass: the frame for which `due` was set may leave.
    void open(Time now) {
        if (open_at <= now) open_at = kNever;
        if (ask_at_ <= now) {
            ask_at_ = kNever;
            overdue_ = true;
        }
    }

    // A frame leaves, for the first time or again.
    void sent(std::uint32_t slot, std::int64_t bytes, Time now, bool again);
    // A frame is acknowledged for the first time; `told` ends the acknowledgement.
    void acknowledged(std::uint32_t slot, bool marked, Time now);
    void told(Time now);
    // The receiver grants so many further bytes.
    void granted(std::int64_t bytes, Time now);
    // Note that a frame asks for credit, and return the bytes that it asks for, in all.
    std::uint64_t ask(std::uint64_t backlog) { return asked_ = std::max(asked_, asks(backlog)); }
    // True if the window has no room for a frame.
    bool exceeds() const { return limits_.window != 0 && under_way_ + frame_bytes_ > limits_.window; }
    enum class Cause : std::uint8_t { Gap, Trim, Timeout };
    // A frame is lost; return whether it counted as under way.
    bool lost(std::uint32_t slot);
    void tell_lost(Cause cause, Time now);

    const SendLimits& limits() const { return limits_; }
    Time open_at = kNever;  // time at which the rate admits the next frame; kNever: it does so now

   private:
    std::int64_t end(std::uint32_t slot);
    // Credit that the connection needs: for bytes sent the first time, for bytes lost unknown to the
    // receiver, and for ready bytes, so few of them that the low bits of a frame's field tell how many.
    std::uint64_t asks(std::uint64_t backlog) const {
        return static_cast<std::uint64_t>(first_ + unseen_) + std::min<std::uint64_t>(backlog, kHalf / 2);
    }
    void await_credit(Time now);

    std::unique_ptr<CongestionControl> control_;
    std::int64_t frame_bytes_, under_way_ = 0;
    Time patience_;
    Time ask_at_ = kNever;     // time at which a frame may ask again for credit
    bool overdue_ = false;     // no credit has come until ask_at_
    std::uint64_t asked_ = 0;  // bytes
    SendLimits limits_;
    Time next_ = 0;  // time from which the rate admits a frame
    Acknowledged ack_;
    Time newest_ = -1;
    std::int64_t lost_bytes_ = 0, first_ = 0, unseen_ = 0;
    std::array<std::int64_t, kMaxWindow> bytes_{};  // by slot; 0: not under way
    std::array<Time, kMaxWindow> sent_at_{};        // by slot; -1: sent more than once
};

}  // namespace railyard
