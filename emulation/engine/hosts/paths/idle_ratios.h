// SPDX-License-Identifier: Apache-2.0
// Ratio of the measured to the expected round trip of each path of a connection. The expected round trip is
// that without traffic of other connections. tests/oracle/paths/idle.py is the specification.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "hosts/messages/codec.h"
#include "hosts/paths/spray.h"

namespace railyard::hosts {

class IdleRatios {
   public:
    // Fixed-point representation of the ratio 1.
    static constexpr std::int64_t kUnit = 16;

    IdleRatios(std::vector<PathTiming> timings, Time ack_delay)
        : timings_(std::move(timings)), ack_delay_(ack_delay) {}

    // True if the links of a path are known.
    [[nodiscard]] bool knows(std::uint32_t path) const { return path < timings_.size(); }
    // Smoothed ratio of a path; 0 before the first measurement.
    std::int64_t operator[](std::uint32_t path) const { return ratios_[path]; }

    // Note a new frame with a payload of `size`; `asks`: for an immediate acknowledgement.
    void new_frame(std::uint32_t slot, Bytes size, bool asks);
    // Note that the frame leaves by a path, and compute its expected round trip.
    void sent(std::uint32_t slot, std::uint32_t path);
    // Note that the frame is no longer in flight on its path.
    void ended(std::uint32_t slot, std::uint32_t path);
    // Return the longest round trip that the connection's own frames explain; 0 if it is unknown.
    [[nodiscard]] Time longest(std::uint32_t slot) const;
    // Add a frame's measured round trip to its path's ratio; `afresh` discards earlier measurements.
    void measured(std::uint32_t slot, std::uint32_t path, Time rtt, bool afresh);

   private:
    std::vector<PathTiming> timings_;
    Time ack_delay_;
    ByPath<std::int64_t> ratios_{0};
    ByPath<Bytes> ahead_{Bytes()};                 // bytes of payload in flight
    std::array<Time, kMaxPathWindow> expected_{};  // by slot, expected round trip; 0: unknown
    std::array<Bytes, kMaxPathWindow> sizes_{};    // by slot, bytes of payload
    std::array<bool, kMaxPathWindow> asked_{};     // by slot, whether the frame asks for an acknowledgement
};

}  // namespace railyard::hosts
