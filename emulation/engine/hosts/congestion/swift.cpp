// SPDX-License-Identifier: Apache-2.0
#include "hosts/congestion/swift.h"

#include <algorithm>
#include <cmath>

namespace railyard::hosts {

namespace {

// Range of windows, in frames, in which the target delay depends on the window (flow scaling).
constexpr double kFewest = 0.1, kMost = 100;

}  // namespace

Swift::Swift(const CongestionParameters& parameters, const PathFacts& facts)
    : increase_(parameters.at("increase_frames")),
      beta_(parameters.at("beta")),
      most_(parameters.at("largest_decrease")),
      least_(parameters.at("least_frames")),
      frame_(static_cast<double>(facts.frame_bytes)) {
    const auto base = static_cast<double>(facts.base_rtt);
    const double target = parameters.at("target_us") * 1e6, range = parameters.at("range_us") * 1e6;
    base_target_ = target > 0 ? target : 1.5 * base;
    range_ = range > 0 ? range : base;
    window_ = largest_ = std::max(1.5 * (base * static_cast<double>(facts.rate) / kBitPs) / frame_, 1.0);
    rtt_ = base;
}

// Returns the target round trip in ps. A small window has a longer target, so that flows converge to equal
// shares of a link.
double Swift::target() const {
    const double slope = range_ / (1 / std::sqrt(kFewest) - 1 / std::sqrt(kMost));
    const double extra = slope / std::sqrt(window_) - slope / std::sqrt(kMost);
    return base_target_ + std::min(std::max(extra, 0.0), range_);
}

SendLimits Swift::on_ack(const Acknowledged& ack) {
    const double frames = static_cast<double>(ack.bytes) / frame_;
    if (ack.rtt > Time()) {
        rtt_ = static_cast<double>(ack.rtt);
        const double goal = target();
        if (rtt_ < goal) {
            window_ += window_ >= 1 ? increase_ * frames / window_ : increase_ * frames;
        } else if (may_decrease(ack.now)) {
            window_ *= std::max(1 - beta_ * (rtt_ - goal) / rtt_, 1 - most_);
            decreased_at_ = ack.now;
        }
    } else if (window_ < 1) {
        // Frames sent again have no round trip. With a window below a frame they may be all that is sent, and
        // the window would keep its size until the last of them.
        window_ += increase_ * frames;
    }
    bound();
    return limits();
}

SendLimits Swift::decrease(Time now) {
    if (may_decrease(now)) {
        window_ *= 1 - most_;
        decreased_at_ = now;
    }
    bound();
    return limits();
}

void Swift::bound() { window_ = std::min(std::max(window_, least_), largest_); }

// Returns the limits. Below a window of a frame, one frame at a time leaves, at the rate of the window.
SendLimits Swift::limits() const {
    if (window_ >= 1) return {.window = static_cast<Bytes>(window_ * frame_)};
    return {static_cast<Bytes>(frame_), static_cast<Rate>(window_ * frame_ * kBitPs / rtt_)};
}

}  // namespace railyard::hosts
