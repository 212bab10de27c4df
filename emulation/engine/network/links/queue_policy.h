// SPDX-License-Identifier: Apache-2.0
// Queues of a link that may be full: limits by VL, and what happens to a frame that finds no room.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <optional>

#include "frames/frame.h"
#include "network/links/pause.h"

namespace railyard {

// Values of standard_metadata.priority; a network may have two lanes for each (Network::set_lanes).
constexpr std::size_t kPriorities = 8;
constexpr std::size_t kVls = 2 * kPriorities;

// Frames of the VL of trimmed frames that a port sends for each data frame that waits, as in NDP (Handley et
// al., SIGCOMM 2017): senders that meet there would otherwise fill the link with headers.
constexpr unsigned kHeadersPerData = 10;

struct QueuePolicy {
    // Limits of a VL's queue; 0: none. `trims`: a data frame that finds no room loses its payload.
    struct Queue {
        std::int64_t bytes = 0;
        std::int64_t frames = 0;
        bool trims = false;
    };
    std::array<Queue, kVls> queues;
    std::array<std::uint8_t, 2> trimmed{};  // VL of trimmed frames, by the lane that they come from
    std::optional<PausePolicy> pauses;      // none: no priority flow control

    bool trims() const {
        return std::ranges::any_of(queues, [](const Queue& queue) { return queue.trims; });
    }
    bool admits(std::size_t vl, std::int64_t bytes, std::size_t frames, std::int64_t more) const {
        const Queue& queue = queues[vl];
        return (queue.bytes == 0 || bytes + more <= queue.bytes) &&
               (queue.frames == 0 || static_cast<std::int64_t>(frames) < queue.frames);
    }
};

// Cut a data frame behind its headers, and turn it into one of the service level of responses; false without
// effect for frames that take no congestion marks or have no payload. docs/reference/wire-format.md has the
// form.
bool trim(Frame& frame);

}  // namespace railyard
