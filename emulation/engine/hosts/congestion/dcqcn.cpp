// SPDX-License-Identifier: Apache-2.0
#include "hosts/congestion/dcqcn.h"

#include <algorithm>

namespace railyard {

namespace {

Time microseconds(double value) { return static_cast<Time>(value * 1e6); }

}  // namespace

Dcqcn::Dcqcn(const CongestionParameters& parameters, const PathFacts& facts)
    : gain_(parameters.at("gain")),
      additive_(parameters.at("additive_mbps") * 1e6),
      hyper_(parameters.at("hyper_mbps") * 1e6),
      least_(parameters.at("least_mbps") * 1e6),
      line_(static_cast<double>(facts.rate)),
      rate_(line_),
      target_(line_),
      interval_(microseconds(parameters.at("interval_us"))),
      alpha_period_(microseconds(parameters.at("alpha_us"))),
      period_(microseconds(parameters.at("timer_us"))),
      counter_(parameters.at("counter_bytes")),
      recovery_(static_cast<int>(parameters.at("recovery"))) {}

SendLimits Dcqcn::on_ack(const Acknowledged& ack) {
    advance(ack.now);
    bytes_ += static_cast<double>(ack.bytes);
    while (bytes_ >= counter_) {
        bytes_ -= counter_;
        ++by_bytes_;
        increase();
    }
    return ack.marked > 0 ? notified(ack.now) : limits();
}

// A congestion notification; the receiver sends one an interval at most.
SendLimits Dcqcn::notified(Time now) {
    advance(now);
    if (notified_at_ >= 0 && now - notified_at_ < interval_) return limits();
    notified_at_ = alpha_at_ = timer_at_ = now;
    target_ = rate_;
    rate_ = std::max(rate_ * (1 - alpha_ / 2), least_);
    alpha_ = (1 - gain_) * alpha_ + gain_;
    by_time_ = by_bytes_ = 0;
    bytes_ = 0;
    return limits();
}

void Dcqcn::advance(Time now) {
    if (notified_at_ < 0) return;  // at line rate
    for (; now - alpha_at_ >= alpha_period_; alpha_at_ += alpha_period_) alpha_ *= 1 - gain_;
    for (; now - timer_at_ >= period_; timer_at_ += period_) {
        ++by_time_;
        increase();
    }
}

// Fast recovery, then additive increase, then hyper increase once both counters are past the recovery.
void Dcqcn::increase() {
    if (std::min(by_time_, by_bytes_) > recovery_) target_ = std::min(target_ + hyper_, line_);
    else if (std::max(by_time_, by_bytes_) > recovery_) target_ = std::min(target_ + additive_, line_);
    rate_ = (target_ + rate_) / 2;
}

}  // namespace railyard
