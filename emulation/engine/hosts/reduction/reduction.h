// SPDX-License-Identifier: Apache-2.0
// Model of the unit that reduces on an NPU: its cores, or the collective communication unit (CCU) beside the
// link. tests/oracle/reduction.py and reducer.py are the specification.
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
#include "hosts/application.h"
#include "hosts/messages/payloads.h"
#include "hosts/schedule/schedule.h"

namespace railyard::hosts {

struct Reduction {
    bool ccu = false;
    std::optional<Rate> rate{};         // none: no limit
    std::optional<Bytes> sram_bytes{};  // none: no limit
    std::uint32_t core_percent = 100;
};

// Counters of one NPU.
struct ReductionStats {
    Bytes read{}, written{};  // memory traffic
    Time busy{}, core{};      // time of the unit; time of the cores taken by its tasks
    Bytes sram_peak{}, spilled{};
};

// The reduction unit of an NPU, shared by all its agents; it runs one task at a time.
class ReductionUnit {
   public:
    explicit ReductionUnit(const Reduction& reduction) : reduction_(reduction) {}

    [[nodiscard]] bool ccu() const { return reduction_.ccu; }
    [[nodiscard]] ReductionStats stats() const;
    // Return the time of the cores that all tasks of this unit have taken; 0 for a CCU, which uses no cores.
    [[nodiscard]] Time core() const;
    // Queue a task of `frames` frames of `size` each; return the time at which it ends.
    Time work(Bytes size, std::size_t frames, Time now);
    // Count memory traffic.
    void memory(Bytes read, Bytes written);
    // Allocate SRAM for a frame. If too little is free, count a write to memory and return false.
    bool claim(Bytes size);
    void free(Bytes size) {
        ASSERT(sram_ >= size);
        sram_ -= size;
    }

   private:
    Reduction reduction_;
    Time free_{};
    Bytes sram_{};
    ReductionStats stats_;
};

// State of a slice.
struct SliceState {
    std::uint32_t applied = 0, unsent = 0;  // phases applied; released sends that have not left yet
    std::uint32_t held = 0;                 // 1 + index of its first held phase; 0: none
    bool blocked = false;                   // the next phase waits for released sends to leave
};

// Runs the phases of one agent on the reduction unit.
class Reducer {
   public:
    struct Agent {
        std::uint32_t rank = 0;
        std::uint8_t dtype = 0;
        const SliceTable& table;
        const RankPlan& plan;
        Payloads& payloads;
        std::vector<SliceState>& slices;
        std::function<void(std::uint32_t index, const Phase& phase, Time now)>
            finish;                                        // called after a phase
        std::function<void(std::uint32_t index)> release;  // lets the first sends of a slice leave
    };

    // The caller keeps `unit`, which all agents of an NPU share.
    Reducer(ReductionUnit& unit, Agent agent) : unit_(unit), agent_(std::move(agent)) {}

    // Time at which the first task ends; kNever without tasks.
    [[nodiscard]] Time due() const { return tasks_.empty() ? kNever : tasks_.front().end; }
    // Return true if sends released after `applied` phases wait for a copy into the communication buffer.
    bool stages(std::uint32_t index, std::uint32_t applied);
    void begin(Time now);
    void sent(std::uint32_t index) { unit_.memory(size_of(index), Bytes()); }
    // Accept a frame of a slice; `phase` and `source` are indices in the cell's plan and in Phase::sources.
    void take(std::uint32_t index, std::uint32_t phase, std::uint32_t source, FrameHandle frame, Time now);
    // Advance a slice after a frame has arrived, or after the last of its released sends has left.
    void settle(std::uint32_t index, Time now);
    // Complete the tasks that are due.
    void run(Time now);
    // Release all frames.
    void detach();

   private:
    static constexpr std::uint32_t kStage = 0xffffffff;  // task that fills the communication buffer

    struct Task {
        Time end;
        std::uint32_t index, source;  // slice; index of the source, or kStage
    };
    // Frames of a phase that have arrived and are not added yet, by index of the source.
    struct Held {
        std::vector<FrameHandle> frames;
        std::vector<bool> in_sram;
        std::size_t count = 0;
    };
    // Current phase of a slice: numbers of frames given to the unit and added, and the sum so far.
    struct Work {
        std::size_t taken = 0, added = 0;
        std::vector<std::uint8_t> total;
        bool in_sram = false;
    };

    [[nodiscard]] Bytes size_of(std::uint32_t index) const { return Bytes(agent_.table.size[index]); }
    [[nodiscard]] std::uint8_t* own(std::uint32_t index) const {
        return agent_.payloads.array() + agent_.table.offset[index];
    }
    [[nodiscard]] const std::vector<Phase>& phases(std::uint32_t index) const {
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

    ReductionUnit& unit_;
    Agent agent_;
    std::unordered_map<std::uint64_t, Held> held_;  // by slice and phase
    std::unordered_map<std::uint32_t, Work> work_;  // by slice
    std::vector<std::uint32_t> staged_;
    std::deque<Task> tasks_;
    std::vector<const std::uint8_t*> terms_;  // for reuse
    std::vector<std::uint8_t> room_;
};

}  // namespace railyard::hosts
