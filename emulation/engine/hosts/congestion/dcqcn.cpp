// SPDX-License-Identifier: Apache-2.0
#include "hosts/congestion/dcqcn.h"

#include <algorithm>

namespace railyard::hosts {

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
    return ack.marked > Bytes() ? notified(ack.now) : limits();
}

// Takes a congestion notification; only the first in each interval has an effect.
SendLimits Dcqcn::notified(Time now) {
    advance(now);
    if (notified_at_ >= Time() && now - notified_at_ < interval_) return limits();
    notified_at_ = alpha_at_ = timer_at_ = now;
    target_ = rate_;
    rate_ = std::max(rate_ * (1 - alpha_ / 2), least_);
    alpha_ = (1 - gain_) * alpha_ + gain_;
    by_time_ = by_bytes_ = 0;
    bytes_ = 0;
    return limits();
}

// Runs the timers of alpha and of the rate increase up to `now`.
void Dcqcn::advance(Time now) {
    if (notified_at_ < Time()) return;  // still at line rate
    for (; now - alpha_at_ >= alpha_period_; alpha_at_ += alpha_period_) alpha_ *= 1 - gain_;
    for (; now - timer_at_ >= period_; timer_at_ += period_) {
        ++by_time_;
        increase();
    }
}

// Increases the rate. The target stays (fast recovery) until the timer count or the byte count exceeds
// recovery_; then it grows by additive_ (additive increase), or by hyper_ once both exceed recovery_ (hyper
// increase).
void Dcqcn::increase() {
    if (std::min(by_time_, by_bytes_) > recovery_) target_ = std::min(target_ + hyper_, line_);
    else if (std::max(by_time_, by_bytes_) > recovery_) target_ = std::min(target_ + additive_, line_);
    rate_ = (target_ + rate_) / 2;
}

}  // namespace railyard::hosts
