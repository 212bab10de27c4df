// SPDX-License-Identifier: Apache-2.0
// Windows: spans of virtual time in which the partitions run their events in parallel. After each window, a
// merge goes through its events in the order of a single queue.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "network/events/thread_pool.h"
#include "network/events/timeline.h"
#include "network/links/links.h"

namespace railyard::network {

// Work of the threads in windows, and of the merges. Seconds are processor time.
struct WindowReport {
    std::vector<ThreadWork> threads;
    std::uint64_t windows = 0, events = 0, frames = 0;  // windows; events outside; frames between partitions
    double merge_seconds = 0, slowest_seconds = 0;      // slowest: sum over windows of the slowest thread
    Time delay{};                                       // least delay of a link between partitions
};

class Windows {
   public:
    // Runs the events of a partition before the end of the window.
    using RunEvents = std::function<void(Partition&)>;

    Windows(Timeline& timeline, Links& links, RunEvents run)
        : timeline_(timeline), links_(links), run_events_(std::move(run)) {}

    // Register a channel; it becomes a crossing if its ends are in different partitions.
    void cross(Index<Channel> channel, const Partition& from, const Partition& to);
    // Set the number of threads that run partitions, before the first window; by default one per partition.
    void set_threads(std::size_t threads) { threads_ = std::max<std::size_t>(threads, 1); }
    [[nodiscard]] WindowReport report() const;
    void count_event() { ++report_.events; }

    // Least delay of a channel between partitions.
    [[nodiscard]] Time delay() const { return delay_; }
    // Time of the earliest event of all partitions; kNoEnd: there is none.
    [[nodiscard]] Time first_event() const;
    // Run all events before `end` as one window, and merge it; return the number of events. `end` is at most
    // first_event() + delay(). PartitionError if an event needs other partitions at its own time.
    std::uint64_t run(Time end);
    // Insert the events that the last window created for times after its end.
    void settle();
    // Throw PartitionError if a window has failed, since the partitions are then at different times.
    void check_whole() const;
    // Throw PartitionError while a window is merged: partitions have passed the time of the control plane's
    // action. An alarm is refused only before the window's end.
    void refuse_in_merge() const;
    void refuse_in_merge(Time alarm) const;

    // Return a crossing; its first use in a window copies the sending end's state from the channel.
    Crossing& status(Index<Crossing> index);
    void note_status(Partition& p, const Channel& c) const {
        if (!c.crossing || !p.in_window()) [[likely]]
            return;
        p.note({.kind = Effect::Kind::Status,
                .value = c.waiting > 0,
                .crossing = c.crossing,
                .time = c.busy_until});
    }
    [[nodiscard]] Crossing& operator[](Index<Crossing> index) { return crossings_[index]; }
    [[nodiscard]] Partition& sender_of(const Channel& c, Partition& p) const {
        return c.crossing ? *timeline_.partitions()[crossings_[c.crossing].from] : p;
    }
    [[nodiscard]] Partition& receiver_of(const Channel& c, Partition& p) const {
        return c.crossing ? *timeline_.partitions()[crossings_[c.crossing].to] : p;
    }
    // Release all frames and end the threads.
    void clear();

   private:
    // Part of a thread in a window: its events, and seconds of processor time.
    struct alignas(64) Share {
        std::uint64_t events = 0;
        double seconds = 0;
    };

    void start_threads();
    void run(Partition& p, Share& share);
    static void take_over_later(Partition& p);
    void merge();
    void complete(Partition& p, const Effect& effect, Time now);
    void ask(Crossing& x, Channel& c, Time time);
    void add_event(Partition& p, Time time, EventKind kind, Index<Channel> index);

    Timeline& timeline_;
    Links& links_;
    RunEvents run_events_;
    List<Crossing> crossings_;
    Time delay_ = kForever;
    std::uint64_t window_ = 0;
    Time end_{};
    std::int64_t merged_network_ = 0;  // pending events of kind Wake and Arrive at the merge's position
    bool merging_ = false, settled_ = true, broken_ = false;
    WindowReport report_;
    std::size_t threads_ = Timeline::kMostPartitions;
    bool shared_ = false;                // there are more partitions than threads
    std::vector<Partition*> order_;      // in which threads take partitions
    std::atomic<std::size_t> next_ = 0;  // position in `order_`
    std::vector<Share> shares_;          // by thread
    std::unique_ptr<ThreadPool> thread_pool_;
};

}  // namespace railyard::network
