// SPDX-License-Identifier: Apache-2.0
// Choice of paths by congestion, as in tests/oracle/paths/delay.py: a path is congested if its
// round trip stands out among all paths of the agent, or if it is slow for its links and another path of the
// connection is not. The delay to expect on a path is the number of frames under way on it, times the time
// that it takes for each.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "hosts/messages/codec.h"
#include "hosts/paths/idle_ratios.h"
#include "hosts/paths/spray.h"

namespace railyard {

class PathDelays {
   public:
    PathDelays(RoundTrips& trips, std::vector<PathTiming> timings, Time ack_delay)
        : trips_(trips), idle_(std::move(timings), ack_delay) {}

    // A new frame leaves, with so many bytes; `asks` for an immediate acknowledgement.
    void new_frame(std::uint32_t slot, std::uint32_t path, std::uint32_t size, bool asks);
    // A frame leaves; it is under way on this path only.
    void sent(std::uint32_t slot, std::uint32_t path);
    // A frame goes again; if it leaves a congested path, its copy stays there for a time.
    void goes_again(std::uint32_t slot, Time now);
    void ended(std::uint32_t slot);
    // The last frames that arrived by a path were marked by a switch, or were not.
    void note_mark(std::uint32_t path, bool marked) {
        if (marked != (marked_[path] != 0)) marked_.of(path) = marked ? 1 : 0;
    }
    // Round trip of a frame that is under way still, sent once.
    void measured(std::uint32_t slot, Time rtt);
    bool congested(std::uint32_t path) const;
    // True if another frame may leave; few frames may be under way where all paths are slow.
    bool has_room(const PathHealth& health) const;
    // Load-balance value of a new frame, and whether it has to ask for an acknowledgement.
    std::pair<std::uint8_t, bool> steer(std::uint8_t lb, const PathHealth& health, Time now);
    // Load-balance value of a frame whose share names the path of `lb`.
    std::uint8_t choose(std::uint8_t lb, const PathHealth& health, Time now) const;
    // Time for which a frame may be under way on a congested path before it goes again.
    Time patience(std::uint32_t slot, Time floor) const;

   private:
    Time expected(std::uint32_t path, Time now) const;
    void compare(std::uint32_t slot, std::uint32_t path, Time rtt, bool afresh);
    bool is_better(std::uint32_t path) const;
    bool is_slow(std::uint32_t path) const { return slow_[path] != 0; }
    bool in_use(std::uint32_t path) const { return rtt_[path] >= 0 && trial_[path] == 0; }
    bool is_only_one_in_use() const;
    // Load-balance value of a working path that has no measurements, or is on trial.
    std::optional<std::uint8_t> trial(std::uint8_t lb, const PathHealth& health) const;

    RoundTrips& trips_;
    IdleRatios idle_;
    ByPath<Time> under_way_{0};  // frames
    ByPath<Time> rtt_{-1};       // smoothed round trip; -1: not measured
    ByPath<Time> each_{-1};      // time for a frame; -1: not measured
    ByPath<Time> copies_{0};     // when copies of frames that went again have drained
    ByPath<char> slow_{0};       // 1: the ratio of the path is high
    ByPath<char> trial_{0};      // 1: the path is on trial
    ByPath<char> marked_{0};     // 1: the last frames of the path were marked
    ByPath<char> counted_{0};    // 1: the round trips of the path count in the agent's mean
    int slow_paths_ = 0;         // paths whose ratio is high
    std::array<std::uint32_t, kMaxWindow> paths_{};  // by slot, path of a frame under way
    std::array<Time, kMaxWindow> depths_{};  // by slot, frames on its path when it left; 0: not under way
};

}  // namespace railyard
