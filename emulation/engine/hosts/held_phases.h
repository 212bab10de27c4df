// SPDX-License-Identifier: Apache-2.0
// Frames that have arrived for phases of slices that cannot be applied yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "hosts/application.h"

namespace railyard::hosts {

// Contributions to a waiting phase of a slice: `place` is the phase's index in the cell's plan, `frames` are
// by index of the source, `next` links the slice's held phases (1 + index; 0: end).
struct HeldPhase {
    std::uint32_t place = 0, count = 0, next = 0;
    std::vector<FrameHandle> frames;
};

// Held phases of all slices of an agent. Each slice has a list: `first` is 1 + the index of its first held
// phase; 0: none.
class HeldPhases {
   public:
    // Return a phase of a list; a new phase has room for a frame of each source.
    HeldPhase& of(std::uint32_t& first, std::uint32_t place, std::size_t sources) {
        for (std::uint32_t at = first; at != 0; at = phases_[at - 1].next)
            if (phases_[at - 1].place == place) return phases_[at - 1];
        if (free_.empty()) {
            phases_.emplace_back();
            free_.push_back(static_cast<std::uint32_t>(phases_.size()));
        }
        const std::uint32_t at = free_.back();
        free_.pop_back();
        HeldPhase& phase = phases_[at - 1];
        phase.place = place;
        phase.count = 0;
        phase.frames.resize(sources);
        phase.next = std::exchange(first, at);
        return phase;
    }
    // Return the link of a list that leads to a phase; 0 if the phase is not held.
    [[nodiscard]] std::uint32_t& link_to(std::uint32_t& first, std::uint32_t place) {
        std::uint32_t* link = &first;
        while (*link != 0 && phases_[*link - 1].place != place) link = &phases_[*link - 1].next;
        return *link;
    }
    [[nodiscard]] const HeldPhase& at(std::uint32_t link) const { return phases_[link - 1]; }
    // Remove the phase to which a link leads, call use() with its frames, and release them.
    template <typename Use>
    void take(std::uint32_t& link, const Use& use) {
        const std::uint32_t at = link;
        link = phases_[at - 1].next;
        std::vector<FrameHandle> frames = std::move(phases_[at - 1].frames);
        use(frames);
        frames.clear();
        phases_[at - 1].frames = std::move(frames);  // reuse the memory
        free_.push_back(at);
    }
    void clear() {
        phases_.clear();
        free_.clear();
    }

   private:
    std::vector<HeldPhase> phases_;
    std::vector<std::uint32_t> free_;
};

}  // namespace railyard::hosts
