// SPDX-License-Identifier: Apache-2.0
// Choice of paths by congestion, as in emulation/traffic/host/paths/delay.py: a path is congested if its
// round trip stands out among all paths of the agent. The delay to expect on a path is the number of frames
// under way on it, times the time that it takes for each.
#pragma once

#include <array>
#include <cstdint>

#include "hosts/sender.h"
#include "hosts/spray.h"

namespace railyard {

class PathDelays {
   public:
    explicit PathDelays(RoundTrips& trips) : trips_(trips) {}

    // A frame leaves; it is under way on this path only.
    void sent(std::uint32_t slot, std::uint32_t path);
    void ended(std::uint32_t slot);
    // Round trip of a frame that is under way still, sent once.
    void measured(std::uint32_t slot, Time rtt);
    bool congested(std::uint32_t path) const;
    // Load-balance value of a frame whose share names the path of `lb`.
    std::uint8_t choose(std::uint8_t lb, const PathHealth& health) const;
    // Time for which a frame may be under way on a congested path before it goes again.
    Time patience(Time floor) const;

   private:
    Time expected(std::uint32_t path) const;

    RoundTrips& trips_;
    ByPath<Time> under_way_{0};                      // frames
    ByPath<Time> rtt_{-1};                           // smoothed round trip; -1: not measured
    ByPath<Time> each_{-1};                          // time for a frame; -1: not measured
    std::array<std::uint32_t, kMaxWindow> paths_{};  // by slot, path of a frame under way
    std::array<Time, kMaxWindow> depths_{};  // by slot, frames on its path when it left; 0: not under way
};

}  // namespace railyard
