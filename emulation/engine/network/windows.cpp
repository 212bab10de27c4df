// SPDX-License-Identifier: Apache-2.0
// Windows: spans of time in which the partitions of a network run their events at the same time.
#include <algorithm>
#include <ctime>
#include <utility>

#include "frames/stream.h"
#include "network/network.h"

namespace railyard {

namespace {

thread_local Partition* working = nullptr;  // in a window

// A window with fewer events takes less time in a single thread.
constexpr std::uint64_t kLeastEvents = 64;
// Events that run before the next attempt.
constexpr std::uint64_t kPause = 1024;

double processor_seconds() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

bool Partition::defer(std::function<void()> call) {
    if (working == nullptr) return false;
    working->note({.kind = Effect::Kind::Called, .value = static_cast<std::uint32_t>(working->calls.size())});
    working->calls.push_back(std::move(call));
    return true;
}

// True if stations and switches share nothing that windows do not know.
bool Network::independent() const {
    return delay_ > 0 && recordings_.empty() && !aged_ && !kept_recent_ &&
           std::all_of(
               hosts_.begin(), hosts_.end(),
               [](const Host& host) { return host.station == nullptr || host.station->isolated(); }) &&
           std::none_of(switches_.begin(), switches_.end(),
                        [](const auto& sw) { return static_cast<bool>(sw->on_log); });
}

RunEnd Network::run_partitions(Time until, std::uint64_t events, bool exactly) {
    if (broken_) throw PartitionError("the partitions of the network are at different times");
    std::optional<bool> windows;
    if (exactly) windows = false;
    for (;;) {
        if (!control_.empty()) return RunEnd::Control;
        if (deadlocked()) return RunEnd::Deadlock;
        Time first = Partition::kNoEnd;
        for (const auto& p : partitions_)
            if (!settled_ || p->events.size() > 0)
                first = std::min(first, settled_ ? p->events.next_time() : p->next_time);
        const Time control = control_events_.size() > 0 ? control_events_.next_time() : Partition::kNoEnd;
        if (first == Partition::kNoEnd && control_events_.size() == ageing_events_ &&
            (ageing_events_ == 0 || until >= kForever || control > until))
            return RunEnd::Idle;
        if (std::min(first, control) > until) {
            now_ = std::max(now_, until);
            return RunEnd::Until;
        }
        if (events == 0) return RunEnd::Paused;
        const Time end = std::min({first == Partition::kNoEnd ? first : first + delay_, control, until + 1});
        if (end > first && pause_ == 0 && windows.value_or(true)) {
            std::int64_t controlled = 0;
            for (const auto& p : partitions_) controlled += p->pool.controlled();
            if (controlled == 0) {
                if (!windows) windows = independent();
                if (*windows) {
                    const std::uint64_t ran = run_window(end);
                    if (ran < kLeastEvents) pause_ = kPause;
                    events -= std::min(events, ran);
                    continue;
                }
            }
        }
        settle_window();
        step();
        --events;
    }
}

// Run the first event of all partitions.
void Network::step() {
    pause_ -= pause_ > 0;
    ++report_.events;
    EventQueue* queue = control_events_.size() > 0 ? &control_events_ : nullptr;
    Partition* first = partitions_.front().get();
    for (const auto& p : partitions_)
        if (p->events.size() > 0 && (queue == nullptr || p->events.next() < queue->next())) {
            queue = &p->events;
            first = p.get();
        }
    const Event event = queue->pop();
    ASSERT(event.time >= now_);
    now_ = first->now = event.time;
    dispatch(*first, event);
}

// Run all events before `end`, which is no later than the least delay between partitions after the first.
std::uint64_t Network::run_window(Time end) {
    if (thread_pool_ == nullptr) {
        report_.threads.resize(std::min(threads_, partitions_.size()));
        thread_pool_ = std::make_unique<ThreadPool>(report_.threads.size(), [this](std::size_t member) {
            for (std::size_t at = member; at < partitions_.size(); at += report_.threads.size())
                run_window(*partitions_[at]);
        });
    }
    ++window_;
    window_end_ = end;
    broken_ = true;  // unless all goes well
    thread_pool_->run();
    settled_ = false;
    const double start = processor_seconds();
    std::uint64_t events = 0;
    std::vector<double> seconds(report_.threads.size());
    for (const auto& p : partitions_) {
        seconds[p->index % seconds.size()] += p->seconds;
        report_.threads[p->index % seconds.size()].events += p->executed.size();
        events += p->executed.size();
        if (!p->error) continue;
        try {
            std::rethrow_exception(std::exchange(p->error, nullptr));
        } catch (const std::exception& error) {
            throw PartitionError(error.what());
        }
    }
    const double slowest = *std::max_element(seconds.begin(), seconds.end());
    for (std::size_t thread = 0; thread < seconds.size(); ++thread) {
        report_.threads[thread].seconds += seconds[thread];
        report_.threads[thread].waiting_seconds += slowest - seconds[thread];
    }
    merge();
    broken_ = false;
    report_.windows += 1;
    report_.slowest_seconds += slowest;
    report_.merge_seconds += processor_seconds() - start;
    return events;
}

// The part of a partition, in its thread.
void Network::run_window(Partition& p) {
    const double start = processor_seconds();
    ASSERT(working == nullptr && !p.in_window());
    try {
        take_over_later(p);
        p.executed.clear();
        p.effects.clear();
        p.merged_numbers.clear();
        p.network_before = p.network_events;
        p.waiting_before = p.waiting_frames;
        p.first_number = p.next_number = sequence_;
        p.numbers = &p.next_number;
        p.end = window_end_;
        working = &p;
        while (p.events.size() > 0 && p.events.next_time() < p.end) {
            const Event event = p.events.pop();
            look_ahead(p);
            ASSERT(event.time >= p.now);
            p.now = event.time;
            dispatch(p, event);
            p.executed.push_back({event.time, event.number, p.created(),
                                  static_cast<std::uint32_t>(p.effects.size()), p.network_events,
                                  p.waiting_frames});
        }
    } catch (...) {
        p.error = std::current_exception();
    }
    end_streams();
    working = nullptr;
    p.numbers = &sequence_;
    p.end = Partition::kNoEnd;
    p.next_time = p.events.size() > 0 ? p.events.next_time() : Partition::kNoEnd;
    for (const LaterEvent& event : p.later) p.next_time = std::min(p.next_time, event.time);
    p.seconds = processor_seconds() - start;
}

// Insert the events that the last window created for later times.
void Network::take_over_later(Partition& p) {
    for (const LaterEvent& event : p.later)
        p.events.push(event.time, p.merged(event.number), event.kind, event.index);
    for (const LaterEvent& event : p.incoming)
        p.events.push(event.time, event.number, event.kind, event.index);
    p.later.clear();
    p.incoming.clear();
}

void Network::settle_window() {
    ASSERT(!merging_);
    if (std::exchange(settled_, true)) return;
    for (const auto& p : partitions_) take_over_later(*p);
}

// Go through the events of the window in their order. An event's creator comes before it, so its number is
// known when it is its turn.
void Network::merge() {
    struct Cursor {
        Partition* p = nullptr;
        std::size_t at = 0, effect = 0;
        std::int64_t network = 0, waiting = 0;
        EventQueue::Cell key = ~EventQueue::Cell{0};

        void turn() {
            if (at == p->executed.size()) {
                key = ~EventQueue::Cell{0};
                return;
            }
            const Executed& next = p->executed[at];
            ASSERT(at == 0 || next.time >= p->executed[at - 1].time);
            key = static_cast<EventQueue::Cell>(next.time) << 64 | p->merged(next.number);
        }
    };
    struct Merging {
        bool& now;
        explicit Merging(bool& merging) : now(merging) { now = true; }
        ~Merging() { now = false; }
    } const merging(merging_);
    std::vector<Cursor> cursors(partitions_.size());
    std::int64_t waiting = 0;
    merged_network_ = 0;
    for (std::size_t i = 0; i < cursors.size(); ++i) {
        Partition& p = *partitions_[i];
        cursors[i].p = &p;
        merged_network_ += cursors[i].network = p.network_before;
        waiting += cursors[i].waiting = p.waiting_before;
        cursors[i].turn();
    }
    const auto earlier = [](const Cursor& a, const Cursor& b) { return a.key < b.key; };
    for (;;) {
        Cursor& first = *std::min_element(cursors.begin(), cursors.end(), earlier);
        if (first.at == first.p->executed.size()) break;
        EventQueue::Cell limit = ~EventQueue::Cell{0};  // of the other partitions
        for (const Cursor& other : cursors)
            if (&other != &first) limit = std::min(limit, other.key);
        Partition& p = *first.p;
        ASSERT(first.key < limit);  // no two events have the same time and number
        do {
            if (merged_network_ == 0 && waiting > 0) throw PartitionError("frames wait for each other");
            const Executed& event = p.executed[first.at++];
            const auto number = [&p, this](std::uint32_t created) {
                while (p.merged_numbers.size() < created) p.merged_numbers.push_back(sequence_++);
            };
            for (; first.effect < event.effects; ++first.effect) {
                const Effect& effect = p.effects[first.effect];
                number(effect.created);
                complete(p, effect, event.time);
            }
            number(event.created);
            ASSERT(p.merged_numbers.size() == event.created && first.effect == event.effects);
            merged_network_ += event.network_events - std::exchange(first.network, event.network_events);
            waiting += event.waiting_frames - std::exchange(first.waiting, event.waiting_frames);
            ASSERT(event.time >= now_ && event.time < window_end_);
            now_ = event.time;
            first.turn();
        } while (first.key < limit);
    }
    for (const auto& p : partitions_) {
        ASSERT(p->merged_numbers.size() == p->next_number - p->first_number);
        p->calls.clear();
    }
    ASSERT(std::all_of(crossings_.begin(), crossings_.end(),
                       [](const Crossing& x) { return x.sent.empty() && !x.drained; }));
}

void Network::complete(Partition& p, const Effect& effect, Time now) {
    if (effect.kind == Effect::Kind::Called) {
        now_ = now;
        ASSERT(effect.value < p.calls.size());
        return p.calls[effect.value]();
    }
    Crossing& x =
        effect.kind == Effect::Kind::Returned ? status(effect.crossing) : crossings_[effect.crossing];
    Channel& c = channels_[x.channel];
    switch (effect.kind) {
        case Effect::Kind::Sent: {
            ++report_.frames;
            // An event waits for the first frame under way.
            const bool waits = !c.flying.empty() || x.drained;
            c.flying.push_back(x.sent.pop_front());
            if (!waits) add_event(*partitions_[x.to], c.flying.front().arrival, EventKind::Arrive, x.channel);
            return;
        }
        case Effect::Kind::Drained:
            ASSERT(x.drained);
            x.drained = false;
            if (!c.flying.empty()) add_event(p, c.flying.front().arrival, EventKind::Arrive, x.channel);
            return;
        case Effect::Kind::Returned:
            ASSERT(effect.time >= now + c.config.delay);
            c.return_credit({effect.time, effect.value, effect.vl});
            if (x.waiting) ask(x, c, std::max(c.returning.front().time, x.busy_until));
            return;
        case Effect::Kind::Wakes: c.wake_at = x.wake_at = effect.time; return;
        case Effect::Kind::Woken: c.wake_at = x.wake_at = -1; return;
        case Effect::Kind::Asked: return ask(x, c, effect.time);
        case Effect::Kind::Blocked:
            if (!c.returning.empty()) ask(x, c, c.returning.front().time);
            return;
        case Effect::Kind::Status:
            x.busy_until = effect.time;
            x.waiting = effect.value != 0;
            return;
        case Effect::Kind::Called: return;
    }
}

// wake(), at the event that the merge has come to.
void Network::ask(Crossing& x, Channel& c, Time time) {
    if (x.wake_at != -1 && x.wake_at <= time) return;
    if (time < window_end_) throw PartitionError("link " + c.name + ": credits return within a window");
    c.wake_at = x.wake_at = time;
    add_event(*partitions_[x.from], time, EventKind::Wake, x.channel);
}

void Network::add_event(Partition& p, Time time, EventKind kind, Index<Channel> index) {
    ASSERT(time >= window_end_);  // no partition is past it
    ++p.network_events;
    ++merged_network_;
    p.next_time = std::min(p.next_time, time);
    p.incoming.push_back({time, sequence_++, kind, index.at()});
}

// The crossing, with the state of the sending end at the begin of the window if that has not changed since.
Crossing& Network::status(Index<Crossing> index) {
    Crossing& x = crossings_[index];
    if (x.window != window_) {
        const Channel& c = channels_[x.channel];
        x.window = window_;
        x.wake_at = c.wake_at;
        x.busy_until = c.busy_until;
        x.waiting = c.waiting > 0;
    }
    return x;
}

void Network::note_status(Partition& p, const Channel& c) {
    if (!c.crossing || !p.in_window()) [[likely]]
        return;
    p.note(
        {.kind = Effect::Kind::Status, .value = c.waiting > 0, .crossing = c.crossing, .time = c.busy_until});
}

void Network::refuse_in_merge() const {
    if (merging_) throw PartitionError("a controller has acted on an agent's call at once");
}

Network::WindowReport Network::window_report() const {
    WindowReport report = report_;
    report.delay = delay_;
    return report;
}

}  // namespace railyard
