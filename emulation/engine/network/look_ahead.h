// SPDX-License-Identifier: Apache-2.0
// Memory of events to come, fetched into the processor's caches while other events run. Nothing depends on
// it.
//
// An address can be fetched only once the memory that has it is there. So there are stages, each for an event
// further ahead than the next stage, and a stage reads what the stage before has fetched: a channel, then the
// first cells of its rings and what it leads to, then the frame in them, then the frame's bytes, then what
// the host's application reads. The distances are in events. Fetching ahead was most of what brought a rack's
// AllReduce to 0.63 of its time ("A whole collective" in docs/testbeds/performance.md). Measure a change of a
// distance there with `python -m bench.collective`, builds in turn.
#pragma once

#include <memory>

#include "network/events/partition.h"
#include "network/hosts.h"
#include "network/links/links.h"

namespace railyard {

class LookAhead {
   public:
    using Switches = List<Switch, std::unique_ptr<Switch>>;
    struct Distance {
        static constexpr std::size_t kChannel = 11, kRings = 8, kFrame = 6, kBytes = 4;
        static constexpr std::size_t kStation = Application::kStages;  // its first stage; the others follow
    };
    static_assert(Distance::kChannel < EventQueue::kAhead && Distance::kChannel > Distance::kRings &&
                  Distance::kRings > Distance::kFrame && Distance::kFrame > Distance::kBytes &&
                  Distance::kBytes > Distance::kStation);

    LookAhead(const Switches& switches, const Links& links, const Hosts& hosts)
        : switches_(switches), links_(links), hosts_(hosts) {}

    // Call after an event was taken and before it runs.
    void fetch(const Partition& p) const;

   private:
    // An event of a channel that is to come.
    struct Ahead {
        const Channel* channel = nullptr;  // null: there is none
        bool arrives = false;
        // Another thread may be at work on the end that receives, where this thread has the end that sends.
        [[nodiscard]] bool flies() const {
            return (arrives || !channel->crossing) && !channel->flying.empty();
        }
        [[nodiscard]] bool waits() const { return !arrives && channel->ready != 0; }
    };
    [[nodiscard]] Ahead at(const Partition& p, std::size_t distance) const;
    void fetch_rings(const Ahead& next) const;
    void fetch_frame(const Ahead& next) const;
    void fetch_bytes(const Ahead& next) const;
    void fetch_application(const Ahead& next, unsigned stage) const;

    const Switches& switches_;
    const Links& links_;
    const Hosts& hosts_;
};

}  // namespace railyard
