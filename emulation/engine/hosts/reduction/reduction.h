// SPDX-License-Identifier: Apache-2.0
// The reducer of an NPU: its cores, or the collective co-processor (CCU) beside the link.
// tests/oracle/reduction.py and reducer.py are the specification.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frames/frame.h"
#include "hosts/messages/payloads.h"
#include "hosts/schedule/schedule.h"
#include "network/links/application.h"

namespace railyard {

struct Reduction {
    bool ccu = false;
    std::optional<std::uint64_t> rate_bps, sram_bytes;  // none: no limit
    std::uint32_t core_percent = 100;
};

// Counts of one NPU.
struct ReductionStats {
    std::uint64_t read = 0, written = 0;
    Time busy = 0, core = 0;
    std::uint64_t sram_peak = 0, spilled = 0;
};

// The unit of an NPU that reduces, shared by all its agents; it does one task after the other.
class ReductionUnit {
   public:
    explicit ReductionUnit(const Reduction& reduction) : reduction_(reduction) {}

    bool ccu() const { return reduction_.ccu; }
    ReductionStats stats() const;
    // Time that the cores have lost to tasks given to this unit so far.
    Time core() const;
    // Take on a task of so many frames of `size` bytes; returns the time at which it ends.
    Time work(std::uint32_t size, std::size_t frames, Time now);
    void memory(std::uint64_t read, std::uint64_t written);
    // Take SRAM for a frame; false, and the frame is written to memory, if too little is free.
    bool claim(std::uint32_t size);
    void free(std::uint32_t size) {
        ASSERT(sram_ >= size);
        sram_ -= size;
    }

   private:
    Reduction reduction_;
    Time free_ = 0;
    std::uint64_t sram_ = 0;
    ReductionStats stats_;
};

// State of a slice: phases that have been applied, and released sends that have not left yet.
struct SliceState {
    std::uint32_t applied = 0, unsent = 0;
    std::uint32_t held = 0;  // 1 + the first of its held phases; 0: none
    bool blocked = false;    // waits for earlier sends to leave
};

// Phases of one agent on the unit.
class Reducer {
   public:
    struct Agent {
        std::uint32_t rank = 0;
        std::uint8_t dtype = 0;
        const SliceTable& table;
        const RankPlan& plan;
        Payloads& payloads;
        std::vector<SliceState>& slices;
        std::function<void(std::uint32_t index, const Phase& phase, Time now)> finish;  // go on after a phase
        std::function<void(std::uint32_t index)> release;  // let the first sends of a slice leave
    };

    Reducer(std::shared_ptr<ReductionUnit> unit, Agent agent)
        : unit_(std::move(unit)), agent_(std::move(agent)) {}

    // Time at which the first task ends; kNever without tasks.
    Time due() const { return tasks_.empty() ? kNever : tasks_.front().end; }
    // True if sends that a phase has released wait for a copy into the communication buffer.
    bool stages(std::uint32_t index, std::uint32_t applied);
    void begin(Time now);
    void sent(std::uint32_t index) { unit_->memory(size_of(index), 0); }
    // Take the frame of a source of the phase at `phase`; `source` is its place among the phase's sources.
    void take(std::uint32_t index, std::uint32_t phase, std::uint32_t source, FrameHandle frame, Time now);
    // Go on with a slice, after an arrival or after its last released send has left.
    void settle(std::uint32_t index, Time now);
    // End the tasks that are due.
    void run(Time now);
    // Let go of all frames.
    void detach();

   private:
    static constexpr std::uint32_t kStage = 0xffffffff;  // copy a slice into the communication buffer

    struct Task {
        Time end;
        std::uint32_t index, source;  // place of the source, or kStage
    };
    // Frames of a phase that have arrived and are not added yet, by place of their source.
    struct Held {
        std::vector<FrameHandle> frames;
        std::vector<bool> in_sram;
        std::size_t count = 0;
    };
    // The present phase of a slice: frames given to the unit and added, and their sum.
    struct Work {
        std::size_t taken = 0, added = 0;
        std::vector<std::uint8_t> total;
        bool in_sram = false;
    };

    std::uint32_t size_of(std::uint32_t index) const { return agent_.table.size[index]; }
    std::uint8_t* own(std::uint32_t index) const {
        return agent_.payloads.array() + agent_.table.offset[index];
    }
    const std::vector<Phase>& phases(std::uint32_t index) const {
        return agent_.plan.plans[agent_.plan.of_cell[agent_.table.cell[index]]].phases;
    }
    static std::uint64_t key(std::uint32_t index, std::uint32_t phase) {
        return std::uint64_t{index} << 32 | phase;
    }
    void offer(std::uint32_t index, Time now);
    void offer_whole(std::uint32_t index, Work& work, bool complete, Time now);
    void reduce(std::uint32_t index, const Phase& phase, Time now);
    void add(std::uint32_t index, const Phase& phase, std::size_t place);
    void write(std::uint32_t index, const Phase& phase, Time now);

    std::shared_ptr<ReductionUnit> unit_;
    Agent agent_;
    std::unordered_map<std::uint64_t, Held> held_;  // by slice and phase
    std::unordered_map<std::uint32_t, Work> work_;  // by slice
    std::vector<std::uint32_t> staged_;
    std::deque<Task> tasks_;
    std::vector<const std::uint8_t*> terms_;  // for reuse
    std::vector<std::uint8_t> room_;
};

}  // namespace railyard
