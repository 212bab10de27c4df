// SPDX-License-Identifier: Apache-2.0
// Pending events, ordered by (time, sequence of insertion).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "frames/frame.h"
#include "index.h"

namespace railyard {

enum class EventKind : std::uint32_t { Wake, Arrive, Timer, Alarm, Age };

struct Event {
    Time time;
    EventKind kind;
    std::size_t index;

    template <typename T>
    Index<T> of() const {
        return Index<T>(index);
    }
};

// A 4-ary heap, half as deep as a binary heap. Most events insert one successor: the root's cell stays open
// for it.
class EventQueue {
   public:
    std::size_t size() const { return cells_.size() - open_; }

    Time next_time() {
        if (open_) close();
        return time_of(cells_.front());
    }
    Event pop() {
        if (open_) close();
        open_ = true;
        const auto low = static_cast<std::uint64_t>(cells_.front());
        return {time_of(cells_.front()), static_cast<EventKind>(low & 7),
                static_cast<std::size_t>(low >> 3 & (kIndices - 1))};
    }
    void push(Time time, EventKind kind, std::size_t index) {
        if (index >= kIndices)
            throw std::length_error("more than " + std::to_string(kIndices) + " links, hosts or alarms");
        if (sequence_ == kSequences) renumber();
        const Cell cell = static_cast<Cell>(time) << 64 | sequence_++ << kSequenceShift |
                          static_cast<std::uint64_t>(index) << 3 | static_cast<std::uint64_t>(kind);
        if (open_) {
            open_ = false;
            return sink(cell);
        }
        std::size_t at = cells_.size();
        cells_.push_back(cell);
        for (; at > 0 && cell < cells_[(at - 1) / 4]; at = (at - 1) / 4) cells_[at] = cells_[(at - 1) / 4];
        cells_[at] = cell;
    }

   private:
    // From the top: 64 bits of time, 40 of sequence, 21 of index, 3 of kind. One comparison then orders two
    // events.
    using Cell = unsigned __int128;
    static constexpr std::size_t kIndices = 1 << 21;
    static constexpr int kSequenceShift = 24;
    static constexpr std::uint64_t kSequences = std::uint64_t{1} << (64 - kSequenceShift);

    static Time time_of(Cell cell) { return static_cast<Time>(cell >> 64); }

    void close() {
        open_ = false;
        const Cell last = cells_.back();
        cells_.pop_back();
        if (!cells_.empty()) sink(last);
    }
    // Insert a cell at the root and sift it down.
    void sink(Cell cell) {
        Cell* const cells = cells_.data();
        const std::size_t size = cells_.size();
        const auto lesser = [cells](std::size_t a, std::size_t b) { return cells[b] < cells[a] ? b : a; };
        std::size_t at = 0;
        for (std::size_t child = 1; child < size; child = 4 * at + 1) {
            std::size_t least = child;
            if (child + 4 <= size) least = lesser(lesser(child, child + 1), lesser(child + 2, child + 3));
            else
                while (++child < size) least = lesser(least, child);
            if (!(cells[least] < cell)) break;
            cells[at] = cells[least];
            at = least;
        }
        cells[at] = cell;
    }
    // After 10^12 events, number the pending events from 0 in their order.
    void renumber() {
        if (open_) close();
        std::sort(cells_.begin(), cells_.end());  // a sorted array is a heap
        sequence_ = 0;
        constexpr auto kField = static_cast<Cell>(kSequences - 1) << kSequenceShift;
        for (Cell& cell : cells_) cell = (cell & ~kField) | static_cast<Cell>(sequence_++) << kSequenceShift;
    }

    std::vector<Cell> cells_;
    std::uint64_t sequence_ = 0;
    bool open_ = false;
};

}  // namespace railyard
