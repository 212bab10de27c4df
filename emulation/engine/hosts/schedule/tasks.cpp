// SPDX-License-Identifier: Apache-2.0
#include "hosts/schedule/tasks.h"

#include <algorithm>
#include <stdexcept>

#include "hosts/application.h"

namespace railyard::hosts {

Progress::Progress(const std::vector<Task>& tasks) : tasks_(tasks) {
    states_.reserve(tasks_.size());
    for (const Task& task : tasks_) {
        states_.push_back({task.needs, task.slices, task.free, {}, {}});
        computing_ += task.duration >= Time();
    }
}

void Progress::start(Time now) {
    start_ = now;
    for (std::uint32_t task = 0; task < states_.size(); ++task)
        if (states_[task].needs == 0 && !tasks_[task].free) wait(task, now);
}

std::optional<std::uint32_t> Progress::next_of_due(Time now) {
    while (!events_.empty() && events_.top().time <= now) {
        const Event event = events_.top();
        events_.pop();
        deadline_ = events_.empty() ? kNever : events_.top().time;
        const Task& task = tasks_[event.task];
        State& state = states_[event.task];
        if (event.ends) {
            ASSERT(computing_ > 0);
            --computing_;
            end(event.task, now);
        } else if (task.duration >= Time()) {
            Time& busy = busy_[task.unit];
            state.span.opened = std::max(now, busy);
            busy = state.span.opened + task.duration;
            push(busy, event.task, true);
        } else {
            state.open = true;
            state.span.opened = now;
            return event.task;
        }
    }
    return std::nullopt;
}

void Progress::slice_done(std::uint32_t task, Time now) {
    State& state = states_[task];
    if (state.span.opened < Time()) state.span.opened = now;
    ASSERT(state.left > 0);
    if (--state.left == 0) end(task, now);
}

std::vector<Progress::Span> Progress::times() const {
    std::vector<Span> spans;
    spans.reserve(states_.size());
    for (const State& state : states_) spans.push_back(state.span);
    return spans;
}

void Progress::end(std::uint32_t task, Time now) {
    states_[task].span.ended = now;
    ASSERT(states_[task].span.opened >= Time() && states_[task].span.opened <= now);
    for (const std::uint32_t follower : tasks_[task].followers)
        if (--states_[follower].needs == 0 && start_) wait(follower, now);
}

void Progress::wait(std::uint32_t task, Time now) {
    push(std::max(now + tasks_[task].delay, *start_ + tasks_[task].at), task, false);
}

}  // namespace railyard::hosts
