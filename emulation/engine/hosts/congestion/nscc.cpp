// SPDX-License-Identifier: Apache-2.0
#include "hosts/congestion/nscc.h"

#include <algorithm>

namespace railyard::hosts {

namespace {

// The specification's constants hold for a network of 100 Gbit/s with a round trip of 12 us.
constexpr double kReferenceRtt = 12e6, kReferenceBytes = 150'000;
constexpr double kIdleDelay = 1e6;   // ps; shorter queueing delays count as none
constexpr double kLargest = 1.5;     // largest window, in bandwidth-delay products
constexpr double kSettleFrames = 8;  // frames' worth of acknowledged bytes after which an increase is applied

}  // namespace

Nscc::Nscc(const CongestionParameters& parameters, const PathFacts& facts)
    : gamma_(parameters.at("gamma")),
      gain_(parameters.at("gain")),
      gate_(parameters.at("gate")),
      rate_(static_cast<double>(facts.rate)),
      frame_(static_cast<double>(facts.frame_bytes)),
      network_rtt_(static_cast<double>(facts.base_rtt)) {
    const double target = parameters.at("target_us") * 1e6;
    target_ = target > 0 ? target : facts.trims ? network_rtt_ * 0.75 : network_rtt_;
    scale_ = network_rtt_ * rate_ / kBitPs / kReferenceBytes;
    set_base(facts.base_rtt);
    const double start = parameters.at("start_frames") * frame_;
    window_ = start > 0 ? std::min(start, largest_) : largest_;
}

void Nscc::set_base(Time rtt) {
    base_ = static_cast<double>(rtt);
    largest_ = std::max(kLargest * (base_ * rate_ / kBitPs), frame_);
}

SendLimits Nscc::on_ack(const Acknowledged& ack) {
    const auto bytes = static_cast<double>(ack.bytes);
    const bool marked = ack.marked > Bytes() && 2 * ack.marked >= ack.bytes;
    achieved_ += bytes;
    since_settled_ += bytes;
    ignored_ += bytes;
    double delay = mean_delay_;
    if (ack.rtt > Time()) {
        if (static_cast<double>(ack.rtt) < base_) set_base(ack.rtt);
        delay = static_cast<double>(ack.rtt) - base_;
        average(delay, marked);
    }
    if (adapt(ack.now, false, marked, delay, ack.under_way)) return limits();
    if (!marked) grow(delay, bytes);
    else if (delay >= target_) shrink(ack.now);
    bound();
    if (since_settled_ > kSettleFrames * frame_ || static_cast<double>(ack.now - settled_at_) > network_rtt_)
        settle(ack.now);
    bound();
    return limits();
}

SendLimits Nscc::on_trim(const Lost& lost) {
    const auto bytes = static_cast<double>(lost.bytes);
    ignored_ += bytes;
    average(network_rtt_, true);
    adapt_due_ = true;
    if (!adapt(lost.now, true, true, 0, lost.under_way)) window_ -= bytes;
    bound();
    return limits();
}

// Adds a queueing delay to the mean. A long delay without a mark shows that the queue has drained while the
// frame waited in it, so it counts as a quarter of the round trip.
void Nscc::average(double delay, bool marked) {
    const double sample = !marked && delay > target_ ? 0.25 * base_ : delay;
    mean_delay_ = gain_ * sample + (1 - gain_) * mean_delay_;
}

// Quick adapt: once a round trip, if frames were lost or the delay is long, sets the window to the bytes that
// arrived in that time. Marks and losses have no further effect until the bytes then in flight have been
// acknowledged or lost. Returns true if the caller must not change the window.
bool Nscc::adapt(Time now, bool lost, bool marked, double delay, Bytes under_way) {
    bool done = false;
    if (marked && ignored_ < to_ignore_) {
        done = true;
    } else if (now > adapt_at_) {
        if (adapt_at_ != Time() && (adapt_due_ || lost || delay > 4 * target_) &&
            achieved_ < gate_ * largest_) {
            window_ = std::max(achieved_, frame_);
            to_ignore_ = static_cast<double>(under_way);
            ignored_ = 0;
            adapt_due_ = false;
            done = true;
        }
        achieved_ = 0;
        adapt_at_ = now + static_cast<Time>(base_ + target_);
    }
    if (done) increase_ = since_settled_ = 0;
    return done;
}

// Increases the window without a mark. If the delay reaches the target: fair increase. Below the target:
// increase in proportion to the distance from the target; or fast increase, once a window of bytes was
// acknowledged without delay.
void Nscc::grow(double delay, double bytes) {
    if (delay >= target_) {
        increase_ += 5 * frame_ * scale_ * bytes;
        return;
    }
    quiet_ = delay < kIdleDelay ? quiet_ + bytes : 0;
    fast_ = delay < kIdleDelay && (fast_ || quiet_ > window_);
    if (fast_) window_ += 0.25 * scale_ * bytes;
    else increase_ += 4 * frame_ * scale_ / kReferenceRtt * bytes * (target_ - delay);
}

// Decreases the window by the excess of the mean delay over the target, once a round trip at most.
void Nscc::shrink(Time now) {
    fast_ = false;
    quiet_ = 0;
    if (mean_delay_ <= target_ || static_cast<double>(now - shrunk_at_) <= base_) return;
    window_ *= std::max(1 - gamma_ * (mean_delay_ - target_) / mean_delay_, 0.5);
    shrunk_at_ = now;
}

// Applies the collected increase, and once a round trip a constant increase.
void Nscc::settle(Time now) {
    window_ += increase_ / window_;
    if (static_cast<double>(now - settled_at_) >= network_rtt_) {
        window_ += 0.15 * frame_ * scale_;
        settled_at_ = now;
    }
    increase_ = since_settled_ = 0;
}

void Nscc::bound() { window_ = std::min(std::max(window_, frame_), largest_); }

}  // namespace railyard::hosts
