// SPDX-License-Identifier: Apache-2.0
// Queue of a host's frames that leave by a raw socket at a stated rate, and measurements of how well the rate
// is kept. Times are nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "frames/frame.h"
#include "frames/ring.h"

namespace railyard {

constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::max();

// Adherence to the rate. `offered` is the number of bytes that the rate allows while frames wait, `sent` the
// number of bytes sent. `late` is the time from each frame's slot to its sending, `waited` its time in the
// queue. `refused` counts frames that the kernel had no room for, which were sent again.
struct Pace {
    double offered = 0;
    std::uint64_t sent = 0, refused = 0;
    std::vector<std::int64_t> late, waited;
};

class Pacer {
   public:
    explicit Pacer(double ns_per_byte) : ns_per_byte_(ns_per_byte) {}

    // Frames of VLs 2 and 3, the responses, overtake all others. `since` is when the event came that the
    // frame answers: without other frames it could have left then, and is late by the time since.
    void add(FrameHandle frame, int vl, std::int64_t now, std::int64_t since);
    // Drop all frames.
    void clear(std::int64_t now);
    // Time at which the first frame may leave; kNoTime if no frame waits.
    std::int64_t due() const;
    // Time to wake up for the first frame: within a sixteenth of the frame's own time on the wire after it
    // is due, or a multiple of `rest` if that is longer, and for many frames of many hosts the same time.
    // Late slots are made up for, so the rate holds.
    std::int64_t wake(std::int64_t rest) const;
    // Let the processor fetch what send() will read of the first frame; nothing depends on it. Called for
    // stages 0 to kStages - 1, each of which finds what the stage before has fetched.
    static constexpr unsigned kStages = 5;
    void prefetch(unsigned stage) const;
    // Send every frame whose slot is due at `now`. std::system_error unless the kernel merely has no room.
    void send(int fd, std::int64_t now);
    // End the measurement of a queue that still holds frames.
    void stop(std::int64_t now);

    const Pace& pace() const { return pace_; }

   private:
    struct Waiting {
        FrameHandle frame;
        std::int64_t since = 0, lag = 0;  // lag: lateness before it came here
    };

    bool empty() const { return responses_.empty() && data_.empty(); }
    Waiting& at(std::size_t place) {
        return place < responses_.size() ? responses_[place] : data_[place - responses_.size()];
    }
    double slot_length(const Frame& frame) const { return static_cast<double>(frame.length) * ns_per_byte_; }
    void sent(std::size_t count, std::int64_t now);

    double ns_per_byte_;
    Ring<Waiting> responses_, data_;
    double slot_ = 0;          // when the next frame may leave
    std::int64_t begun_ = -1;  // start of the present queue; -1: no frame waits
    std::int64_t again_ = 0;   // earliest time to send again after a refusal
    Pace pace_;
};

}  // namespace railyard
