// SPDX-License-Identifier: Apache-2.0
// Choice of paths by congestion. A path is congested if its round trip stands out among all paths of the
// agent, or if it is slow for its links and another path of the connection is not. The expected delay of a
// path is the number of frames in flight on it times the path's time per frame (Little's law).
// tests/oracle/paths/delay.py is the specification.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "hosts/messages/codec.h"
#include "hosts/paths/idle_ratios.h"
#include "hosts/paths/spray.h"

namespace railyard::hosts {

class PathDelays {
   public:
    PathDelays(RoundTrips& trips, std::vector<PathTiming> timings, Time ack_delay)
        : trips_(trips), idle_(std::move(timings), ack_delay) {}

    // Note a new frame with a payload of `size`; `asks`: for an immediate acknowledgement.
    void new_frame(std::uint32_t slot, std::uint32_t path, Bytes size, bool asks);
    // Note that a frame leaves; it counts as in flight on this path only.
    void sent(std::uint32_t slot, std::uint32_t path);
    // Note that a frame is about to be retransmitted. If its path is congested, the earlier copy still delays
    // that path.
    void goes_again(std::uint32_t slot, Time now);
    void ended(std::uint32_t slot);
    // Note whether the last frames that arrived by a path had a congestion mark.
    void note_mark(std::uint32_t path, bool marked) {
        if (marked != (marked_[path] != 0)) marked_.of(path) = marked ? 1 : 0;
    }
    // Add the round trip of a frame in flight that was sent once.
    void measured(std::uint32_t slot, Time rtt);
    [[nodiscard]] bool congested(std::uint32_t path) const;
    // Return true if another frame may leave; if all paths are slow, only few frames may be in flight.
    [[nodiscard]] bool has_room(const PathHealth& health) const;
    // Return the load-balance value of a new frame, and whether the frame has to ask for an acknowledgement.
    // `lb` is the value of header field lb by the planned shares.
    std::pair<std::uint8_t, bool> steer(std::uint8_t lb, const PathHealth& health, Time now);
    // Return `lb`, or the value of the path with the least expected delay if the path of `lb` is congested.
    [[nodiscard]] std::uint8_t choose(std::uint8_t lb, const PathHealth& health, Time now) const;
    // Return the time after which a frame in flight on a congested path is sent again.
    [[nodiscard]] Time patience(std::uint32_t slot, Time floor) const;

   private:
    [[nodiscard]] Time expected(std::uint32_t path, Time now) const;
    void compare(std::uint32_t slot, std::uint32_t path, Time rtt, bool afresh);
    [[nodiscard]] bool is_better(std::uint32_t path) const;
    [[nodiscard]] bool is_slow(std::uint32_t path) const { return slow_[path] != 0; }
    [[nodiscard]] bool in_use(std::uint32_t path) const { return rtt_[path] >= Time() && trial_[path] == 0; }
    [[nodiscard]] bool is_only_one_in_use() const;
    // Return the load-balance value of an idle working path without measurements, or of a path on trial; none
    // if there is no such path.
    [[nodiscard]] std::optional<std::uint8_t> trial(std::uint8_t lb, const PathHealth& health) const;

    RoundTrips& trips_;
    IdleRatios idle_;
    ByPath<std::int64_t> under_way_{0};  // number of frames
    ByPath<Time> rtt_{kUnset};           // smoothed round trip; kUnset: not measured
    ByPath<Time> each_{kUnset};          // time per frame; kUnset: not measured
    ByPath<Time> copies_{Time()};        // time at which earlier copies of retransmitted frames have drained
    ByPath<char> slow_{0};               // 1: the ratio of the path is high
    ByPath<char> trial_{0};              // 1: the path is on trial
    ByPath<char> marked_{0};             // 1: the last frames of the path were marked
    ByPath<char> counted_{0};            // 1: the round trips of the path count in the agent's mean
    int slow_paths_ = 0;                 // paths whose ratio is high
    std::array<std::uint32_t, kMaxPathWindow> paths_{};  // by slot, path of a frame in flight
    // Number of frames on the path of a frame when it left, by slot; 0: not in flight.
    std::array<std::int64_t, kMaxPathWindow> depths_{};
};

}  // namespace railyard::hosts
