// SPDX-License-Identifier: Apache-2.0
// Events in their order, in a network of a single partition.
#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "network/network.h"

namespace railyard {

RunEnd Network::run(Time until, std::uint64_t events, bool exactly) {
    // Numbers last for 10^12 events; then the pending events get numbers from 1 on, in their order.
    if (sequence_ > EventQueue::kNumbers / 16 * 15) renumber();
    resume_ageing();
    share_contents();
    const RunEnd end =
        partitions_.size() == 1 ? run_alone(until, events) : run_partitions(until, events, exactly);
    if (end != RunEnd::Control)
        for (const auto& file : recordings_) file->flush();
    return end;
}

RunEnd Network::run_alone(Time until, std::uint64_t events) {
    Partition& p = *partitions_.front();
    for (;; --events) {
        if (!control_.empty()) return RunEnd::Control;
        // Frames wait for credits, and no frame moves that could return credits.
        if (p.network_events == 0 && p.waiting_frames > 0) return RunEnd::Deadlock;
        if (p.events.size() == ageing_events_ &&
            (ageing_events_ == 0 || until >= kForever || p.events.next_time() > until))
            return RunEnd::Idle;
        if (p.events.next_time() > until) {
            now_ = std::max(now_, until);
            return RunEnd::Until;
        }
        if (events == 0) return RunEnd::Paused;
        const Event event = p.events.pop();
        look_ahead(p);
        ASSERT(event.time >= now_);  // time never goes back
        now_ = p.now = event.time;
        dispatch(p, event);
    }
}

void Network::renumber() {
    std::vector<std::pair<EventQueue::Cell, EventQueue*>> pending;
    const auto take = [&pending](EventQueue& from) {
        for (const EventQueue::Cell cell : from.take_all()) pending.emplace_back(cell, &from);
    };
    settle_window();
    for (const auto& p : partitions_) take(p->events);
    take(control_events_);
    std::sort(pending.begin(), pending.end());
    sequence_ = 1;
    for (const auto& [cell, queue] : pending) queue->put(EventQueue::numbered(cell, sequence_++));
    ASSERT(sequence_ == pending.size() + 1);
}

// Let the processor fetch the memory of the next events while others run. Each address stands in memory
// fetched before: that of a channel, then that of its first cell and of what it leads to, then that of the
// frame, then what a station reads for it.
void Network::look_ahead(const Partition& p) const {
    struct Ahead {
        const Channel* channel = nullptr;
        bool arrives = false;
        // Another thread may be at work on the end that receives, where this thread has the end that sends.
        bool flies() const { return (arrives || !channel->crossing) && !channel->flying.empty(); }
    };
    const auto at = [this, &p](std::size_t place) -> Ahead {
        const auto event = p.events.ahead(place);
        if (!event || event->kind > EventKind::Arrive) return {};
        return {&channels_[Index<Channel>(event->index)], event->kind == EventKind::Arrive};
    };
    const auto next_lane = [](const Channel& c) {
        return &c.lanes[static_cast<std::size_t>(std::bit_width(c.ready)) - 1];
    };
    if (const Ahead next = at(11); next.channel != nullptr) fetch_lines(next.channel, Channel::kHotLines);
    if (const Ahead next = at(8); next.channel != nullptr) {
        const Channel& c = *next.channel;
        if (next.flies()) fetch(&c.flying[0]);
        if (next.arrives && c.to_switch) switches_[c.to_switch]->fetch();
        else if (next.arrives) fetch(&hosts_[c.host]);
        else if (c.ready != 0) fetch(next_lane(c));
    }
    if (const Ahead next = at(6); next.channel != nullptr) {
        const Channel& c = *next.channel;
        if (next.flies()) fetch_lines(c.flying[0].frame.get(), 3);
        if (next.arrives && c.to_switch) {
            const Switch& sw = *switches_[c.to_switch];
            if (sw.program() != nullptr && !sw.program()->tables.empty()) sw.fetch_lists();
            fetch(&out_channel_[c.to_switch]);
        } else if (next.arrives) {
            fetch_lines(hosts_[c.host].station.get(), 6);
        } else if (c.ready != 0) {
            fetch(&next_lane(c)->queue[0]);
        }
    }
    if (const Ahead next = at(4); next.channel != nullptr) {
        const Channel& c = *next.channel;
        if (next.flies()) {
            const Frame& frame = *c.flying[0].frame;
            fetch(frame.data());
            if (next.arrives && !c.to_switch) fetch(frame.payload);
        }
        if (next.arrives && c.to_switch) {
            switches_[c.to_switch]->fetch_tables();
            fetch(out_channel_[c.to_switch].data());
        }
        if (!next.arrives && c.ready != 0) fetch(next_lane(c)->queue[0].get());
    }
    for (unsigned stage = 0; stage < Station::kStages; ++stage) {
        const std::size_t place = Station::kStages - stage;
        const Ahead next = at(place);
        if (next.channel == nullptr || !next.arrives || next.channel->to_switch || !next.flies()) continue;
        if (const Station* const station = hosts_[next.channel->host].station.get(); station != nullptr)
            station->expect(*next.channel->flying[0].frame, stage);
    }
}

}  // namespace railyard
