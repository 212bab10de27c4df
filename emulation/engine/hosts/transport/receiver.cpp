// SPDX-License-Identifier: Apache-2.0
#include "hosts/transport/receiver.h"

#include <algorithm>
#include <utility>

namespace railyard::hosts {

namespace {

constexpr int kMostRepeats = 4;  // duplicates in a row after which a receiver asks for other paths
// Largest distance in PSNs between two successive arrivals that a single acknowledgement can always report.
constexpr std::uint32_t kMapReach = kMapFrames - kMapStep;

}  // namespace

Receiver::Receiver(const TransportParameters& parameters, const AckWriter& writer, std::uint8_t lb,
                   std::optional<Spray> paths)
    : parameters_(parameters),
      lb_(lb),
      expected_(parameters.first_psn),
      received_(std::max(parameters.window, kMapFrames)),
      newest_(parameters.first_psn),
      writer_(writer),
      paths_(std::move(paths)) {}

Receiver::Accepted Receiver::accept(std::uint32_t psn, std::uint8_t flags, Time now) {
    const std::uint32_t ahead = (psn - expected_) & kPsnMask;
    bool fresh = false;
    if (ahead == 0) {
        const std::uint32_t run = received_.run() + 1;
        received_.shift(run);
        expected_ = (psn + run) & kPsnMask;
        fresh = true;
    } else if (ahead <= std::max(parameters_.window, kMapFrames)) {
        if (parameters_.go_back) return Accepted::Early;
        fresh = !received_.has(ahead - 1);
        received_.add(ahead - 1);
    } else if (ahead < kHalf) {
        return Accepted::Beyond;
    }
    if (fresh) {
        repeated_ = 0;
    } else {
        // The sender has not received an acknowledgement: the path of acknowledgements may have failed.
        ++duplicates;
        lb_ = static_cast<std::uint8_t>(lb_ + kBucketStride);
        // The late original of a retransmitted frame is no sign of lost acknowledgements.
        if (paths_ && last_ >= 0 && (flags & kRetransmission) != 0) {
            paths_->health().suspect(paths_->path_of(static_cast<std::uint8_t>(last_)), now);
            ++repeated_;
            last_ = -1;
        }
    }
    echo_ |= flags & kRetransmission;
    ++unacknowledged_;
    ASSERT(expected_ <= kPsnMask);
    if ((flags & kAckNow) != 0 && fresh && ahead != 0) owed_ = psn;
    const bool complete = owed_ && ((expected_ - *owed_ - 1) & kPsnMask) < kHalf;
    if (complete) owed_.reset();
    const auto apart = [&] { return std::min((psn - newest_) & kPsnMask, (newest_ - psn) & kPsnMask); };
    const bool uncovered = parameters_.window > kMapFrames && apart() > kMapReach;
    newest_ = psn;
    if (complete || uncovered || (flags & kAckNow) != 0 || unacknowledged_ >= parameters_.ack_every)
        ack_at = now;
    else if (unacknowledged_ == 1) ack_at = now + parameters_.ack_delay;
    return fresh ? Accepted::New : Accepted::Duplicate;
}

BucketSet Receiver::silent_buckets() {
    if (!paths_ || repeated_ < kMostRepeats) return 0;
    repeated_ = 0;
    wants_path_ = true;
    return paths_->health().suspects();
}

std::uint8_t Receiver::next_lb(Time now) {
    const std::uint8_t lb = paths_ ? paths_->next_lb(now) : lb_;
    last_ = lb;
    if (parameters_.lb_mode != 0 || !parameters_.spray.empty()) lb_ = static_cast<std::uint8_t>(lb + 1);
    return lb;
}

std::uint32_t Receiver::skipped() const {
    const std::uint32_t ahead = (newest_ - expected_) & kPsnMask;
    if (ahead <= kMapFrames || ahead >= kHalf) return 0;
    return (ahead - kMapFrames + kMapStep - 1) / kMapStep * kMapStep;
}

bool Receiver::refuse(std::uint32_t psn, Time now, Actions& actions) {
    const std::uint32_t ahead = (psn - expected_) & kPsnMask;
    const bool arrived = ahead >= kHalf || (ahead > 0 && ahead <= std::max(parameters_.window, kMapFrames) &&
                                            received_.has(ahead - 1));
    if (arrived) {
        acknowledge(now, actions);
        return false;
    }
    ++refused;
    const std::uint8_t lb = next_lb(now);
    actions.add(writer_.refusal(actions.pool, lb, expected_, received_.first(), 0, psn), kVlResponse);
    return true;
}

void Receiver::ask_back(Time now, Actions& actions) {
    if (asked_back_ == expected_) return;
    asked_back_ = expected_;
    const std::uint8_t lb = next_lb(now);
    actions.add(writer_.refusal(actions.pool, lb, expected_, 0, 0, expected_), kVlResponse);
}

void Receiver::grant(Time now, Actions& actions) {
    actions.add(writer_.grant(actions.pool, next_lb(now), expected_, credit.granted), kVlResponse);
}

void Receiver::acknowledge(Time now, Actions& actions) {
    const std::uint8_t lb = next_lb(now);
    unacknowledged_ = 0;
    wants_path_ = false;
    ack_at = kNever;
    ++acks;
    const std::uint32_t before = skipped();
    actions.add(
        writer_.frame(actions.pool, lb, expected_, received_.map(before),
                      std::exchange(echo_, std::uint8_t{0}), std::exchange(marks_, BucketSet{0}), before),
        kVlResponse);
}

}  // namespace railyard::hosts
