// SPDX-License-Identifier: Apache-2.0
#include "hosts/paths/path_delays.h"

#include <algorithm>

namespace railyard::hosts {

namespace {

// A path is congested above this number of halves of the other paths' mean round trip, or of their least
// ratio.
constexpr std::int64_t kCongestedHalves = 5;
// Ratio of the measured to the expected round trip above which a path is slow.
constexpr std::int64_t kSlow = 6 * IdleRatios::kUnit;
// Most frames in flight per path while all paths in use are slow.
constexpr std::int64_t kMostOnSlow = 8;

}  // namespace

void PathDelays::new_frame(std::uint32_t slot, std::uint32_t path, Bytes size, bool asks) {
    ended(slot);
    idle_.new_frame(slot, size, asks);
    sent(slot, path);
}

void PathDelays::sent(std::uint32_t slot, std::uint32_t path) {
    ended(slot);
    depths_[slot] = ++under_way_.of(path);
    paths_[slot] = path;
    idle_.sent(slot, path);
}

void PathDelays::goes_again(std::uint32_t slot, Time now) {
    const std::uint32_t path = paths_[slot];
    if (depths_[slot] == 0 || !congested(path)) return;
    copies_.of(path) = std::max(copies_[path], now) + std::max(each_[path], Time());
}

void PathDelays::ended(std::uint32_t slot) {
    if (depths_[slot] == 0) return;
    const std::uint32_t path = paths_[slot];
    --under_way_.of(path);
    depths_[slot] = 0;
    idle_.ended(slot, path);
}

void PathDelays::measured(std::uint32_t slot, Time rtt) {
    const std::int64_t depth = depths_[slot];
    if (depth == 0) return;
    const std::uint32_t path = paths_[slot];
    const Time before = rtt_[path];
    const bool afresh = trial_[path] != 0;
    if (before < Time() && !afresh) {
        counted_.of(path) = 1;
        ++trips_.paths;
    }
    if (before < Time() || afresh) {
        rtt_.of(path) = rtt;
        each_.of(path) = rtt / depth;
    } else {
        rtt_.of(path) = (3 * before + rtt) / 4;
        each_.of(path) = (3 * each_[path] + rtt / depth) / 4;
    }
    if (counted_[path] != 0) trips_.total += rtt_[path] - std::max(before, Time());
    compare(slot, path, rtt, afresh);
}

void PathDelays::compare(std::uint32_t slot, std::uint32_t path, Time rtt, bool afresh) {
    idle_.measured(slot, path, rtt, afresh);
    const bool slow = idle_[path] > kSlow;
    if (slow != is_slow(path)) {
        slow_.of(path) = slow ? 1 : 0;
        slow_paths_ += slow ? 1 : -1;
    }
    if (afresh && (!idle_.knows(path) || is_better(path))) trial_.of(path) = 0;
}

// Return true if the ratio of a path on trial is much lower than that of some slow path.
bool PathDelays::is_better(std::uint32_t path) const {
    if (slow_paths_ == 0) return false;
    const std::int64_t ratio = kCongestedHalves * idle_[path];
    for (std::uint32_t other = 0; other < slow_.size(); ++other)
        if (is_slow(other) && ratio < 2 * idle_[other]) return true;
    return false;
}

Time PathDelays::expected(std::uint32_t path, Time now) const {
    const Time each = each_[path];
    return (under_way_[path] + 1) * (each < Time() ? trips_.typical() : each) +
           std::max(Time(), copies_[path] - now);
}

bool PathDelays::congested(std::uint32_t path) const {
    const Time rtt = std::max(rtt_[path], Time());
    if (marked_[path] != 0 && rtt > trips_.typical())
        for (std::uint32_t other = 0; other < rtt_.size(); ++other)
            if (in_use(other) && marked_[other] == 0) return true;
    if (counted_[path] != 0 && 2 * rtt * (trips_.paths - 1) > kCongestedHalves * (trips_.total - rtt))
        return true;
    if (!is_slow(path)) return false;
    std::int64_t least = 0;
    for (std::uint32_t other = 0; other < rtt_.size(); ++other)
        if (const std::int64_t ratio = idle_[other]; other != path && in_use(other) && ratio > 0)
            least = least == 0 ? ratio : std::min(least, ratio);
    return least > 0 && 2 * idle_[path] > kCongestedHalves * least;
}

bool PathDelays::has_room(const PathHealth& health) const {
    if (slow_paths_ == 0) return true;
    std::int64_t paths = 0, under_way = 0;
    for (std::uint32_t path = 0; path < rtt_.size(); ++path) {
        if (!in_use(path) || !health.works(path)) continue;
        if (!is_slow(path)) return true;
        under_way += under_way_[path];
        ++paths;
    }
    return under_way < kMostOnSlow * std::max<std::int64_t>(paths, 1) || trial(0, health).has_value();
}

bool PathDelays::is_only_one_in_use() const {
    int count = 0;
    for (std::uint32_t path = 0; path < rtt_.size(); ++path) count += in_use(path) ? 1 : 0;
    return count == 1;
}

std::optional<std::uint8_t> PathDelays::trial(std::uint8_t lb, const PathHealth& health) const {
    for (std::uint32_t turn = 1; turn <= kBuckets; ++turn) {
        const auto bucket = static_cast<std::uint8_t>((lb + turn) % kBuckets);
        const std::uint32_t path = health.path_of(bucket);
        if (!in_use(path) && under_way_[path] == 0 && health.works(path)) return bucket;
    }
    return std::nullopt;
}

std::pair<std::uint8_t, bool> PathDelays::steer(std::uint8_t lb, const PathHealth& health, Time now) {
    const std::uint32_t path = health.path_of(lb);
    if (is_slow(path) && is_only_one_in_use())
        if (const auto bucket = trial(lb, health)) {
            trial_.of(health.path_of(*bucket)) = 1;
            return {*bucket, true};
        }
    return {choose(lb, health, now), false};
}

std::uint8_t PathDelays::choose(std::uint8_t lb, const PathHealth& health, Time now) const {
    const std::uint32_t path = health.path_of(lb);
    if (!congested(path)) return lb;
    std::uint8_t best = lb;
    Time least = expected(path, now) / 2;
    for (std::uint32_t turn = 1; turn < kBuckets; ++turn) {
        const auto bucket = static_cast<std::uint8_t>((lb + turn) % kBuckets);
        const std::uint32_t other = health.path_of(bucket);
        if (other == path || trial_[other] != 0 || !health.works(other)) continue;
        if (const Time there = expected(other, now); there < least) {
            best = bucket;
            least = there;
        }
    }
    return best;
}

Time PathDelays::patience(std::uint32_t slot, Time floor) const {
    return std::max({floor, trips_.typical(), idle_.longest(slot)});
}

}  // namespace railyard::hosts
