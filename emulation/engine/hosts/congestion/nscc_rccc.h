// SPDX-License-Identifier: Apache-2.0
// Both congestion controls of Ultra Ethernet at once: the smaller window of NSCC and RCCC, each of which
// takes every event. tests/oracle/congestion/nscc_rccc.py is the specification.
#pragma once

#include <algorithm>

#include "hosts/congestion/nscc.h"
#include "hosts/congestion/rccc.h"

namespace railyard::hosts {

class NsccRccc final : public CongestionControl {
   public:
    NsccRccc(const CongestionParameters& parameters, const PathFacts& facts)
        : network_(parameters, facts), receiver_(parameters, facts) {}

    SendLimits start() override { return least(network_.start(), receiver_.start()); }
    SendLimits on_ack(const Acknowledged& ack) override {
        return least(network_.on_ack(ack), receiver_.on_ack(ack));
    }
    SendLimits on_nack(const Lost& lost) override {
        return least(network_.on_nack(lost), receiver_.on_nack(lost));
    }
    SendLimits on_trim(const Lost& lost) override {
        return least(network_.on_trim(lost), receiver_.on_trim(lost));
    }
    SendLimits on_timeout(const Lost& lost) override {
        return least(network_.on_timeout(lost), receiver_.on_timeout(lost));
    }
    SendLimits on_credit(Time now, Bytes bytes) override {
        return least(network_.on_credit(now, bytes), receiver_.on_credit(now, bytes));
    }

   private:
    static SendLimits least(const SendLimits& a, const SendLimits& b) {
        return {.window = std::min(a.window, b.window)};
    }

    Nscc network_;
    Rccc receiver_;
};

}  // namespace railyard::hosts
