// SPDX-License-Identifier: Apache-2.0
// Pending events, ordered by (time, number). Numbers follow the order of insertion.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "frames/frame.h"
#include "index.h"
#include "invariant.h"

namespace railyard::network {

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

// A calendar queue (Brown, Communications of the ACM 31(10), 1988). Time is divided into days. A day's events
// are unsorted until the day begins; `today_` has the events of all begun days, sorted. Events beyond the
// last day of the calendar wait in a heap. The calendar adapts the length and number of days to the events,
// so that the cost of an event hardly depends on how many are pending.
class EventQueue {
   public:
    // An event packed into 128 bits, from the top: 64 bits of time, 40 of number, 21 of index, 3 of kind. One
    // comparison orders two events.
    using Cell = unsigned __int128;
    static constexpr int kNumberShift = 24;
    static constexpr std::uint64_t kNumbers = std::uint64_t{1} << (64 - kNumberShift);  // 0 is not used

    [[nodiscard]] std::size_t size() const { return count() + listed_ + far_.size(); }

    Time next_time() { return time_of(next()); }
    // Return the first event without removing it; cells of different queues are comparable.
    Cell next() {
        ASSERT(size() > 0);
        if (count() == 0) begin_day();
        return today_[first_];
    }
    Event pop() {
        const Cell cell = next();
        ASSERT(first_ == 0 || today_[first_ - 1] < cell);  // no two events have the same time and number
        ++first_;
        while (count() < kAhead && listed_ + far_.size() > 0) begin_day();
        return {time_of(cell), static_cast<std::uint64_t>(cell) >> kNumberShift, kind_of(cell),
                index_of(cell)};
    }
    static constexpr std::size_t kAhead = 12;
    // Return the next kAhead events in their order, for prefetching; null if fewer are sorted yet. Earlier
    // events may still be inserted.
    [[nodiscard]] const Cell* coming() const { return count() < kAhead ? nullptr : &today_[first_]; }
    static EventKind kind_of(Cell cell) { return static_cast<EventKind>(static_cast<unsigned>(cell) & 7); }
    static std::size_t index_of(Cell cell) {
        return static_cast<std::size_t>(static_cast<std::uint64_t>(cell) >> 3 & (kIndices - 1));
    }
    void push(Time time, std::uint64_t number, EventKind kind, std::size_t index) {
        if (index >= kIndices)
            throw std::length_error("more than " + std::to_string(kIndices) + " links, hosts or alarms");
        ASSERT(time >= Time() && kind <= EventKind::Age);
        ASSERT(number > 0 && number < kNumbers);
        put(static_cast<Cell>(time.value()) << 64 | number << kNumberShift |
            static_cast<std::uint64_t>(index) << 3 | static_cast<std::uint64_t>(kind));
    }
    void put(Cell cell) {
        const std::uint64_t day = day_of(cell);
        if (day - day_ < days_.size()) [[likely]]
            list(day, cell);
        else put_outside(day, cell);
    }
    // Remove and return all events, unsorted.
    std::vector<Cell> take_all();
    // Return a cell with its number replaced.
    static Cell numbered(Cell cell, std::uint64_t number) {
        constexpr auto kField = static_cast<Cell>(kNumbers - 1) << kNumberShift;
        return (cell & ~kField) | static_cast<Cell>(number) << kNumberShift;
    }

   private:
    static constexpr std::size_t kIndices = 1 << 21;
    static constexpr std::size_t kLeastDays = 256, kMostDays = 1 << 20;
    static constexpr unsigned kMostShift = 50, kNarrower = 3;
    // Most moves of events in `today_` by insertions before the calendar gets shorter days.
    static constexpr std::size_t kMostDisplaced = 1 << 17;

    // Node of a day's list of events; `next` is the index of the next node, 0: none.
    struct alignas(64) Part {  // a cache line
        std::array<Cell, 3> cells;
        std::uint32_t count = 0, next = 0;
    };

    static Time time_of(Cell cell) { return Time(static_cast<std::int64_t>(cell >> 64)); }
    [[nodiscard]] std::uint64_t day_of(Cell cell) const {
        return static_cast<std::uint64_t>(cell >> 64) >> shift_;
    }
    [[nodiscard]] std::size_t count() const { return today_.size() - first_; }

    void list(std::uint64_t day, Cell cell) {
        ASSERT(day >= day_ && day - day_ < days_.size());
        const std::size_t at = day & (days_.size() - 1);
        std::uint32_t part = days_[at];
        ASSERT(part < parts_.size() && (part == 0 || parts_[part].count > 0));
        if (part == 0 || parts_[part].count == parts_[part].cells.size()) {
            if (free_ == 0) [[unlikely]]
                add_part();
            const std::uint32_t before = part;
            part = free_;
            free_ = parts_[part].next;
            parts_[part].count = 0;
            parts_[part].next = before;
            days_[at] = part;
            used_[at / 64] |= std::uint64_t{1} << at % 64;
        }
        parts_[part].cells[parts_[part].count++] = cell;
        ++listed_;
    }
    void add_part();
    // Put an event of a day that has begun, or beyond the calendar.
    void put_outside(std::uint64_t day, Cell cell);
    // Return the first day from `day_` on that has events; the calendar must not be empty.
    [[nodiscard]] std::uint64_t next_day() const;
    // Move the events of the next day to `today_`; an event must be pending outside of `today_`.
    void begin_day();
    void adapt();
    void rebuild(unsigned shift, std::size_t days);

    std::vector<Cell> today_;  // sorted, from first_ on
    std::size_t first_ = 0;
    std::uint64_t day_ = 0;  // first day that has not begun
    unsigned shift_ = 10;    // a day has 2^shift_ ps
    std::vector<std::uint32_t> days_ =
        std::vector<std::uint32_t>(kLeastDays);  // newest part of each day; 0: none
    std::vector<std::uint64_t> used_ = std::vector<std::uint64_t>(kLeastDays / 64);  // bit: day has events
    std::vector<Part> parts_ = std::vector<Part>(1);                                 // index 0 is unused
    std::uint32_t free_ = 0;  // first part of the free list; 0: none
    std::size_t listed_ = 0;  // events in days_
    std::vector<Cell> far_;   // heap of events beyond the calendar
    // Counts since the last adapt(): days begun, their events, events of days with more than one time, events
    // put into the heap, and events moved by insertions into `today_`.
    std::size_t begun_ = 0, moved_ = 0, mixed_ = 0, went_far_ = 0, displaced_ = 0;
};

}  // namespace railyard::network
