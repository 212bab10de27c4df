// SPDX-License-Identifier: Apache-2.0
// Port of a switch, bound to a Linux interface: its socket, its egress queues and its counters.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "frames/frame.h"
#include "frames/pcap_file.h"
#include "frames/ring.h"
#include "index.h"
#include "units.h"
#include "wire/ports/packet_socket.h"
#include "wire/system.h"

namespace railyard::switching {

class Switch;

}  // namespace railyard::switching

namespace railyard::wire {

using switching::Switch;

// Counters of a port. Frames are counted unless the name says bytes.
struct WireStats {
    std::uint64_t received = 0, sent = 0;
    Bytes received_bytes{}, sent_bytes{};
    std::uint64_t missed = 0;        // lost at a full receive ring
    std::uint64_t too_long = 0;      // received or to be sent, longer than the MTU
    std::uint64_t refused_down = 0;  // to be sent while the port was down
    std::uint64_t refused_full = 0;  // to be sent while the queue was full, here or in the kernel
    std::uint64_t failed =
        0;  // received or queued at this port, and dropped since the program failed or exceeded its budget
    std::uint64_t refused_odd = 0;  // other errors: too short to be sent, or of a priority without a queue
};

struct WirePort {
    Index<Switch> switch_index;
    Port number;
    std::string interface;
    int ifindex = -1;
    unsigned mtu = 0;
    bool up = false;
    bool blocked = false;  // the kernel accepts no more frames until the socket is writable
    bool dirty = false;    // is in the Wire's list of ports with frames to send
    bool told_too_long = false;
    bool waits = false;                  // is in SlotTimer: its next frame waits for its slot
    double ns_per_byte = 0;              // 0: no pacing
    Nanoseconds slot_at{};               // earliest time at which the next frame may leave
    std::optional<PacketSocket> socket;  // none while the port has no interface
    std::array<frames::Ring<frames::FrameHandle>, kPriorities> queues;  // by priority
    frames::Ring<frames::FrameHandle> ready;                            // dequeued, after egress
    std::optional<frames::PcapFile> in, out;
    WireStats stats;

    [[nodiscard]] bool idle() const {
        return ready.empty() &&
               std::all_of(queues.begin(), queues.end(), [](const auto& frames) { return frames.empty(); });
    }
    // Drop all queued frames, since the port is down.
    void drop_frames() {
        const auto drop = [this](frames::Ring<frames::FrameHandle>& frames) {
            stats.refused_down += frames.size();
            frames.clear();
        };
        drop(ready);
        for (auto& queue : queues) drop(queue);
    }
};

}  // namespace railyard::wire
