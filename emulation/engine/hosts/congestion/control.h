// SPDX-License-Identifier: Apache-2.0
// Congestion control of a connection, sans-IO: events of the connection go in, a window and a rate come out.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "frames/frame.h"

namespace railyard {

constexpr double kBitPs = 8e12;  // bits of a byte, times picoseconds of a second

// Limits of a connection: bytes that may be under way, and bit/s; 0: no limit.
struct SendLimits {
    std::int64_t window = 0, rate = 0;
    bool operator==(const SendLimits&) const = default;
};

// Facts of a connection that an algorithm knows before the first frame.
struct PathFacts {
    Time base_rtt = 0;             // round trip without queues
    std::int64_t rate = 0;         // of the host's link, bit/s
    std::int64_t frame_bytes = 0;  // of the largest frame, with headers
    bool trims = false;            // full queues trim frames
};

// Frames that an acknowledgement names for the first time.
struct Acknowledged {
    Time now = 0;
    Time rtt = 0;  // of the newest of the frames; 0: none was sent only once
    std::int64_t bytes = 0, marked = 0;
    std::int64_t under_way = 0;  // bytes that stay under way
};

// Frames that were lost, as `now` shows.
struct Lost {
    Time now = 0;
    std::int64_t bytes = 0;
    std::int64_t under_way = 0;
};

class CongestionControl {
   public:
    CongestionControl() = default;
    CongestionControl(const CongestionControl&) = delete;
    virtual ~CongestionControl() = default;

    virtual SendLimits start() = 0;
    virtual SendLimits on_ack(const Acknowledged& ack) = 0;
    // The receiver has a gap, or later frames of the same path have arrived.
    virtual SendLimits on_nack(const Lost& lost) = 0;
    // The receiver has got the headers of a trimmed frame.
    virtual SendLimits on_trim(const Lost& lost) = 0;
    // No acknowledgement has come for a timeout.
    virtual SendLimits on_timeout(const Lost& lost) = 0;
    // The receiver grants so many bytes.
    virtual SendLimits on_credit(Time now, std::int64_t bytes) = 0;
};

using CongestionParameters = std::map<std::string, double>;

// The algorithm of that name with its parameters, as emulation/traffic/host/congestion.py declares them;
// invalid_argument if there is none, or a parameter is missing.
std::unique_ptr<CongestionControl> congestion_control(const std::string& name,
                                                      const CongestionParameters& parameters,
                                                      const PathFacts& facts);

}  // namespace railyard
