// SPDX-License-Identifier: Apache-2.0
// Pacer: queue of a host's frames, which leave by a raw socket at a given rate, with measurements of the
// adherence to the rate. Times are nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "frames/frame.h"
#include "frames/ring.h"
#include "wire/system.h"

namespace railyard::wire {

constexpr Nanoseconds kNoTime = Nanoseconds::max();

// Adherence to the rate.
struct Pace {
    double offered = 0;  // bytes that the rate allowed while frames waited
    Bytes sent{};
    std::uint64_t refused = 0;  // frames sent again since the kernel had no room
    // Nanoseconds of each frame: from its slot to its sending, and in the queue.
    std::vector<std::int64_t> late, waited;
};

class Pacer {
   public:
    explicit Pacer(double ns_per_byte) : ns_per_byte_(ns_per_byte) {}

    // Queue a frame. Frames of VLs 2 and 3, the responses, overtake all others. `since`: time of the event
    // that caused the frame; a frame that finds an empty queue is late by the time since this event or its
    // slot.
    void add(frames::FrameHandle frame, Vl vl, Nanoseconds now, Nanoseconds since);
    // Drop all frames.
    void clear(Nanoseconds now);
    // Return the time at which the first frame may leave; kNoTime if no frame waits.
    [[nodiscard]] Nanoseconds due() const;
    // Return the time to wake up for the first frame: due(), rounded up to a multiple of a power of two (at
    // most 1/16 of the frame's transmission time) or of `rest`, if that is larger. The times of many hosts
    // then coincide. The rate holds, since later slots do not move.
    [[nodiscard]] Nanoseconds wake(Nanoseconds rest) const;
    // Prefetch the memory of the first frame that send() will read; never changes results. Called for stages
    // 0 to kStages - 1; a stage reads what the stage before has fetched.
    static constexpr unsigned kStages = 5;
    void prefetch(unsigned stage) const;
    // Send every frame whose slot is due at `now`. If the kernel has no room, try again later; other errors
    // throw std::system_error.
    void send(int fd, Nanoseconds now);
    // End the measurement while frames may still wait.
    void stop(Nanoseconds now);

    [[nodiscard]] const Pace& pace() const { return pace_; }

   private:
    struct Waiting {
        frames::FrameHandle frame;
        Nanoseconds since{}, lag{};  // time of add(), and lateness before it
    };

    [[nodiscard]] bool waits() const { return begun_ >= Nanoseconds(0); }
    [[nodiscard]] Nanoseconds slot() const { return Nanoseconds(static_cast<std::int64_t>(slot_)); }
    [[nodiscard]] bool empty() const { return responses_.empty() && data_.empty(); }
    Waiting& at(std::size_t place) {
        return place < responses_.size() ? responses_[place] : data_[place - responses_.size()];
    }
    [[nodiscard]] double slot_length(const frames::Frame& frame) const {
        return static_cast<double>(frame.length) * ns_per_byte_;
    }
    void sent(std::size_t count, Nanoseconds now);

    double ns_per_byte_;
    frames::Ring<Waiting> responses_, data_;
    double slot_ = 0;        // earliest time at which the next frame may leave
    Nanoseconds begun_{-1};  // time since which frames wait; -1: no frame waits
    Nanoseconds again_{};    // earliest time to send again after a refusal
    Pace pace_;
};

}  // namespace railyard::wire
