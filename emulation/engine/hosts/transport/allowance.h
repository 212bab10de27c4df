// SPDX-License-Identifier: Apache-2.0
// Link between a connection and its congestion control: counts the bytes in flight, passes every event to the
// algorithm, and admits frames by the algorithm's window and rate.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "hosts/application.h"
#include "hosts/congestion/control.h"
#include "hosts/messages/codec.h"

namespace railyard::hosts {

class Allowance {
   public:
    // `patience`: with credits, time without a grant after which a frame may leave to ask for credit again.
    // kNever: no credits. `slots`: number of frames that may be in flight.
    Allowance(std::unique_ptr<CongestionControl> control, Bytes frame_bytes, Time patience,
              std::uint32_t slots)
        : control_(std::move(control)),
          frame_bytes_(frame_bytes),
          patience_(patience),
          limits_(control_->start()),
          bytes_(slots),
          sent_at_(slots) {}

    // Return true if another frame may leave: the window has room, and the rate admits a frame now.
    // `backlog`: bytes that are ready to be sent.
    // If no frame is in flight, a frame may exceed the window. With credits, that frame must ask for more
    // credit than earlier frames did, or `patience` must have passed without a grant.
    [[nodiscard]] bool admits(Bytes backlog) const {
        const bool alone =
            under_way_ == Bytes() && (patience_ == kNever || overdue_ || asks(backlog) > asked_);
        return (alone || !exceeds()) && open_at == kNever;
    }
    // Return the time at which `open` must be called.
    [[nodiscard]] Time due() const { return std::min(open_at, ask_at_); }
    // Lift the limits that end by `now`: the wait until the rate admits the next frame, and the wait before a
    // frame may ask again for credit.
    void open(Time now) {
        if (open_at <= now) open_at = kNever;
        if (ask_at_ <= now) {
            ask_at_ = kNever;
            overdue_ = true;
        }
    }

    // Note that a frame leaves; `again`: the frame is retransmitted.
    void sent(std::uint32_t slot, Bytes bytes, Time now, bool again);
    // Note a frame that an acknowledgement names for the first time. After all frames of the acknowledgement,
    // `told` passes their sum to the algorithm.
    void acknowledged(std::uint32_t slot, bool marked, Time now);
    void told(Time now);
    // Note that the receiver grants `bytes` more.
    void granted(Bytes bytes, Time now);
    // Note that a frame asks for credit; return the cumulative bytes for which it asks.
    Bytes ask(Bytes backlog) { return asked_ = std::max(asked_, asks(backlog)); }
    // Return true if the window has no room for a frame.
    [[nodiscard]] bool exceeds() const {
        return limits_.window != Bytes() && under_way_ + frame_bytes_ > limits_.window;
    }
    enum class Cause : std::uint8_t { Gap, Trim, Timeout };
    // Note that a frame is lost; return whether the frame counted as in flight. After all lost frames,
    // `tell_lost` passes their sum to the algorithm.
    bool lost(std::uint32_t slot);
    void tell_lost(Cause cause, Time now);

    [[nodiscard]] const SendLimits& limits() const { return limits_; }
    Time open_at = kNever;  // time at which the rate admits the next frame; kNever: it admits a frame now

   private:
    Bytes end(std::uint32_t slot);
    // Return the cumulative credit that the connection needs, in bytes: for new frames, for lost frames of
    // which the receiver knows nothing, and for ready bytes. The ready bytes count up to a quarter of the PSN
    // space, so that 24 bits in a frame tell the total.
    [[nodiscard]] Bytes asks(Bytes backlog) const {
        return first_ + unseen_ + std::min(backlog, Bytes(kHalf / 2));
    }
    void await_credit(Time now);

    std::unique_ptr<CongestionControl> control_;
    Bytes frame_bytes_, under_way_;
    Time patience_;
    Time ask_at_ = kNever;  // time at which a frame may ask again for credit
    bool overdue_ = false;  // ask_at_ has passed without a grant
    Bytes asked_;           // cumulative bytes for which frames have asked
    SendLimits limits_;
    Time next_{};       // time from which the rate admits a frame
    Acknowledged ack_;  // sum over the frames of the present acknowledgement
    Time newest_ =
        kUnset;  // time at which the newest of these frames was sent; kUnset: none was sent only once
    // Bytes: lost and not yet passed to the algorithm; of all new frames; of all lost frames of which the
    // receiver knows nothing.
    Bytes lost_bytes_, first_, unseen_;
    std::vector<Bytes> bytes_;   // by slot; 0: no frame in flight
    std::vector<Time> sent_at_;  // by slot; kUnset: sent more than once
};

}  // namespace railyard::hosts
