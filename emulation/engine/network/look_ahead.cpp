// SPDX-License-Identifier: Apache-2.0
#include "network/look_ahead.h"

#include <bit>

namespace railyard::network {

namespace {

const Channel::LaneState& next_lane(const Channel& c) {
    return c.lanes[static_cast<std::size_t>(std::bit_width(c.ready) - 1)];
}

}  // namespace

void LookAhead::fetch(Partition& p) const {
    const EventQueue::Cell* const coming = p.events.coming();
    if (coming == nullptr) return;  // what so few events need is cached
    const auto at = [&](std::size_t distance, const auto& stage) {
        const EventKind kind = EventQueue::kind_of(coming[distance]);
        if (kind > EventKind::Arrive) return;
        stage(links_[Index<Channel>(EventQueue::index_of(coming[distance]))], kind == EventKind::Arrive);
    };
    at(Distance::kChannel, [](const Channel& c, bool /*arrives*/) { fetch_lines(&c, Channel::kHotLines); });
    at(Distance::kRings, [this](const Channel& c, bool arrives) { fetch_rings(c, arrives); });
    at(Distance::kFrame, [this](const Channel& c, bool arrives) { fetch_frame(c, arrives); });
    bool delivers = false;
    at(Distance::kBytes, [this, &delivers](const Channel& c, bool arrives) {
        delivers = arrives && !c.to_switch;
        fetch_bytes(c, arrives);
    });
    p.deliveries = p.deliveries << 1 | static_cast<unsigned>(delivers);
    if ((p.deliveries & kStations) == 0) return;
    for (unsigned stage = 0; stage < Application::kStages; ++stage)
        at(Distance::kStation - stage, [this, stage](const Channel& c, bool arrives) {
            if (arrives && !c.to_switch && !c.flying.empty()) fetch_application(c, stage);
        });
}

inline void LookAhead::fetch_rings(const Channel& c, bool arrives) const {
    if (!arrives) {
        if (c.ready != 0) railyard::fetch(&next_lane(c));
        return;
    }
    if (!c.flying.empty()) railyard::fetch(&c.flying[0]);
    if (c.to_switch) switches_[c.to_switch]->fetch();
    else railyard::fetch(&hosts_[c.host]);
}

inline void LookAhead::fetch_frame(const Channel& c, bool arrives) const {
    if (!arrives) {
        if (c.ready != 0) railyard::fetch(&next_lane(c).queue[0]);
        return;
    }
    if (!c.flying.empty()) fetch_lines(c.flying[0].frame.get(), 3);
    if (!c.to_switch) return fetch_lines(hosts_[c.host].application.get(), 6);
    switches_[c.to_switch]->fetch_lists();
    railyard::fetch(&links_.out_of(c.to_switch));
}

inline void LookAhead::fetch_bytes(const Channel& c, bool arrives) const {
    if (!arrives) {
        if (c.ready != 0) railyard::fetch(next_lane(c).queue[0].get());
        return;
    }
    if (!c.flying.empty()) {
        const Frame& frame = *c.flying[0].frame;
        railyard::fetch(frame.data());
        if (!c.to_switch) railyard::fetch(frame.payload);
    }
    if (!c.to_switch) return;
    switches_[c.to_switch]->fetch_tables();
    railyard::fetch(links_.out_of(c.to_switch).data());
}

inline void LookAhead::fetch_application(const Channel& c, unsigned stage) const {
    if (const Application* const application = hosts_[c.host].application.get(); application != nullptr)
        application->prefetch(*c.flying[0].frame, stage);
}

}  // namespace railyard::network
