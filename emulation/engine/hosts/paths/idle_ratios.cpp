// SPDX-License-Identifier: Apache-2.0
#include "hosts/paths/idle_ratios.h"

#include <algorithm>

namespace railyard::hosts {

namespace {

// Ratio above which a path's first sample counts although its acknowledgement may have been delayed.
constexpr std::int64_t kHigh = 3 * IdleRatios::kUnit / 2;
// A round trip may exceed the expected one by the fraction 1/kMargin.
constexpr std::int64_t kMargin = 4;
constexpr Bytes kKib{1024};

}  // namespace

void IdleRatios::new_frame(std::uint32_t slot, Bytes size, bool asks) {
    sizes_[slot] = size;
    asked_[slot] = asks;
}

void IdleRatios::sent(std::uint32_t slot, std::uint32_t path) {
    expected_[slot] = Time();
    if (!knows(path)) return;
    const PathTiming& timing = timings_[path];
    const Bytes size = sizes_[slot], ahead = ahead_[path];
    expected_[slot] =
        timing.headers + (timing.kib * size.value() + timing.narrowest_kib * ahead.value()) / kKib.value();
    ahead_.of(path) = ahead + size;
}

void IdleRatios::ended(std::uint32_t slot, std::uint32_t path) {
    if (knows(path)) ahead_.of(path) -= sizes_[slot];
}

Time IdleRatios::longest(std::uint32_t slot) const {
    const Time expected = expected_[slot];
    return expected == Time() ? Time() : expected + expected / kMargin + ack_delay_;
}

void IdleRatios::measured(std::uint32_t slot, std::uint32_t path, Time rtt, bool afresh) {
    const Time expected = expected_[slot];
    const std::int64_t before = ratios_[path];
    if (expected == Time()) return;
    std::int64_t ratio = kUnit * rtt / (expected + (asked_[slot] ? Time() : ack_delay_));
    if (!asked_[slot] && ratio <= (before > 0 ? before : kHigh)) return;
    ratio = std::max<std::int64_t>(ratio, 1);
    ratios_.of(path) = before > 0 && !afresh ? (3 * before + ratio) / 4 : ratio;
}

}  // namespace railyard::hosts
