// SPDX-License-Identifier: Apache-2.0
// Sending end of receiver credit congestion control of Ultra Ethernet: Specification 1.0, section 3.6.14. The
// receiving end is hosts/transport/credits.h. tests/oracle/congestion/rccc.py is the specification.
#pragma once

#include "hosts/congestion/control.h"

namespace railyard::hosts {

class Rccc final : public CongestionControl {
   public:
    Rccc(const CongestionParameters& parameters, const PathFacts& facts);

    SendLimits start() override { return limits(); }
    SendLimits on_ack(const Acknowledged& ack) override { return spend(ack.bytes); }
    SendLimits on_nack(const Lost& lost) override { return spend(lost.bytes); }
    SendLimits on_trim(const Lost& lost) override { return spend(lost.bytes); }
    SendLimits on_timeout(const Lost& lost) override { return spend(lost.bytes); }
    SendLimits on_credit(Time, Bytes bytes) override { return spend(-bytes); }

   private:
    // window_: bytes granted, less bytes acknowledged or lost. It limits the bytes in flight, so that no more
    // bytes are ever sent than granted. At least 1, since 0 means no limit.
    [[nodiscard]] SendLimits limits() const { return {.window = std::max(window_, Bytes(1))}; }
    SendLimits spend(Bytes bytes) {
        window_ -= bytes;
        return limits();
    }

    Bytes window_;
};

}  // namespace railyard::hosts
