// SPDX-License-Identifier: Apache-2.0
// Priority flow control (IEEE 802.1Qbb) of a channel: receive buffer by class, pause frames to send, classes
// paused by the other end, and the watchdog that ends long pauses.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "frames/frame.h"
#include "frames/ring.h"

namespace railyard::network {

constexpr std::size_t kClasses = 8;

struct PausePolicy {
    Bytes xoff{}, xon{}, headroom{};  // of a class in the receive buffer
    Time watchdog{}, restore{};       // longest pause (0: unlimited), and time after it without pauses
    std::uint32_t lanes = 0;          // lanes that may be paused, a bit each
};

// Classes that a pause frame stops, and classes that it resumes, as bit masks.
struct PauseOrder {
    std::uint8_t stop = 0, go = 0;
};

frames::FrameHandle pause_frame(frames::FramePool& pool, PauseOrder order);
// Parse a pause frame; none for other frames.
std::optional<PauseOrder> pause_order(const frames::Frame& frame);

class Pauses {
   public:
    explicit Pauses(const PausePolicy& policy) : policy_(policy) {}

    static std::size_t class_of(Lane lane) { return lane.value() % kClasses; }
    [[nodiscard]] bool covers(Lane lane) const { return (policy_.lanes >> lane.value() & 1u) != 0; }

    // Receiving end: reserve buffer for a frame; return false, and count an overrun, if it has no room.
    // After take() and free(), due() returns the pause frame to send back, if any.
    bool take(Lane lane, Bytes bytes);
    void free(Lane lane, Bytes bytes);
    std::optional<PauseOrder> due();
    // Classes that the receiving end has asked the sender to stop.
    [[nodiscard]] std::uint8_t asked() const { return asked_; }

    // Sending end: return true if a lane is paused.
    [[nodiscard]] bool stops(Lane lane) const {
        return (stopped_ >> class_of(lane) & 1u) != 0 && covers(lane);
    }
    void obey(PauseOrder order, Time now);
    // End pauses that exceed the watchdog's limit; return their classes as a bit mask.
    std::uint8_t expire(Time now);
    // Time of the next expiry; none without a pause or a watchdog.
    [[nodiscard]] std::optional<Time> next_expiry() const;
    // Forget all pauses, since the link is down.
    void reset();

    frames::Ring<frames::FrameHandle> frames;  // pause frames that wait for the wire
    std::uint64_t sent = 0, received = 0, overruns = 0, expired = 0, dropped = 0;

   private:
    PausePolicy policy_;
    std::array<Bytes, kClasses> held_{};
    std::uint8_t asked_ = 0;    // classes that the receiving end has asked to stop
    std::uint8_t change_ = 0;   // classes with a change of asked_ that no pause frame has reported
    std::uint8_t stopped_ = 0;  // classes stopped at the sending end
    std::array<Time, kClasses> since_{},
        deaf_until_{};  // by class: begin of the pause; end of ignoring pauses
};

}  // namespace railyard::network
