// SPDX-License-Identifier: Apache-2.0
// Network signalled congestion control of Ultra Ethernet: Specification 1.0, section 3.6.13, with the
// constants of the consortium's simulator uet-htsim. tests/oracle/congestion/nscc.py is the specification.
#pragma once

#include "hosts/congestion/control.h"

namespace railyard::hosts {

class Nscc final : public CongestionControl {
   public:
    Nscc(const CongestionParameters& parameters, const PathFacts& facts);

    SendLimits start() override { return limits(); }
    SendLimits on_ack(const Acknowledged& ack) override;
    SendLimits on_nack(const Lost& lost) override { return on_trim(lost); }
    SendLimits on_trim(const Lost& lost) override;
    SendLimits on_timeout(const Lost& lost) override { return on_trim(lost); }
    SendLimits on_credit(Time, Bytes) override { return limits(); }

   private:
    [[nodiscard]] SendLimits limits() const { return {.window = static_cast<Bytes>(window_)}; }
    void set_base(Time rtt);
    void average(double delay, bool marked);
    bool adapt(Time now, bool lost, bool marked, double delay, Bytes under_way);
    void grow(double delay, double bytes);
    void shrink(Time now);
    void settle(Time now);
    void bound();

    double gamma_, gain_, gate_;  // decrease; weight of a sample in the mean; limit of quick adapt
    double rate_, frame_, scale_, target_, network_rtt_;
    double base_ = 0, largest_ = 0, window_ = 0;
    double mean_delay_ = 0;                    // queueing delay, ps
    double increase_ = 0, since_settled_ = 0;  // bytes squared, bytes
    // Bytes. achieved_: arrived in this round trip. ignored_: acknowledged or lost since the last quick
    // adapt. to_ignore_: in flight at the last quick adapt. quiet_: acknowledged in a row without delay.
    double achieved_ = 0, ignored_ = 0, to_ignore_ = 0, quiet_ = 0;
    bool fast_ = false, adapt_due_ = false;
    Time adapt_at_{}, settled_at_{}, shrunk_at_{};
};

}  // namespace railyard::hosts
