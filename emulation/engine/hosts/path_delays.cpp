// SPDX-License-Identifier: Apache-2.0
#include "hosts/path_delays.h"

#include <algorithm>

namespace railyard {

namespace {

// A path is congested above so many halves of the mean round trip of the others.
constexpr Time kCongestedHalves = 5;

}  // namespace

void PathDelays::sent(std::uint32_t slot, std::uint32_t path) {
    ended(slot);
    depths_[slot] = ++under_way_.of(path);
    paths_[slot] = path;
}

void PathDelays::ended(std::uint32_t slot) {
    if (depths_[slot] == 0) return;
    --under_way_.of(paths_[slot]);
    depths_[slot] = 0;
}

void PathDelays::measured(std::uint32_t slot, Time rtt) {
    const Time depth = depths_[slot];
    if (depth == 0) return;
    const std::uint32_t path = paths_[slot];
    const Time before = rtt_[path];
    if (before < 0) {
        ++trips_.paths;
        rtt_.of(path) = rtt;
        each_.of(path) = rtt / depth;
    } else {
        rtt_.of(path) = (3 * before + rtt) / 4;
        each_.of(path) = (3 * each_[path] + rtt / depth) / 4;
    }
    trips_.total += rtt_[path] - std::max(before, Time{0});
}

Time PathDelays::expected(std::uint32_t path) const {
    const Time each = each_[path];
    return (under_way_[path] + 1) * (each < 0 ? trips_.typical() : each);
}

bool PathDelays::congested(std::uint32_t path) const {
    const Time rtt = rtt_[path];
    return rtt > 0 && 2 * rtt * (trips_.paths - 1) > kCongestedHalves * (trips_.total - rtt);
}

std::uint8_t PathDelays::choose(std::uint8_t lb, const PathHealth& health) const {
    const std::uint32_t path = health.path_of(lb);
    if (!congested(path)) return lb;
    std::uint8_t best = lb;
    Time least = expected(path) / 2;
    for (std::uint32_t turn = 1; turn < kBuckets; ++turn) {
        const auto bucket = static_cast<std::uint8_t>((lb + turn) % kBuckets);
        const std::uint32_t other = health.path_of(bucket);
        if (other == path || !health.works(other)) continue;
        if (const Time there = expected(other); there < least) {
            best = bucket;
            least = there;
        }
    }
    return best;
}

Time PathDelays::patience(Time floor) const { return std::max(floor, trips_.typical()); }

}  // namespace railyard
