// SPDX-License-Identifier: Apache-2.0
// Priority flow control (IEEE 802.1Qbb) of a channel: bytes in the receive buffer by class, pause frames to
// send, classes that the other end has paused, and the watchdog of long pauses.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "frames/frame.h"
#include "frames/ring.h"

namespace railyard {

constexpr std::size_t kClasses = 8;

struct PausePolicy {
    std::int64_t xoff = 0, xon = 0, headroom = 0;  // bytes of a class in the receive buffer
    Time watchdog = 0, restore = 0;                // longest pause, and time without pauses after it; 0: none
    std::uint32_t lanes = 0;                       // lanes that may be paused, a bit each
};

// Classes that a pause frame stops, and those that it lets go on.
struct PauseOrder {
    std::uint8_t stop = 0, go = 0;
};

FrameHandle pause_frame(FramePool& pool, PauseOrder order);
// The order of a pause frame; none for other frames.
std::optional<PauseOrder> pause_order(const Frame& frame);

class Pauses {
   public:
    explicit Pauses(const PausePolicy& policy) : policy_(policy) {}

    static std::size_t class_of(std::size_t lane) { return lane % kClasses; }
    bool covers(std::size_t lane) const { return (policy_.lanes >> lane & 1u) != 0; }

    // The receiving end. A frame comes into the buffer: false if it finds no room. `orders` has the pause
    // frame that has to go back, if any.
    bool take(std::size_t lane, std::int64_t bytes);
    void free(std::size_t lane, std::int64_t bytes);
    std::optional<PauseOrder> due();
    // Classes that this end has asked the other to stop.
    std::uint8_t asked() const { return asked_; }

    // The sending end.
    bool stops(std::size_t lane) const { return (stopped_ >> class_of(lane) & 1u) != 0 && covers(lane); }
    void obey(PauseOrder order, Time now);
    // Classes whose pause has lasted for too long end it; return them.
    std::uint8_t expire(Time now);
    // Time of the next expiry; none while nothing is paused.
    std::optional<Time> next_expiry() const;
    // The link is down: nothing is paused at either end.
    void reset();

    Ring<FrameHandle> frames;  // pause frames that wait for the wire
    std::uint64_t sent = 0, received = 0, overruns = 0, expired = 0, dropped = 0;

   private:
    PausePolicy policy_;
    std::array<std::int64_t, kClasses> held_{};
    std::uint8_t asked_ = 0;    // classes that this end has asked the other to stop
    std::uint8_t change_ = 0;   // classes whose pause frame has not been made
    std::uint8_t stopped_ = 0;  // classes that the other end has stopped
    std::array<Time, kClasses> since_{}, deaf_until_{};
};

}  // namespace railyard
