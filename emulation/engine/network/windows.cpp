// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ctime>
#include <utility>

#include "frames/stream.h"
#include "network/events/tournament.h"
#include "network/windows.h"

namespace railyard::network {

namespace {

thread_local Partition* working = nullptr;  // partition that this thread runs in a window

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

std::uint64_t Windows::run(Time end) {
    if (thread_pool_ == nullptr) start_threads();
    ++window_;
    end_ = end;
    broken_ = true;  // until the window has been merged
    // A thread that has finished a partition takes the next one, the busiest first, so that all end at about
    // the same time. With a partition for each thread, a thread keeps its partition and what it has in its
    // cache.
    if (shared_)
        std::sort(order_.begin(), order_.end(), [](const Partition* one, const Partition* other) {
            return one->executed.size() > other->executed.size();
        });
    next_ = 0;
    thread_pool_->run();
    settled_ = false;
    const double start = processor_seconds();
    double slowest = 0;
    std::uint64_t events = 0;
    for (const Share& share : shares_) {
        slowest = std::max(slowest, share.seconds);
        events += share.events;
    }
    for (std::size_t thread = 0; thread < shares_.size(); ++thread) {
        const Share share = std::exchange(shares_[thread], {});
        report_.threads[thread].events += share.events;
        report_.threads[thread].seconds += share.seconds;
        report_.threads[thread].waiting_seconds += slowest - share.seconds;
    }
    for (const auto& p : timeline_.partitions()) {
        if (!p->error) continue;
        try {
            std::rethrow_exception(std::exchange(p->error, nullptr));
        } catch (const std::exception& error) {
            throw PartitionError(error.what());
        }
    }
    merge();
    broken_ = false;
    report_.windows += 1;
    report_.slowest_seconds += slowest;
    report_.merge_seconds += processor_seconds() - start;
    return events;
}

void Windows::start_threads() {
    const std::size_t partitions = timeline_.partitions().size(), threads = std::min(threads_, partitions);
    report_.threads.resize(threads);
    shares_.resize(threads);
    shared_ = threads < partitions;
    for (const auto& p : timeline_.partitions()) order_.push_back(p.get());
    thread_pool_ = std::make_unique<ThreadPool>(threads, [this](std::size_t member) {
        if (!shared_) return run(*order_[member], shares_[member]);
        for (std::size_t at = next_++; at < order_.size(); at = next_++) run(*order_[at], shares_[member]);
    });
}

// Run a partition's part of the window; called in a thread of its own.
void Windows::run(Partition& p, Share& share) {
    const double start = processor_seconds();
    ASSERT(working == nullptr && !p.in_window());
    try {
        take_over_later(p);
        p.executed.clear();
        p.effects.clear();
        p.merged_numbers.clear();
        p.network_before = p.network_events;
        p.waiting_before = p.waiting_frames;
        p.first_number = p.next_number = timeline_.upcoming_number();
        p.numbers = &p.next_number;
        p.end = end_;
        working = &p;
        run_events_(p);
    } catch (...) {
        p.error = std::current_exception();
    }
    frames::end_streams();
    working = nullptr;
    timeline_.end_window(p);
    p.end = Partition::kNoEnd;
    p.next_time = p.events.size() > 0 ? p.events.next_time() : Partition::kNoEnd;
    for (const LaterEvent& event : p.later) p.next_time = std::min(p.next_time, event.time);
    share.events += p.executed.size();
    share.seconds += processor_seconds() - start;
}

// Insert a partition's events that the last window and its merge created for later times.
void Windows::take_over_later(Partition& p) {
    for (const LaterEvent& event : p.later)
        p.events.push(event.time, p.merged(event.number), event.kind, event.index);
    for (const LaterEvent& event : p.incoming)
        p.events.push(event.time, event.number, event.kind, event.index);
    p.later.clear();
    p.incoming.clear();
}

void Windows::settle() {
    ASSERT(!merging_);
    if (std::exchange(settled_, true)) return;
    for (const auto& p : timeline_.partitions()) take_over_later(*p);
}

// Go through the window's events in the order of (time, number), number new events, and complete effects. The
// creator of an event precedes it, so the event's final number is known at its turn.
void Windows::merge() {
    struct Cursor {
        Partition* p = nullptr;
        std::size_t at = 0, effect = 0;
        std::uint32_t created = 0;

        // Key of the next event; kNone: there is none.
        [[nodiscard]] Tournament::Key key() const {
            if (at == p->executed.size()) return Tournament::kNone;
            const Executed& next = p->executed[at];
            ASSERT(at == 0 || next.time >= p->executed[at - 1].time);
            return static_cast<Tournament::Key>(next.time.value()) << 64 | p->merged(next.number);
        }
    };
    struct Merging {
        bool& now;
        explicit Merging(bool& merging) : now(merging) { now = true; }
        ~Merging() { now = false; }
    } const merging(merging_);
    std::vector<Cursor> cursors(timeline_.partitions().size());
    std::vector<Tournament::Key> keys;
    std::int64_t waiting = 0;
    merged_network_ = 0;
    for (std::size_t i = 0; i < cursors.size(); ++i) {
        Partition& p = *timeline_.partitions()[i];
        cursors[i].p = &p;
        merged_network_ += p.network_before;
        waiting += p.waiting_before;
        keys.push_back(cursors[i].key());
    }
    for (Tournament order(keys); order.key(order.first()) != Tournament::kNone;) {
        const std::size_t player = order.first();
        Cursor& first = cursors[player];
        Partition& p = *first.p;
        const Tournament::Key limit = order.second();
        [[maybe_unused]] Tournament::Key key = order.key(player);
        ASSERT(key < limit);  // no two events have the same time and number
        do {
            if (merged_network_ == 0 && waiting > 0) throw PartitionError("frames wait for each other");
            const Executed& event = p.executed[first.at++];
            const auto number = [&p, this](std::uint32_t created) {
                while (p.merged_numbers.size() < created) p.merged_numbers.push_back(timeline_.next_number());
            };
            for (std::size_t left = event.effects; left > 0; --left) {
                const Effect& effect = p.effects[first.effect++];
                number(effect.created);
                complete(p, effect, event.time);
            }
            number(first.created += event.created);
            ASSERT(p.merged_numbers.size() == first.created);
            merged_network_ += event.network_events;
            waiting += event.waiting_frames;
            ASSERT(event.time < end_);
            timeline_.advance(event.time);
            key = first.key();
        } while (key < limit);
        order.set(player, key);
    }
    for (const auto& p : timeline_.partitions()) {
        ASSERT(p->merged_numbers.size() == p->next_number - p->first_number);
        p->calls.clear();
    }
    ASSERT(std::all_of(crossings_.begin(), crossings_.end(),
                       [](const Crossing& x) { return x.sent.empty() && !x.drained; }));
}

void Windows::complete(Partition& p, const Effect& effect, Time now) {
    if (effect.kind == Effect::Kind::Called) {
        timeline_.advance(now);
        ASSERT(effect.value < p.calls.size());
        return p.calls[effect.value]();
    }
    Crossing& x =
        effect.kind == Effect::Kind::Returned ? status(effect.crossing) : crossings_[effect.crossing];
    Channel& c = links_[x.channel];
    switch (effect.kind) {
        case Effect::Kind::Sent: {
            ++report_.frames;
            // Only the first frame under way has an event; after a drain, `Drained` adds the event.
            const bool waits = !c.flying.empty() || x.drained;
            c.flying.push_back(x.sent.pop_front());
            if (!waits)
                add_event(*timeline_.partitions()[x.to], c.flying.front().arrival, EventKind::Arrive,
                          x.channel);
            return;
        }
        case Effect::Kind::Drained:
            ASSERT(x.drained);
            x.drained = false;
            if (!c.flying.empty()) add_event(p, c.flying.front().arrival, EventKind::Arrive, x.channel);
            return;
        case Effect::Kind::Returned:
            ASSERT(effect.time >= now + c.config.delay);
            c.return_credit({effect.time, FrameBytes(effect.value), effect.lane});
            if (x.waiting) ask(x, c, std::max(c.returning.front().time, x.busy_until));
            return;
        case Effect::Kind::Wakes: c.wake_at = x.wake_at = effect.time; return;
        case Effect::Kind::Woken: c.wake_at = x.wake_at = kNever; return;
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

// Schedule a wake-up of a channel, as Queues::wake does, at the merge's position.
void Windows::ask(Crossing& x, Channel& c, Time time) {
    if (x.wake_at <= time) return;
    if (time < end_) throw PartitionError("link " + c.name + ": credits return within a window");
    c.wake_at = x.wake_at = time;
    add_event(*timeline_.partitions()[x.from], time, EventKind::Wake, x.channel);
}

void Windows::add_event(Partition& p, Time time, EventKind kind, Index<Channel> index) {
    ASSERT(time >= end_);  // no partition is past `time`
    ++p.network_events;
    ++merged_network_;
    p.next_time = std::min(p.next_time, time);
    p.incoming.push_back({time, timeline_.next_number(), kind, index.at()});
}

Crossing& Windows::status(Index<Crossing> index) {
    Crossing& x = crossings_[index];
    if (x.window != window_) {
        const Channel& c = links_[x.channel];
        x.window = window_;
        x.wake_at = c.wake_at;
        x.busy_until = c.busy_until;
        x.waiting = c.waiting > 0;
    }
    return x;
}

void Windows::cross(Index<Channel> channel, const Partition& from, const Partition& to) {
    if (&from == &to) return;
    Channel& c = links_[channel];
    ASSERT(!c.crossing && from.index != to.index);
    c.crossing = crossings_.next();
    crossings_.push_back({.channel = channel, .from = from.index, .to = to.index, .sent = {}});
    delay_ = std::min(delay_, c.config.delay);
}

Time Windows::first_event() const {
    Time first = Partition::kNoEnd;
    for (const auto& p : timeline_.partitions())
        if (!settled_ || p->events.size() > 0)
            first = std::min(first, settled_ ? p->events.next_time() : p->next_time);
    return first;
}

void Windows::clear() {
    thread_pool_.reset();
    crossings_.clear();
}

void Windows::check_whole() const {
    if (broken_) throw PartitionError("the partitions of the network are at different times");
}

void Windows::refuse_in_merge(Time alarm) const {
    if (merging_ && alarm < end_)
        throw PartitionError("an agent has called its controller, which acts before other partitions' time");
}

void Windows::refuse_in_merge() const {
    if (merging_) throw PartitionError("a controller has acted on an agent's call at once");
}

WindowReport Windows::report() const {
    WindowReport report = report_;
    report.delay = delay_;
    return report;
}

}  // namespace railyard::network
