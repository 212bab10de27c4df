// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "network/links/links.h"

namespace railyard::network {

// Search the waits-for graph for a cycle, which is a deadlock: a queue waits for its channel's receive
// buffer, which is held by frames in queues of the next switch.
std::vector<Waiting> Links::deadlock() const {
    const auto n = channels_.size() * kVls;
    std::vector<std::vector<std::size_t>> waits(n);
    for (std::size_t c = 0; c < channels_.size(); ++c)
        for (std::size_t v = 0; v < kVls; ++v)
            for (std::size_t i = 0; i < channels_[c].lanes[v].queue.size(); ++i) {
                const Frame* f = channels_[c].lanes[v].queue[i].get();
                if (!f->held.channel) continue;
                auto& to = waits[buffer_of(f->held).index.at() * kVls + f->held.lane.value()];
                if (std::find(to.begin(), to.end(), c * kVls + v) == to.end()) to.push_back(c * kVls + v);
            }
    std::vector<int> colour(n, 0);
    std::vector<std::size_t> way;
    std::vector<Waiting> cycle;
    const auto visit = [&](const auto& self, std::size_t at) -> bool {
        colour[at] = 1;
        way.push_back(at);
        for (const std::size_t next : waits[at]) {
            if (colour[next] == 1) {
                for (auto it = std::find(way.begin(), way.end(), next); it != way.end(); ++it) {
                    const Channel& c = channels_[*it / kVls];
                    cycle.push_back({c.link, c.direction, c.host, lanes.vls()[*it % kVls]});
                }
                return true;
            }
            if (colour[next] == 0 && self(self, next)) return true;
        }
        colour[at] = 2;
        way.pop_back();
        return false;
    };
    for (std::size_t at = 0; at < n; ++at)
        if (colour[at] == 0 && visit(visit, at)) break;
    return cycle;
}

}  // namespace railyard::network
