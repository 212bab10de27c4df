// SPDX-License-Identifier: Apache-2.0
// A rank's part of a collective: the slices of its array, with the arrivals and sends of each slice.
// emulation/traffic/schedule/slicing.py explains the terms.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "invariant.h"

namespace railyard::hosts {

inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

// Slices of an array, each the payload of a frame. Offsets and sizes are bytes. A cell is a range of the
// array that transfers move only as a whole.
struct SliceTable {
    std::vector<std::uint64_t> offset;
    std::vector<std::uint32_t> size, cell;
    std::vector<std::uint32_t> order;  // slices in the order of their first release
    std::vector<std::uint32_t> count;  // number of slices by cell

    // invalid_argument if the lists differ in length or a cell or slice number is out of range.
    SliceTable(std::vector<std::uint64_t> offsets, std::vector<std::uint32_t> sizes,
               std::vector<std::uint32_t> cells, std::vector<std::uint32_t> release_order,
               std::size_t cell_count);

    // Return the slice that begins at an offset in bytes; kNone if no slice does.
    [[nodiscard]] std::uint32_t find(std::uint64_t searched) const {
        if (by_unit_.empty()) {
            const auto at = by_offset_.find(searched);
            return at == by_offset_.end() ? kNone : at->second;
        }
        // The offset divided by the unit, without a divide instruction. For numbers that are no multiples of
        // the unit, the result is beyond the quotients of all that are.
        const std::uint64_t place = std::rotr(searched * inverse_, shift_);
        return place < by_unit_.size() ? by_unit_[place] : kNone;
    }

   private:
    // The unit is the greatest common divisor of all offsets: an odd number << shift_. `inverse_` is the
    // inverse of the odd number modulo 2^64.
    std::uint64_t inverse_ = 1;
    int shift_ = 0;
    std::vector<std::uint32_t> by_unit_;  // slice by offset / unit; empty: too sparse, by_offset_ serves
    std::unordered_map<std::uint64_t, std::uint32_t> by_offset_;
};

// A rank's sending of one cell in one step.
struct Send {
    std::uint16_t step = 0;
    std::uint32_t peer = 0;  // index of the rank's peer; kNone: the rank itself
    std::uint8_t op = 0;
    std::int64_t shift = 0;  // offset at the receiver minus the offset at this rank, in bytes
    std::uint32_t task = kNone;
};

// Arrivals of a cell in a step; `sources` are ranks in ascending order.
struct Phase {
    std::uint16_t step = 0;
    std::uint8_t op = 0;
    std::vector<std::uint32_t> sources;
    std::uint32_t task = kNone;

    // Return the index of a rank in `sources`; kNone if it is no source.
    [[nodiscard]] std::uint32_t source_of(std::uint32_t rank) const {
        // In an all-to-all step the sources are all ranks but one, so that the index is the rank or 1 less.
        for (const std::uint32_t guess : {rank, rank - 1})
            if (guess < sources.size() && sources[guess] == rank) return guess;
        const auto at = std::lower_bound(sources.begin(), sources.end(), rank);
        if (at == sources.end() || *at != rank) return kNone;
        return static_cast<std::uint32_t>(at - sources.begin());
    }
};

// A rank's plan for a cell. releases[i]: indices into RankPlan::sends that may leave after i applied phases.
struct CellPlan {
    std::vector<Phase> phases;  // by step
    std::vector<std::vector<std::uint32_t>> releases;

    // Return the index of the phase of a step, most often `guess`; kNone if there is none.
    [[nodiscard]] std::uint32_t phase_at(std::uint16_t step, std::uint32_t guess) const {
        if (guess < phases.size() && phases[guess].step == step) return guess;
        const auto at = std::lower_bound(phases.begin(), phases.end(), step,
                                         [](const Phase& a, std::uint16_t b) { return a.step < b; });
        if (at == phases.end() || at->step != step) return kNone;
        return static_cast<std::uint32_t>(at - phases.begin());
    }
};

struct RankPlan {
    std::vector<Send> sends;
    std::vector<CellPlan> plans;         // distinct plans; many cells share a plan
    std::vector<std::uint32_t> of_cell;  // index into `plans`, by cell

    // Totals over all slices.
    std::size_t phases = 0;
    std::map<std::uint16_t, std::size_t> due;  // phases by step
    std::vector<std::uint32_t> leaving;        // slices by send

    // invalid_argument if an index is out of range, or a plan has not one release list more than phases.
    RankPlan(const SliceTable& table, std::size_t peers, std::vector<Send> all_sends,
             std::vector<CellPlan> distinct, std::vector<std::uint32_t> plan_of_cell);
};

// Holds a step's sends until all frames of earlier steps have arrived. A send waits only for earlier steps,
// so ranks cannot block each other.
class StepBarrier {
   public:
    using Item = std::pair<std::uint32_t, std::uint32_t>;  // slice and send

    explicit StepBarrier(std::map<std::uint16_t, std::size_t> due) : due_(std::move(due)) {}

    // Hold the item and return true if arrivals of an earlier step are missing; else return false.
    bool hold(std::uint16_t step, Item item) {
        if (due_.empty() || step <= due_.begin()->first) return false;
        held_[step].push_back(item);
        return true;
    }
    // Count an arrival of a step; return the held items that may now leave, in the order of steps.
    std::vector<Item> arrived(std::uint16_t step) {
        const auto due = due_.find(step);
        ASSERT(due != due_.end() && due->second > 0);
        if (--due->second > 0) return {};
        due_.erase(due);
        std::vector<Item> items;
        while (!held_.empty() && (due_.empty() || held_.begin()->first <= due_.begin()->first)) {
            const auto& first = held_.begin()->second;
            items.insert(items.end(), first.begin(), first.end());
            held_.erase(held_.begin());
        }
        return items;
    }

   private:
    std::map<std::uint16_t, std::size_t> due_;  // arrivals that are still expected
    std::map<std::uint16_t, std::vector<Item>> held_;
};

}  // namespace railyard::hosts
