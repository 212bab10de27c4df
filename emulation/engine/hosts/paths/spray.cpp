// SPDX-License-Identifier: Apache-2.0
#include "hosts/paths/spray.h"

#include <algorithm>
#include <utility>

namespace railyard::hosts {

namespace {

constexpr int kSuspect = 3;  // losses in a row after which a path is avoided
constexpr Time kAvoid = 50 * kMicrosecond, kMaxAvoid = 1'600 * kMicrosecond;

}  // namespace

PathHealth::PathHealth(const std::array<std::uint32_t, kBuckets>& paths)
    : paths_(paths), count_(*std::max_element(paths.begin(), paths.end()) + 1), avoid_(kAvoid) {}

bool PathHealth::may_try(std::uint32_t path, Time now) {
    const Time trial = until_[path];
    if (trial < Time()) return true;
    if (trial > now) return false;
    until_.of(path) = now + avoid_[path];
    return true;
}

void PathHealth::split(BucketSet buckets) {
    for (std::size_t bucket = 0; bucket < kBuckets; ++bucket)
        if ((buckets >> bucket & 1u) != 0) paths_[bucket] = count_++;
}

BucketSet PathHealth::suspects() const {
    BucketSet suspects = 0;
    for (std::size_t bucket = 0; bucket < kBuckets; ++bucket)
        if (losses_[paths_[bucket]] >= kSuspect) suspects = static_cast<BucketSet>(suspects | 1u << bucket);
    return suspects;
}

void PathHealth::use_again(std::uint32_t path) {
    until_.of(path) = kUnset;
    avoid_.of(path) = kAvoid;
    ASSERT(avoided_ > 0);
    --avoided_;
}

// Count losses on a path; avoid the path after kSuspect in a row, unless no other path works.
void PathHealth::lost(std::uint32_t path, Time now, int count) {
    losses_.of(path) += count;
    if (losses_[path] < kSuspect || !works(path)) return;
    if (std::none_of(paths_.begin(), paths_.end(),
                     [&](std::uint32_t other) { return other != path && works(other); }))
        return;
    ++avoided_;
    ASSERT(avoided_ < count_);  // a path is left
    until_.of(path) = now + avoid_[path];
    avoid_.of(path) = std::min(2 * avoid_[path], kMaxAvoid);
}

void PathHealth::suspect(std::uint32_t path, Time now) { lost(path, now, kSuspect); }

Spray::Spray(const PathShares& shares, std::uint8_t lb, std::shared_ptr<PathHealth> health)
    : health_(std::move(health)), next_(lb) {
    for (std::size_t bucket = 0; bucket < shares.weights.size(); ++bucket)
        if (const double weight = shares.weights[bucket]; weight > 0) {
            // Stagger the first turns over the buckets' periods, beginning at the bucket of lb.
            const std::size_t turn = (bucket + kBuckets - lb % kBuckets) % kBuckets;
            const double place = (static_cast<double>(turn) + 0.5) / kBuckets;
            fair_.push_back({place / weight, 1 / weight, static_cast<std::uint8_t>(bucket)});
        } else {
            standby_ = static_cast<BucketSet>(standby_ | 1u << bucket);
        }
    std::sort(fair_.begin(), fair_.end());
    for (std::size_t bucket = 0; bucket < kBuckets; ++bucket)
        order_[bucket] = static_cast<std::uint8_t>(bucket);
    if (!shares.weights.empty())
        std::stable_partition(order_.begin(), order_.end(),
                              [&](std::uint8_t bucket) { return shares.weights[bucket] != 0; });
}

std::uint8_t Spray::next_lb(Time now) {
    std::uint8_t lb = draw();
    if (health_->whole()) return lb;
    for (std::size_t i = 0; i < kBuckets; ++i) {
        if (health_->may_try(path_of(lb), now)) return lb;
        lb = draw();
    }
    return other_lb(lb);
}

std::uint8_t Spray::next_of(Entropies& entropies, Time now) {
    for (std::size_t i = 0; i < kBuckets; ++i) {
        const std::uint8_t lb = entropies.next();
        const bool stands_by = health_->whole() && (standby_ >> lb % kBuckets & 1u) != 0;
        if (!stands_by && health_->may_try(path_of(lb), now)) return lb;
    }
    return next_lb(now);
}

std::uint8_t Spray::draw() {
    if (fair_.empty()) return next_++;
    Due turn = fair_[first_];
    turn.due += turn.step;
    // The bucket's next turn is among the last: search its place from the end, which is the place that is
    // free.
    std::size_t place = std::exchange(first_, first_ + 1 < fair_.size() ? first_ + 1 : 0);
    while (place != first_) {
        const std::size_t before = place > 0 ? place - 1 : fair_.size() - 1;
        if (fair_[before] < turn) break;
        fair_[place] = fair_[before];
        place = before;
    }
    fair_[place] = turn;
    return turn.bucket;
}

std::uint8_t Spray::other_lb(std::uint8_t lb, const ByPath<Time>* silent) {
    const std::uint32_t path = path_of(lb);
    std::rotate(order_.begin(), order_.begin() + 1, order_.end());  // successive calls take different paths
    const std::uint8_t* other = nullptr;
    for (const std::uint8_t& bucket : order_) {
        const std::uint32_t candidate = path_of(bucket);
        if (candidate == path) continue;
        if ((silent == nullptr || (*silent)[candidate] < Time()) && health_->works(candidate)) return bucket;
        if (other == nullptr) other = &bucket;
    }
    return other != nullptr ? *other : lb;
}

}  // namespace railyard::hosts
