// SPDX-License-Identifier: Apache-2.0
// Mapping between lanes (the engine's queue indices), priorities of programs, and VL numbers of users.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "network/links/channel.h"

namespace railyard::network {

// Each priority has one lane, whose VL has the priority's number, or two lanes. A lane has a queue and
// credits.
class Lanes {
   public:
    // Give every priority two lanes. Bit `bit` of a frame, counted from the most significant bit of its first
    // byte, selects the lane. vls[2 * priority + lane] is the VL's number.
    // invalid_argument if `vls` is not a permutation of 0 to kVls - 1.
    void set(std::uint32_t bit, const std::vector<Vl>& vls) {
        std::vector<Vl> sorted = vls;
        std::sort(sorted.begin(), sorted.end());
        for (std::size_t at = 0; at < kVls; ++at)
            if (sorted.size() != kVls || sorted[at] != Vl(at))
                throw std::invalid_argument("VLs of lanes: there must be " + std::to_string(kVls) +
                                            ", each from 0 to " + std::to_string(kVls - 1) + " once");
        bit_ = bit;
        vls_ = vls;
    }
    [[nodiscard]] bool doubled() const { return bit_.has_value(); }
    // VL numbers by lane, in ascending order of service priority.
    [[nodiscard]] const std::vector<Vl>& vls() const { return vls_; }
    // Lane of a VL; none if there is no such VL.
    [[nodiscard]] std::optional<Lane> of_vl(Vl vl) const {
        const auto lane = std::find(vls_.begin(), vls_.end(), vl);
        if (lane == vls_.end()) return std::nullopt;
        return Lane(lane - vls_.begin());
    }
    // Index of the frame bit that selects one of a priority's two lanes; 0 if each priority has one lane.
    [[nodiscard]] std::uint32_t bit() const { return bit_.value_or(0); }
    // Return the lane of a frame that has left a switch and is not pending.
    [[nodiscard]] Lane of(const Frame& frame) const {
        if (!bit_) return Lane(frame.priority().value());
        const std::uint32_t at = *bit_ / 8;
        return of(frame.priority(), at < frame.length && (frame.byte(at) >> (7 - *bit_ % 8) & 1) != 0);
    }
    // Return the lane of a priority. If a priority has two lanes, `second` selects the second.
    [[nodiscard]] Lane of(Priority priority, bool second) const {
        ASSERT(priority.value() < kPriorities);
        return Lane(doubled() ? 2 * priority.value() + second : priority.value());
    }
    // Return the priority of a lane, as programs see it.
    [[nodiscard]] Priority priority_of(Lane lane) const {
        return Priority(doubled() ? lane.value() / 2 : lane.value());
    }

   private:
    std::optional<std::uint32_t> bit_;  // none: a priority has one lane
    std::vector<Vl> vls_{Vl(0), Vl(1), Vl(2), Vl(3), Vl(4), Vl(5), Vl(6), Vl(7)};
};

}  // namespace railyard::network
