// SPDX-License-Identifier: Apache-2.0
// Queue limits of a link by VL, and the treatment of a frame that finds a full queue.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <optional>

#include "frames/frame.h"
#include "network/links/pause.h"

namespace railyard::network {

// Most trimmed frames that a port sends before a waiting data frame, as in NDP (Handley et al., SIGCOMM
// 2017): in an incast, headers would otherwise fill the link.
constexpr std::uint8_t kHeadersPerData = 10;

struct QueuePolicy {
    // Limits of a VL's queue; 0: none. `trims`: a data frame that finds no room is trimmed, not dropped.
    struct Queue {
        Bytes bytes{};
        std::int64_t frames = 0;
        bool trims = false;
    };
    ByLane<Queue> queues;
    std::array<Lane, 2> trimmed{};      // lane of trimmed frames, by their former lane modulo 2
    std::optional<PausePolicy> pauses;  // none: no priority flow control

    [[nodiscard]] bool trims() const {
        return std::ranges::any_of(queues, [](const Queue& queue) { return queue.trims; });
    }
    [[nodiscard]] bool admits(Lane lane, Bytes bytes, std::size_t frames, Bytes more) const {
        const Queue& queue = queues[lane];
        return (queue.bytes == Bytes() || bytes + more <= queue.bytes) &&
               (queue.frames == 0 || static_cast<std::int64_t>(frames) < queue.frames);
    }
};

// Remove a data frame's payload and move the frame to the service level of responses. Return false, without
// effect, for frames without a payload or without support for congestion marks.
// docs/reference/wire-format.md has the format of trimmed frames.
bool trim(frames::Frame& frame);

}  // namespace railyard::network
