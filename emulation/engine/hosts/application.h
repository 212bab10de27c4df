// SPDX-License-Identifier: Apache-2.0
// Interface of a program on a host, sans-IO: its input is frames and the time, its output is frames and the
// next deadline.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "frames/frame.h"

namespace railyard::hosts {

using frames::Frame, frames::FrameHandle, frames::FramePool;

// Actions of an application after an event: frames to send, and the time of its next call.
struct Actions {
    struct Departure {
        FrameHandle frame;
        Vl vl;
    };

    // `room` is memory for reuse.
    explicit Actions(FramePool& frames_of, std::vector<Departure> room = {})
        : pool(frames_of), departures(std::move(room)) {}
    void add(FrameHandle frame, Vl vl) { departures.push_back({std::move(frame), vl}); }

    FramePool& pool;  // allocates these frames
    std::vector<Departure> departures;
    std::optional<Time> deadline;  // time at which to call on_timer; none: never
};

class Application {
   public:
    Application() = default;
    Application(const Application&) = delete;
    virtual ~Application() = default;

    virtual void start(Time now, Actions& actions) = 0;
    virtual void on_frame(FrameHandle frame, Time now, Actions& actions) = 0;
    virtual void on_timer(Time now, Actions& actions) = 0;
    // Prefetch the memory that on_frame will read for a frame that arrives soon; never changes results.
    // Called kStages times for a frame, with `stage` from 0: a stage may read what earlier stages fetched.
    static constexpr unsigned kStages = 2;
    virtual void prefetch(const Frame& /*frame*/, unsigned /*stage*/) const {}
    // Return true if the application shares no mutable state with other applications, so that partitions may
    // run it in parallel. Its calls to the outside may be deferred to the end of a window (Partition::defer).
    [[nodiscard]] virtual bool isolated() const { return false; }
    // Release all frames and callbacks, since the network ends or the host gets another application. No event
    // follows.
    virtual void detach() {}
};

}  // namespace railyard::hosts
