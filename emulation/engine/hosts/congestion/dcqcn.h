// SPDX-License-Identifier: Apache-2.0
// DCQCN: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, figures 7 and 8. A
// timer takes effect at the next event of the connection. tests/oracle/congestion/dcqcn.py is the
// specification.
#pragma once

#include "hosts/congestion/control.h"

namespace railyard::hosts {

class Dcqcn final : public CongestionControl {
   public:
    Dcqcn(const CongestionParameters& parameters, const PathFacts& facts);

    SendLimits start() override { return limits(); }
    SendLimits on_ack(const Acknowledged& ack) override;
    SendLimits on_nack(const Lost& lost) override { return notified(lost.now); }
    SendLimits on_trim(const Lost& lost) override { return notified(lost.now); }
    SendLimits on_timeout(const Lost& lost) override { return notified(lost.now); }
    SendLimits on_credit(Time, Bytes) override { return limits(); }

   private:
    [[nodiscard]] SendLimits limits() const { return {Bytes(), Rate(rate_)}; }
    SendLimits notified(Time now);
    void advance(Time now);
    void increase();

    double gain_, additive_, hyper_, least_, line_;
    double alpha_ = 1, rate_, target_;
    Time interval_, alpha_period_, period_;
    double counter_, bytes_ = 0;
    int recovery_, by_time_ = 0, by_bytes_ = 0;
    Time notified_at_ = kUnset, alpha_at_{}, timer_at_{};
};

}  // namespace railyard::hosts
