// SPDX-License-Identifier: Apache-2.0
#include "hosts/transport/receiver.h"

#include <bit>
#include <utility>

namespace railyard {

namespace {

constexpr int kMostRepeats = 4;  // duplicates in a row after which a receiver asks for other paths

}  // namespace

Receiver::Receiver(const TransportParameters& parameters, const AckWriter& writer, std::uint8_t lb,
                   std::optional<Spray> paths)
    : parameters_(parameters),
      lb_(lb),
      expected_(parameters.first_psn),
      writer_(writer),
      paths_(std::move(paths)) {}

Receiver::Accepted Receiver::accept(std::uint32_t psn, std::uint8_t flags, Time now) {
    const std::uint32_t ahead = (psn - expected_) & kPsnMask;
    bool fresh = false;
    if (parameters_.go_back && ahead != 0 && ahead <= kMaxWindow) return Accepted::Early;
    if (ahead == 0) {
        const int run = std::countr_one(bitmap_) + 1;
        bitmap_ = run < 64 ? bitmap_ >> run : 0;
        expected_ = (psn + static_cast<std::uint32_t>(run)) & kPsnMask;
        fresh = true;
    } else if (ahead <= kMaxWindow) {
        const std::uint64_t bit = std::uint64_t{1} << (ahead - 1);
        fresh = (bitmap_ & bit) == 0;
        bitmap_ |= bit;
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
    if (complete || (flags & kAckNow) != 0 || unacknowledged_ >= parameters_.ack_every) ack_at = now;
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

bool Receiver::refuse(std::uint32_t psn, Time now, Actions& actions) {
    const std::uint32_t ahead = (psn - expected_) & kPsnMask;
    const bool arrived =
        ahead >= kHalf || (ahead > 0 && ahead <= kMaxWindow && (bitmap_ >> (ahead - 1) & 1) != 0);
    if (arrived) {
        acknowledge(now, actions);
        return false;
    }
    ++refused;
    const std::uint8_t lb = next_lb(now);
    actions.add(writer_.refusal(actions.pool, lb, expected_, bitmap_, 0, psn), kVlResponse);
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
    actions.add(writer_.frame(actions.pool, lb, expected_, bitmap_, std::exchange(echo_, std::uint8_t{0}),
                              std::exchange(marks_, BucketSet{0})),
                kVlResponse);
}

}  // namespace railyard
