// SPDX-License-Identifier: Apache-2.0
// Two-rate three-colour meter (RFC 2698), colour-blind, as in BMv2: the peak bucket is tested first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "invariant.h"
#include "units.h"

namespace railyard::tables {

// Rates in units per second, bursts in units; a unit is a byte or a frame.
struct MeterConfig {
    std::int64_t committed_rate = 0, committed_burst = 0, peak_rate = 0, peak_burst = 0;
};

class Meter {
   public:
    [[nodiscard]] const std::optional<MeterConfig>& config() const { return config_; }
    void configure(const std::optional<MeterConfig>& config, Time now) {
        config_ = config;
        if (!config) return;
        buckets_[0] = {config->committed_burst, 0, now};
        buckets_[1] = {config->peak_burst, 0, now};
    }

    // Take `units` tokens at time `now`; return the colour: 0 green, 1 yellow, 2 red. Always green
    // without a configuration.
    std::uint64_t execute(std::int64_t units, Time now) {
        if (!config_) return 0;
        const std::int64_t rates[2] = {config_->committed_rate, config_->peak_rate};
        const std::int64_t bursts[2] = {config_->committed_burst, config_->peak_burst};
        for (std::uint64_t i = 2; i-- > 0;) {
            Bucket& b = buckets_[i];
            b.fill(rates[i], bursts[i], now);
            if (b.tokens < units) return i + 1;
            b.tokens -= units;
        }
        return 0;
    }

   private:
    // Token bucket in whole units. `rest` keeps the fraction of a unit, so that rounding loses no tokens.
    struct Bucket {
        std::int64_t tokens = 0, rest = 0;  // rest: 10^-12 units
        Time filled{};
        void fill(std::int64_t rate, std::int64_t burst, Time now) {
            ASSERT(tokens <= burst && rest >= 0 && rest < kSecond.value());
            const __int128 gained = static_cast<__int128>((now - filled).value()) * rate + rest;
            filled = now;
            constexpr std::int64_t kPart = kSecond.value();  // unit of `rest`
            const __int128 whole = tokens + gained / kPart;
            tokens = static_cast<std::int64_t>(std::min<__int128>(whole, burst));
            rest = whole >= burst ? 0 : static_cast<std::int64_t>(gained % kPart);
        }
    };
    std::optional<MeterConfig> config_;
    Bucket buckets_[2];
};

}  // namespace railyard::tables
