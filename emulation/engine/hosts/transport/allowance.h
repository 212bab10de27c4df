// SPDX-License-Identifier: Apache-2.0
// Allowance of a connection by its congestion control: counts the bytes under way, tells the algorithm of
// every event, and spaces frames by the algorithm's rate.
#pragma once

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
    Allowance(std::unique_ptr<CongestionControl> control, std::int64_t frame_bytes)
        : control_(std::move(control)), frame_bytes_(frame_bytes), limits_(control_->start()) {}

    // True if another frame may leave: its window has room, and its time by the rate has come.
    bool admits() const {
        const bool room =
            limits_.window == 0 || under_way_ == 0 || under_way_ + frame_bytes_ <= limits_.window;
        return room && open_at == kNever;
    }
    // Let time pass: the frame for which open_at was set may leave.
    void open(Time now) {
        if (open_at <= now) open_at = kNever;
    }

    // A frame leaves, for the first time or again.
    void sent(std::uint32_t slot, std::int64_t bytes, Time now, bool again);
    // A frame is acknowledged for the first time; `told` ends the acknowledgement.
    void acknowledged(std::uint32_t slot, bool marked, Time now);
    void told(Time now);
    enum class Cause : std::uint8_t { Gap, Trim, Timeout };
    // A frame is lost; return whether it counted as under way.
    bool lost(std::uint32_t slot);
    void tell_lost(Cause cause, Time now);

    const SendLimits& limits() const { return limits_; }
    Time open_at = kNever;  // time at which the rate admits the next frame; kNever: it does so now

   private:
    std::int64_t end(std::uint32_t slot);

    std::unique_ptr<CongestionControl> control_;
    std::int64_t frame_bytes_, under_way_ = 0;
    SendLimits limits_;
    Time next_ = 0;  // time from which the rate admits a frame
    Acknowledged ack_;
    Time newest_ = -1;
    std::int64_t lost_bytes_ = 0;
    std::array<std::int64_t, kMaxWindow> bytes_{};  // by slot; 0: not under way
    std::array<Time, kMaxWindow> sent_at_{};        // by slot; -1: sent more than once
};

}  // namespace railyard
