// SPDX-License-Identifier: Apache-2.0
// Pending events, ordered by (time, number). Numbers follow the order of insertion.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "frames/frame.h"
#include "index.h"

namespace railyard {

enum class EventKind : std::uint32_t { Wake, Arrive, Timer, Alarm, Age };

struct Event {
    Time time;
    std::uint64_t number;  // in the order of insertion
    EventKind kind;
    std::size_t index;

    template <typename T>
    Index<T> of() const {
        return Index<T>(index);
    }
};

// A 4-ary heap, half as deep as a binary heap. Most events insert one successor: the root's cell stays open
// for it. The next few events wait in a line before the heap, so that memory can be fetched for them ahead of
// their time.
class EventQueue {
   public:
    // From the top: 64 bits of time, 40 of the number, 21 of index, 3 of kind. One comparison then orders two
    // events.
    using Cell = unsigned __int128;
    static constexpr std::size_t kLine = 16;
    static constexpr int kNumberShift = 24;
    static constexpr std::uint64_t kNumbers = std::uint64_t{1} << (64 - kNumberShift);  // and none is 0

    std::size_t size() const { return count_ + cells_.size() - open_; }

    Time next_time() { return time_of(next()); }
    // The first event, for a comparison with those of other queues.
    Cell next() {
        if (count_ == 0) refill();
        return line_[first_];
    }
    Event pop() {
        if (count_ == 0) refill();
        const Event event = event_of(line_[first_]);
        first_ = (first_ + 1) % kLine;
        --count_;
        for (int i = 0; i < 2 && count_ < kLine && cells_.size() > open_; ++i) refill();
        return event;
    }
    // Event number `place` of the line, if it is that long; earlier events may still be inserted.
    std::optional<Event> ahead(std::size_t place) const {
        if (place >= count_) return std::nullopt;
        return event_of(line_[(first_ + place) % kLine]);
    }
    void push(Time time, std::uint64_t number, EventKind kind, std::size_t index) {
        if (index >= kIndices)
            throw std::length_error("more than " + std::to_string(kIndices) + " links, hosts or alarms");
        put(static_cast<Cell>(time) << 64 | number << kNumberShift | static_cast<std::uint64_t>(index) << 3 |
            static_cast<std::uint64_t>(kind));
    }
    void put(Cell cell) {
        if (count_ > 0 && cell < last()) cell = insert(cell);
        if (cell != kNothing) push(cell);
    }
    // Remove and return all events, in no order.
    std::vector<Cell> take_all() {
        if (open_) close();
        for (; count_ > 0; --count_) cells_.push_back(last());
        return std::exchange(cells_, {});
    }
    static Cell numbered(Cell cell, std::uint64_t number) {
        constexpr auto kField = static_cast<Cell>(kNumbers - 1) << kNumberShift;
        return (cell & ~kField) | static_cast<Cell>(number) << kNumberShift;
    }

   private:
    static constexpr std::size_t kIndices = 1 << 21;
    static constexpr Cell kNothing = 0;

    static Time time_of(Cell cell) { return static_cast<Time>(cell >> 64); }
    static Event event_of(Cell cell) {
        const auto low = static_cast<std::uint64_t>(cell);
        return {time_of(cell), low >> kNumberShift, static_cast<EventKind>(low & 7),
                static_cast<std::size_t>(low >> 3 & (kIndices - 1))};
    }

    const Cell& last() const { return line_[(first_ + count_ - 1) % kLine]; }
    // Move the first event of the heap to the end of the line.
    void refill() {
        if (open_) close();
        line_[(first_ + count_++) % kLine] = cells_.front();
        open_ = true;
    }
    // Insert an event in the line, at its place; return the event that has to leave a full line for the heap.
    Cell insert(Cell cell) {
        const Cell leaving = count_ == kLine ? last() : kNothing;
        if (count_ < kLine) ++count_;
        std::size_t place = count_ - 1;
        for (; place > 0 && cell < line_[(first_ + place - 1) % kLine]; --place)
            line_[(first_ + place) % kLine] = line_[(first_ + place - 1) % kLine];
        line_[(first_ + place) % kLine] = cell;
        return leaving;
    }
    void push(Cell cell) {
        if (open_) {
            open_ = false;
            return sink(cell);
        }
        std::size_t at = cells_.size();
        cells_.push_back(cell);
        for (; at > 0 && cell < cells_[(at - 1) / 4]; at = (at - 1) / 4) cells_[at] = cells_[(at - 1) / 4];
        cells_[at] = cell;
    }
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

    std::vector<Cell> cells_;
    std::array<Cell, kLine> line_{};  // a ring, from first_ on
    std::size_t first_ = 0, count_ = 0;
    bool open_ = false;
};

}  // namespace railyard
