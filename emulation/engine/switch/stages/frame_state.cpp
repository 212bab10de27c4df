// SPDX-License-Identifier: Apache-2.0
#include "switch/stages/frame_state.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace railyard::switching {

FrameState::FrameState(std::shared_ptr<const Program> of)
    : owned_program(std::move(of)),
      program(*owned_program),
      slots(program.image),
      scratch(frames::kLineBytes) {}

void FrameState::save(Frame& pending) const {
    if (pending.phv == nullptr) pending.phv = pending.pool->acquire_state();
    frames::Phv& phv = *pending.phv;
    phv.slots.assign(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(program.cleared_slots));
    phv.epoch = owner->epoch;
    phv.parsed = parsed;
    phv.ingress_length = ingress_length;
    phv.length = length;
    phv.truncate = truncate;
    pending.pending = true;
}

void FrameState::load(Frame& pending) {
    ASSERT(pending.phv != nullptr && pending.phv->epoch == owner->epoch);
    const frames::Phv& phv = *pending.phv;
    ASSERT(phv.slots.size() == program.cleared_slots);
    std::copy(phv.slots.begin(), phv.slots.end(), slots.begin());
    parsed = phv.parsed;
    ingress_length = phv.ingress_length;
    length = phv.length;
    truncate = phv.truncate;
    pending.pool->release_state(std::move(pending.phv));
    pending.pending = false;
}

void FrameState::use_pass() {
    if (left.passes == 0)
        throw std::runtime_error("switch " + owner->name +
                                 ": a frame was resubmitted, recirculated or cloned by egress " +
                                 std::to_string(frames::Budget{}.passes) +
                                 " times, its copies included, and there is no end to it; program " +
                                 program.name + " must end its rounds");
    --left.passes;
}

void FrameState::use_copies(std::size_t count) {
    if (count > left.copies)
        throw std::runtime_error("switch " + owner->name + ": more than " +
                                 std::to_string(frames::Budget{}.copies) +
                                 " copies of a frame, by multicast groups and clone sessions in all its "
                                 "passes; give them fewer replicas, or let program " +
                                 program.name + " copy a frame in one pass only");
    left.copies -= static_cast<std::uint32_t>(count);
    ASSERT(left.copies <= frames::Budget{}.copies && left.passes <= frames::Budget{}.passes);
}

void FrameState::refuse_rounds() const {
    throw std::runtime_error("switch " + owner->name + ": a loop of program " + program.name +
                             " went round " + std::to_string(frames::Budget{}.rounds) +
                             " times for one frame, its copies included; it must end");
}

}  // namespace railyard::switching
