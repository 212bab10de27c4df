// SPDX-License-Identifier: Apache-2.0
// Windows: spans of time in which the partitions of a network run their events at the same time. The merge of
// a window goes through its events in the order of a single queue.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "network/events/thread_pool.h"
#include "network/events/timeline.h"
#include "network/links/links.h"

namespace railyard {

// Work of threads in windows, and of the one that merges; all in processor time.
struct WindowReport {
    std::vector<ThreadWork> threads;
    std::uint64_t windows = 0, events = 0, frames = 0;  // events outside of windows; frames that crossed
    double merge_seconds = 0, slowest_seconds = 0;      // of the slowest thread of each window
    Time delay = 0;                                     // least of a link between partitions
};

class Windows {
   public:
    // Runs the events of a partition that come before the end of the window.
    using RunEvents = std::function<void(Partition&)>;

    Windows(Timeline& timeline, Links& links, RunEvents run)
        : timeline_(timeline), links_(links), run_events_(std::move(run)) {}

    // Note that a channel leads from a partition to another.
    void cross(Index<Channel> channel, const Partition& from, const Partition& to);
    // Threads that run partitions, from the first window on; unless set, one for each.
    void set_threads(std::size_t threads) { threads_ = std::max<std::size_t>(threads, 1); }
    [[nodiscard]] WindowReport report() const;
    void count_event() { ++report_.events; }

    // Least delay of a channel between partitions.
    [[nodiscard]] Time delay() const { return delay_; }
    // Time of the first event of all partitions; kNoEnd: there is none.
    [[nodiscard]] Time first_event() const;
    // Run all events before `end`, which is no later than the least delay between partitions after the first;
    // return their number.
    std::uint64_t run(Time end);
    // Insert the events that the last window created for later times.
    void settle();
    // PartitionError once a window has failed: the partitions are at different times.
    void check_whole() const;
    // PartitionError while a window is merged: what the control plane does now comes too late.
    void refuse_in_merge() const;
    void refuse_in_merge(Time alarm) const;

    // The crossing, with the state of the sending end at the begin of the window if that has not changed
    // since.
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
    // Let go of all frames and threads.
    void clear();

   private:
    void run(Partition& p);
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
    Time end_ = 0;
    std::int64_t merged_network_ = 0;  // events of kind Wake and Arrive, where the merge is
    bool merging_ = false, settled_ = true, broken_ = false;
    WindowReport report_;
    std::size_t threads_ = Timeline::kMostPartitions;
    std::unique_ptr<ThreadPool> thread_pool_;
};

}  // namespace railyard
