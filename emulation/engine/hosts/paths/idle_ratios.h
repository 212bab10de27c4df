// SPDX-License-Identifier: Apache-2.0
// Round trips of a connection's paths as multiples of those that the paths would have if nothing else used
// them, as in tests/oracle/paths/idle.py.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "hosts/messages/codec.h"
#include "hosts/paths/spray.h"

namespace railyard {

class IdleRatios {
   public:
    // Ratios are counted in parts of this size.
    static constexpr Time kUnit = 16;

    IdleRatios(std::vector<PathTiming> timings, Time ack_delay)
        : timings_(std::move(timings)), ack_delay_(ack_delay) {}

    // True if the links of a path are known.
    bool knows(std::uint32_t path) const { return path < timings_.size(); }
    // Smoothed ratio of a path; 0 before the first measurement.
    Time operator[](std::uint32_t path) const { return ratios_[path]; }

    // A frame is about to leave, with so many bytes; `asks` for an immediate acknowledgement.
    void new_frame(std::uint32_t slot, std::uint32_t size, bool asks);
    // The frame leaves by a path.
    void sent(std::uint32_t slot, std::uint32_t path);
    // The frame is no longer under way on its path.
    void ended(std::uint32_t slot, std::uint32_t path);
    // Longest round trip that the connection's own frames explain; 0 if it is unknown.
    Time longest(std::uint32_t slot) const;
    // Round trip of a frame; `afresh` forgets earlier ones of its path.
    void measured(std::uint32_t slot, std::uint32_t path, Time rtt, bool afresh);

   private:
    std::vector<PathTiming> timings_;
    Time ack_delay_;
    ByPath<Time> ratios_{0};
    ByPath<Time> ahead_{0};                    // bytes of payload under way
    std::array<Time, kMaxWindow> expected_{};  // by slot, expected round trip; 0: unknown
    std::array<Time, kMaxWindow> sizes_{};     // by slot, bytes of payload
    std::array<bool, kMaxWindow> asked_{};     // by slot, whether the frame asks for an acknowledgement
};

}  // namespace railyard
