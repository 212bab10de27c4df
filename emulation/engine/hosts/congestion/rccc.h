// SPDX-License-Identifier: Apache-2.0
// Sender of receiver credit congestion control of Ultra Ethernet, as in tests/oracle/congestion/rccc.py.
// Source: Ultra Ethernet Specification 1.0, section 3.6.14. The receiver's side is hosts/transport/credits.h.
#pragma once

#include "hosts/congestion/control.h"

namespace railyard {

class Rccc final : public CongestionControl {
   public:
    Rccc(const CongestionParameters& parameters, const PathFacts& facts);

    SendLimits start() override { return limits(); }
    SendLimits on_ack(const Acknowledged& ack) override { return spend(ack.bytes); }
    SendLimits on_nack(const Lost& lost) override { return spend(lost.bytes); }
    SendLimits on_trim(const Lost& lost) override { return spend(lost.bytes); }
    SendLimits on_timeout(const Lost& lost) override { return spend(lost.bytes); }
    SendLimits on_credit(Time, std::int64_t bytes) override { return spend(-bytes); }

   private:
    // Bytes under way may reach the granted bytes less those acknowledged or lost: then as many bytes have
    // been sent in all as were granted. A window of 0 would be no limit.
    SendLimits limits() const { return {window_ > 1 ? window_ : 1, 0}; }
    SendLimits spend(std::int64_t bytes) {
        window_ -= bytes;
        return limits();
    }

    std::int64_t window_;
};

}  // namespace railyard
