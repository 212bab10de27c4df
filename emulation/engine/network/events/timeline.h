// SPDX-License-Identifier: Apache-2.0
// Current time, and the partitions with their pending events. Events are ordered by (time, number).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "network/events/events.h"
#include "network/events/partition.h"

namespace railyard::network {

constexpr Time kForever = kNever - Time(1);

class Timeline {
   public:
    static constexpr std::uint32_t kMostPartitions = 1024;

    // The first partition takes its frames from `pool`.
    Timeline(FramePool& pool, switching::ProgramShares& shares);
    Timeline(const Timeline&) = delete;

    [[nodiscard]] Time now() const { return now_; }
    // Time never goes back.
    void advance(Time now) {
        ASSERT_ALWAYS(now >= now_);
        now_ = now;
    }
    // Set a partition's clock to the current time, for an action of the control plane; return it.
    [[nodiscard]] Partition& at_present(Partition& p) const {
        p.now = now_;
        return p;
    }

    [[nodiscard]] const std::vector<std::unique_ptr<Partition>>& partitions() const { return partitions_; }
    [[nodiscard]] Partition& first() const { return *partitions_.front(); }
    [[nodiscard]] bool alone() const { return partitions_.size() == 1; }
    void add_partition(FramePool& pool, switching::ProgramShares& shares);
    // True once an event has been created.
    [[nodiscard]] bool started() const { return number_ > 1; }

    // Event numbers count events in the order of creation, from 1. A partition in a window counts by itself.
    [[nodiscard]] std::uint64_t next_number() { return number_++; }
    [[nodiscard]] std::uint64_t upcoming_number() const { return number_; }
    void end_window(Partition& p) { p.numbers = &number_; }
    // True if renumber() is due: numbers suffice for 10^12 events.
    [[nodiscard]] bool numbers_run_out() const { return number_ > EventQueue::kNumbers / 16 * 15; }
    // Number the pending events from 1 on, in their order.
    void renumber();

    template <typename T>
    static void push(Partition& p, Time time, EventKind kind, Index<T> index);
    // Push the event of an alarm or of the ageing of table entries; such an event belongs to no partition.
    template <typename T>
    void push_control(Time time, EventKind kind, Index<T> index);
    // Queue of the events that push_control() pushes. With a single partition they go into its queue instead,
    // and this queue stays empty.
    [[nodiscard]] EventQueue& control_events() { return control_events_; }

    template <typename T>
    [[nodiscard]] T sum(T Partition::* of) const {
        T total = 0;
        for (const auto& p : partitions_) total += (*p).*of;
        return total;
    }
    // True if frames wait for credits and no frame is moving that could return credits.
    [[nodiscard]] bool deadlocked() const {
        return sum(&Partition::network_events) == 0 && sum(&Partition::waiting_frames) > 0;
    }

   private:
    Time now_{};
    std::uint64_t number_ = 1;
    std::vector<std::unique_ptr<Partition>> partitions_;
    EventQueue control_events_;
};

template <typename T>
void Timeline::push(Partition& p, Time time, EventKind kind, Index<T> index) {
    if (kind == EventKind::Wake || kind == EventKind::Arrive) ++p.network_events;
    const std::uint64_t number = (*p.numbers)++;
    if (time >= p.end) [[unlikely]]
        return p.put_later(time, number, kind, index.at());
    p.events.push(time, number, kind, index.at());
}

template <typename T>
void Timeline::push_control(Time time, EventKind kind, Index<T> index) {
    EventQueue& events = alone() ? first().events : control_events_;
    events.push(time, number_++, kind, index.at());
}

}  // namespace railyard::network
