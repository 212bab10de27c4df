// SPDX-License-Identifier: Apache-2.0
// Prefetching: loads memory of coming events into the processor's caches while other events run. It never
// changes results.
//
// An address can be fetched only once the memory that holds it is cached. So there are stages: each reads
// what the stage before has fetched, for an event nearer to its turn. The stages fetch a channel, then the
// first cells of its rings and the switch or host that it leads to, then the frame in the ring, then the
// frame's bytes, then what the host's application reads. Distances count events. Prefetching gave most of the
// reduction of a rack's AllReduce to 0.63 of its run time ("A whole collective" in
// docs/testbeds/performance.md). Measure a change of a distance with `python -m bench.collective`,
// alternating the builds.
#pragma once

#include <memory>

#include "network/events/partition.h"
#include "network/hosts.h"
#include "network/links/links.h"

namespace railyard::network {

class LookAhead {
   public:
    using Switches = List<Switch, std::unique_ptr<Switch>>;
    struct Distance {
        static constexpr std::size_t kChannel = 11, kRings = 8, kFrame = 6, kBytes = 4;
        static constexpr std::size_t kStation = 3;  // of the first stage of an application
    };
    static_assert(Distance::kChannel < EventQueue::kAhead && Distance::kChannel > Distance::kRings &&
                  Distance::kRings > Distance::kFrame && Distance::kFrame > Distance::kBytes &&
                  Distance::kBytes > Distance::kStation && Distance::kStation >= Application::kStages);

    LookAhead(const Switches& switches, const Links& links, const Hosts& hosts)
        : switches_(switches), links_(links), hosts_(hosts) {}

    // Prefetch for coming events; call after an event was popped and before it runs.
    void fetch(Partition& p) const;

   private:
    // Bits of Partition::deliveries at the distances of an application's stages.
    static constexpr unsigned kStations = ((1u << Application::kStages) - 1)
                                          << (Distance::kBytes - Distance::kStation);

    // Stages of an event of a channel: an arrival, or a wake-up of the sending end.
    void fetch_rings(const Channel& c, bool arrives) const;
    void fetch_frame(const Channel& c, bool arrives) const;
    void fetch_bytes(const Channel& c, bool arrives) const;
    void fetch_application(const Channel& c, unsigned stage) const;

    const Switches& switches_;
    const Links& links_;
    const Hosts& hosts_;
};

}  // namespace railyard::network
