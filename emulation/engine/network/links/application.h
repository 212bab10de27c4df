// SPDX-License-Identifier: Apache-2.0
// A program on a host of the network, sans-IO: frames and the time go in, frames and the next deadline come
// out.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "frames/frame.h"

namespace railyard {

constexpr Time kNever = Time{1} << 62;

// Actions of an application after an event: frames to send, and the time of its next call.
struct Actions {
    struct Departure {
        FrameHandle frame;
        int vl;  // number of the VL for users
    };

    // `room` is memory for reuse.
    explicit Actions(FramePool& frames_of, std::vector<Departure> room = {})
        : pool(frames_of), departures(std::move(room)) {}
    void add(FrameHandle frame, int vl) { departures.push_back({std::move(frame), vl}); }

    FramePool& pool;  // for these frames
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
    // Let the processor fetch what on_frame will read for a frame that arrives soon; nothing depends on it.
    // Called kStages times for a frame: `stage` 1 and later find what the stages before have fetched.
    static constexpr unsigned kStages = 3;
    virtual void prefetch(const Frame& /*frame*/, unsigned /*stage*/) const {}
    // True if it shares nothing that changes with other applications. Calls to the outside may then wait for
    // the end of a window (Partition::defer).
    virtual bool isolated() const { return false; }
    // Let go of all frames and callbacks: the network goes away, or has another application in this place. No
    // event follows.
    virtual void detach() {}
};

}  // namespace railyard
