// SPDX-License-Identifier: Apache-2.0
// Swift: Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter",
// SIGCOMM 2020, algorithm 1. tests/oracle/congestion/swift.py is the specification.
#pragma once

#include "hosts/congestion/control.h"

namespace railyard::hosts {

class Swift final : public CongestionControl {
   public:
    Swift(const CongestionParameters& parameters, const PathFacts& facts);

    SendLimits start() override { return limits(); }
    SendLimits on_ack(const Acknowledged& ack) override;
    SendLimits on_nack(const Lost& lost) override { return decrease(lost.now); }
    SendLimits on_trim(const Lost& lost) override { return decrease(lost.now); }
    SendLimits on_timeout(const Lost& lost) override { return decrease(lost.now); }
    SendLimits on_credit(Time, Bytes) override { return limits(); }

   private:
    [[nodiscard]] SendLimits limits() const;
    SendLimits decrease(Time now);
    [[nodiscard]] double target() const;
    [[nodiscard]] bool may_decrease(Time now) const {
        return static_cast<double>(now - decreased_at_) >= rtt_;
    }
    void bound();

    double increase_, beta_, most_;  // frames a round trip; factor of decrease; largest decrease
    double least_, largest_;         // frames
    double base_target_, range_, frame_;
    double window_, rtt_;  // frames, ps
    Time decreased_at_{};
};

}  // namespace railyard::hosts
