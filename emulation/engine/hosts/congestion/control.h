// SPDX-License-Identifier: Apache-2.0
// Congestion control of a connection, sans-IO: takes events of the connection, returns a window and a rate.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "frames/frame.h"

namespace railyard::hosts {

constexpr double kBitPs = 8e12;  // 8 bits a byte times 10^12 ps a second

// Return the time that bytes take at a rate, with the rounding of the specification.
[[nodiscard]] inline Time pacing_time(Bytes bytes, Rate rate) {
    return static_cast<Time>(static_cast<double>(bytes) * kBitPs / static_cast<double>(rate));
}

// Limits of a connection: bytes in flight, and rate; 0: no limit.
struct SendLimits {
    Bytes window{};
    Rate rate{};
    bool operator==(const SendLimits&) const = default;
};

// Facts of a connection that an algorithm knows before the first frame.
struct PathFacts {
    Time base_rtt{};      // round trip without queues
    Rate rate{};          // of the host's link
    Bytes frame_bytes{};  // size of the largest frame, with headers
    bool trims = false;   // full queues trim frames
};

// Frames that an acknowledgement names for the first time.
struct Acknowledged {
    Time now{};
    Time rtt{};               // round trip of the newest frame that was sent once; 0: all were retransmitted
    Bytes bytes{}, marked{};  // bytes of all frames, and of the marked frames
    Bytes under_way{};        // bytes that remain in flight
};

// Frames that the sender takes for lost at `now`.
struct Lost {
    Time now{};
    Bytes bytes{};
    Bytes under_way{};  // bytes that remain in flight
};

class CongestionControl {
   public:
    CongestionControl() = default;
    CongestionControl(const CongestionControl&) = delete;
    virtual ~CongestionControl() = default;

    // Return the limits before the first frame. Each of the following takes an event and returns new limits.
    virtual SendLimits start() = 0;
    virtual SendLimits on_ack(const Acknowledged& ack) = 0;
    // Frames are missing: the receiver reports a gap, or later frames of their path have arrived.
    virtual SendLimits on_nack(const Lost& lost) = 0;
    // The receiver reports trimmed frames.
    virtual SendLimits on_trim(const Lost& lost) = 0;
    // No acknowledgement has arrived during a timeout.
    virtual SendLimits on_timeout(const Lost& lost) = 0;
    // The receiver grants `bytes` more.
    virtual SendLimits on_credit(Time now, Bytes bytes) = 0;
};

// Values of an algorithm's parameters by name.
class CongestionParameters {
   public:
    using Values = std::map<std::string, double>;

    CongestionParameters(std::string algorithm, Values values)
        : algorithm_(std::move(algorithm)), values_(std::move(values)) {}

    // Return the value of a parameter; invalid_argument if it is missing.
    [[nodiscard]] double at(const std::string& name) const;

   private:
    std::string algorithm_;
    Values values_;
};

// Return the algorithm `name`; emulation/traffic/host/congestion.py declares names and parameters.
// invalid_argument if there is no such algorithm, a fact is not positive, or a parameter is missing.
std::unique_ptr<CongestionControl> congestion_control(const std::string& name,
                                                      const CongestionParameters::Values& values,
                                                      const PathFacts& facts);

}  // namespace railyard::hosts
