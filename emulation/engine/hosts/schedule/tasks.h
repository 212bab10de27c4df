// SPDX-License-Identifier: Apache-2.0
// Tasks of a rank: sends, arrivals and computations that depend on each other. A task begins only after
// the tasks that it needs have ended. tests/oracle/tasks.py is the specification.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "frames/frame.h"

namespace railyard::hosts {

// A task of a rank; emulation/traffic/schedule/tasks.py explains the fields. `duration` < 0: no computation.
struct Task {
    std::uint32_t needs = 0;
    Time at{}, delay{}, duration = kUnset;
    std::uint32_t unit = 0, slices = 0;
    bool free = false;
    std::vector<std::uint32_t> followers;
};

class Progress {
   public:
    struct Span {
        Time opened = kUnset, ended = kUnset;
    };

    // The caller keeps `tasks`.
    explicit Progress(const std::vector<Task>& tasks);

    void start(Time now);
    // Process events up to `now`, and return the next send or arrival task that opens; none if no task does.
    std::optional<std::uint32_t> next_due(Time now) {
        if (now < deadline_) return std::nullopt;
        return next_of_due(now);
    }
    // Count a slice of a task as sent or applied.
    void slice_done(std::uint32_t task, Time now);

    [[nodiscard]] bool open(std::uint32_t task) const { return states_[task].open; }
    void hold(std::uint32_t task, std::uint32_t slice) { states_[task].held.push_back(slice); }
    std::vector<std::uint32_t> release(std::uint32_t task) { return std::exchange(states_[task].held, {}); }
    // Time of the next event; kNever if there is none.
    [[nodiscard]] Time deadline() const { return deadline_; }
    [[nodiscard]] bool computing() const { return computing_ > 0; }
    [[nodiscard]] std::vector<Span> times() const;

   private:
    struct State {
        std::uint32_t needs, left;
        bool open;
        Span span;
        std::vector<std::uint32_t> held;
    };
    struct Event {
        Time time;
        std::uint64_t number;
        std::uint32_t task;
        bool ends;
        bool operator>(const Event& other) const {
            return std::pair(time, number) > std::pair(other.time, other.number);
        }
    };

    std::optional<std::uint32_t> next_of_due(Time now);
    void end(std::uint32_t task, Time now);
    void wait(std::uint32_t task, Time now);
    void push(Time time, std::uint32_t task, bool ends) {
        events_.push({time, number_++, task, ends});
        deadline_ = std::min(deadline_, time);
    }

    Time deadline_ = kNever;  // of the first event
    const std::vector<Task>& tasks_;
    std::vector<State> states_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::map<std::uint32_t, Time> busy_;  // by unit, the end of its last computation
    std::optional<Time> start_;
    std::uint64_t number_ = 0;
    std::size_t computing_ = 0;
};

}  // namespace railyard::hosts
