// SPDX-License-Identifier: Apache-2.0
// Network::run: runs the events of a single partition, of several one by one, or of several in windows.
#include <algorithm>
#include <optional>

#include "network/network.h"

namespace railyard::network {

namespace {

// Least number of events for which a window is faster than a single thread.
constexpr std::uint64_t kLeastEvents = 64;
// Events to run one by one after a smaller window, before the next attempt.
constexpr std::uint64_t kPause = 1024;

template <typename T>
T narrow(std::int64_t count) {
    if (count != static_cast<T>(count))
        throw PartitionError("an event has had more effects than a window notes");
    return static_cast<T>(count);
}

}  // namespace

RunEnd Network::run(Time until, std::uint64_t events, bool exactly) {
    if (timeline_.numbers_run_out()) {
        windows_.settle();
        timeline_.renumber();
    }
    ageing_.resume();
    share_contents();
    const RunEnd end = timeline_.alone() ? run_alone(until, events) : run_partitions(until, events, exactly);
    if (end != RunEnd::Control) links_.flush_recordings();
    return end;
}

RunEnd Network::run_alone(Time until, std::uint64_t events) {
    Partition& p = timeline_.first();
    for (;; --events) {
        if (!control_.empty()) return RunEnd::Control;
        if (p.network_events == 0) [[unlikely]] {
            // Frames wait for credits, and no frame moves that could return credits.
            if (p.waiting_frames > 0 && storms_.empty()) return RunEnd::Deadlock;
            if (p.events.size() == ageing_.events() &&
                (ageing_.events() == 0 || until >= kForever || p.events.next_time() > until))
                return RunEnd::Idle;
        }
        if (p.events.next_time() > until) {
            timeline_.advance(std::max(now(), until));
            return RunEnd::Until;
        }
        if (events == 0) return RunEnd::Paused;
        const Event event = p.events.pop();
        look_ahead_.fetch(p);
        timeline_.advance(event.time);
        p.now = event.time;
        dispatch(p, event);
    }
}

RunEnd Network::run_partitions(Time until, std::uint64_t events, bool exactly) {
    windows_.check_whole();
    std::optional<bool> windows;
    if (exactly) windows = false;
    EventQueue& control_events = timeline_.control_events();
    for (;;) {
        if (!control_.empty()) return RunEnd::Control;
        if (storms_.empty() && timeline_.deadlocked()) return RunEnd::Deadlock;
        const Time first = windows_.first_event();
        const Time control = control_events.size() > 0 ? control_events.next_time() : Partition::kNoEnd;
        if (first == Partition::kNoEnd && control_events.size() == ageing_.events() &&
            (ageing_.events() == 0 || until >= kForever || control > until))
            return RunEnd::Idle;
        if (std::min(first, control) > until) {
            timeline_.advance(std::max(now(), until));
            return RunEnd::Until;
        }
        if (events == 0) return RunEnd::Paused;
        const Time end = std::min(
            {first == Partition::kNoEnd ? first : first + windows_.delay(), control, until + Time(1)});
        if (end > first && pause_ == 0 && windows.value_or(true)) {
            std::int64_t controlled = 0;
            for (const auto& p : timeline_.partitions()) controlled += p->pool.controlled();
            if (controlled == 0) {
                if (!windows) windows = independent();
                if (*windows) {
                    const std::uint64_t ran = windows_.run(end);
                    if (ran < kLeastEvents) pause_ = kPause;
                    events -= std::min(events, ran);
                    continue;
                }
            }
        }
        windows_.settle();
        step();
        --events;
    }
}

// Return true if windows are possible: nothing but links joins the partitions.
bool Network::independent() const {
    return windows_.delay() > Time() && !links_.observed() && !ageing_.used() && hosts_.isolated() &&
           std::none_of(switches_.begin(), switches_.end(), [](const auto& sw) { return sw->logs(); });
}

// Run the earliest event of all partitions and of the control queue.
void Network::step() {
    pause_ -= pause_ > 0;
    windows_.count_event();
    EventQueue& control_events = timeline_.control_events();
    EventQueue* queue = control_events.size() > 0 ? &control_events : nullptr;
    Partition* first = &timeline_.first();
    for (const auto& p : timeline_.partitions())
        if (p->events.size() > 0 && (queue == nullptr || p->events.next() < queue->next())) {
            queue = &p->events;
            first = p.get();
        }
    const Event event = queue->pop();
    timeline_.advance(event.time);
    dispatch(timeline_.at_present(*first), event);
}

// Run a partition's events in a window; called in the partition's thread.
void Network::run_window(Partition& p) {
    while (p.events.size() > 0 && p.events.next_time() < p.end) {
        const Event event = p.events.pop();
        look_ahead_.fetch(p);
        ASSERT_ALWAYS(event.time >= p.now);
        p.now = event.time;
        const std::int64_t created = p.created(), network = p.network_events, waiting = p.waiting_frames;
        const auto effects = static_cast<std::int64_t>(p.effects.size());
        dispatch(p, event);
        p.executed.push_back({event.time, event.number, narrow<std::uint16_t>(p.created() - created),
                              narrow<std::uint16_t>(static_cast<std::int64_t>(p.effects.size()) - effects),
                              narrow<std::int16_t>(p.network_events - network),
                              narrow<std::int16_t>(p.waiting_frames - waiting)});
    }
}

}  // namespace railyard::network
