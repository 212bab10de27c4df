// SPDX-License-Identifier: Apache-2.0
#include "network/look_ahead.h"

#include <bit>

namespace railyard::network {

namespace {

const Channel::LaneState& next_lane(const Channel& c) {
    return c.lanes[static_cast<std::size_t>(std::bit_width(c.ready)) - 1];
}

}  // namespace

LookAhead::Ahead LookAhead::at(const Partition& p, std::size_t distance) const {
    const auto event = p.events.ahead(distance);
    if (!event || event->kind > EventKind::Arrive) return {};
    return {&links_[Index<Channel>(event->index)], event->kind == EventKind::Arrive};
}

void LookAhead::fetch(const Partition& p) const {
    if (const Ahead next = at(p, Distance::kChannel); next.channel != nullptr)
        fetch_lines(next.channel, Channel::kHotLines);
    if (const Ahead next = at(p, Distance::kRings); next.channel != nullptr) fetch_rings(next);
    if (const Ahead next = at(p, Distance::kFrame); next.channel != nullptr) fetch_frame(next);
    if (const Ahead next = at(p, Distance::kBytes); next.channel != nullptr) fetch_bytes(next);
    for (unsigned stage = 0; stage < Application::kStages; ++stage)
        if (const Ahead next = at(p, Distance::kStation - stage); next.channel != nullptr)
            fetch_application(next, stage);
}

void LookAhead::fetch_rings(const Ahead& next) const {
    const Channel& c = *next.channel;
    if (next.flies()) railyard::fetch(&c.flying[0]);
    if (next.arrives && c.to_switch) switches_[c.to_switch]->fetch();
    else if (next.arrives) railyard::fetch(&hosts_[c.host]);
    else if (next.waits()) railyard::fetch(&next_lane(c));
}

void LookAhead::fetch_frame(const Ahead& next) const {
    const Channel& c = *next.channel;
    if (next.flies()) fetch_lines(c.flying[0].frame.get(), 3);
    if (next.arrives && c.to_switch) {
        const Switch& sw = *switches_[c.to_switch];
        if (sw.program() != nullptr && !sw.program()->tables.empty()) sw.fetch_lists();
        railyard::fetch(&links_.out_of(c.to_switch));
    } else if (next.arrives) {
        fetch_lines(hosts_[c.host].application.get(), 6);
    } else if (next.waits()) {
        railyard::fetch(&next_lane(c).queue[0]);
    }
}

void LookAhead::fetch_bytes(const Ahead& next) const {
    const Channel& c = *next.channel;
    if (next.flies()) {
        const Frame& frame = *c.flying[0].frame;
        railyard::fetch(frame.data());
        if (next.arrives && !c.to_switch) railyard::fetch(frame.payload);
    }
    if (next.arrives && c.to_switch) {
        switches_[c.to_switch]->fetch_tables();
        railyard::fetch(links_.out_of(c.to_switch).data());
    }
    if (next.waits()) railyard::fetch(next_lane(c).queue[0].get());
}

void LookAhead::fetch_application(const Ahead& next, unsigned stage) const {
    const Channel& c = *next.channel;
    if (!next.arrives || c.to_switch || !next.flies()) return;
    if (const Application* const application = hosts_[c.host].application.get(); application != nullptr)
        application->prefetch(*c.flying[0].frame, stage);
}

}  // namespace railyard::network
