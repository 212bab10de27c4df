// SPDX-License-Identifier: Apache-2.0
#include "hosts/paths/idle_ratios.h"

#include <algorithm>

namespace railyard {

namespace {

// Ratio above which a path's first sample counts although its acknowledgement may have been delayed.
constexpr Time kHigh = 3 * IdleRatios::kUnit / 2;
// A round trip may exceed the expected one by the fraction 1/kMargin.
constexpr Time kMargin = 4;
constexpr Time kKib = 1024;

}  // namespace

void IdleRatios::new_frame(std::uint32_t slot, std::uint32_t size, bool asks) {
    sizes_[slot] = size;
    asked_[slot] = asks;
}

void IdleRatios::sent(std::uint32_t slot, std::uint32_t path) {
    expected_[slot] = 0;
    if (!knows(path)) return;
    const PathTiming& timing = timings_[path];
    const Time size = sizes_[slot], ahead = ahead_[path];
    expected_[slot] = timing.headers + (timing.kib * size + timing.narrowest_kib * ahead) / kKib;
    ahead_.of(path) = ahead + size;
}

void IdleRatios::ended(std::uint32_t slot, std::uint32_t path) {
    if (knows(path)) ahead_.of(path) -= sizes_[slot];
}

Time IdleRatios::longest(std::uint32_t slot) const {
    const Time expected = expected_[slot];
    return expected == 0 ? 0 : expected + expected / kMargin + ack_delay_;
}

void IdleRatios::measured(std::uint32_t slot, std::uint32_t path, Time rtt, bool afresh) {
    const Time expected = expected_[slot], before = ratios_[path];
    if (expected == 0) return;
    Time ratio = kUnit * rtt / (expected + (asked_[slot] ? 0 : ack_delay_));
    if (!asked_[slot] && ratio <= (before > 0 ? before : kHigh)) return;
    ratio = std::max(ratio, Time{1});
    ratios_.of(path) = before > 0 && !afresh ? (3 * before + ratio) / 4 : ratio;
}

}  // namespace railyard
