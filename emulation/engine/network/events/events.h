// SPDX-License-Identifier: Apache-2.0
// Pending events, ordered by (time, number). Numbers follow the order of insertion.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
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

    EventQueue();
    EventQueue(const EventQueue&) = delete;
    [[nodiscard]] std::size_t size() const { return count() + listed_ + far_.size(); }

    Time next_time() { return time_of(next()); }
    // Return the first event without removing it; cells of different queues are comparable.
    Cell next() {
        ASSERT(size() > 0);
        if (count() == 0) begin_day();
        return *next_;
    }
    Event pop() {
        const Cell cell = next();
        ASSERT(next_ == today_.data() || next_[-1] < cell);  // no two events have the same time and number
        ++next_;
        if (count() < kAhead) [[unlikely]]
            look_further();
        return {time_of(cell), static_cast<std::uint64_t>(cell) >> kNumberShift, kind_of(cell),
                index_of(cell)};
    }
    static constexpr std::size_t kAhead = 12;
    // Return the next kAhead events in their order, for prefetching; null if fewer are sorted yet. Earlier
    // events may still be inserted.
    [[nodiscard]] const Cell* coming() const { return count() < kAhead ? nullptr : next_; }
    static EventKind kind_of(Cell cell) { return static_cast<EventKind>(static_cast<unsigned>(cell) & 7); }
    static std::size_t index_of(Cell cell) {
        return static_cast<std::size_t>(static_cast<std::uint64_t>(cell) >> 3 & (kIndices - 1));
    }
    void push(Time time, std::uint64_t number, EventKind kind, std::size_t index) {
        if (index >= kIndices) [[unlikely]]
            refuse_index();
        ASSERT(time >= Time() && kind <= EventKind::Age);
        ASSERT(number > 0 && number < kNumbers);
        put(static_cast<Cell>(time.value()) << 64 | number << kNumberShift |
            static_cast<std::uint64_t>(index) << 3 | static_cast<std::uint64_t>(kind));
    }
    void put(Cell cell) {
        const std::uint64_t day = day_of(cell);
        if (day - day_ <= last_place_) [[likely]]
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

    // Node of the ring of a day's events, or of the free list; `next` is the index of the next node. The ring
    // is in the order of insertion; after the last part follows the first.
    struct alignas(64) Part {  // a cache line
        static constexpr std::uint32_t kCells = 3;
        std::array<Cell, kCells> cells;
        std::uint32_t count = 0, next = 0;
    };

    static Time time_of(Cell cell) { return Time(static_cast<std::int64_t>(cell >> 64)); }
    [[nodiscard]] std::uint64_t day_of(Cell cell) const {
        return static_cast<std::uint64_t>(cell >> 64) >> shift_;
    }
    [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(end_ - next_); }

    void list(std::uint64_t day, Cell cell) {
        ASSERT(day >= day_ && day - day_ < days_.size());
        const std::size_t at = day & last_place_;
        Part& part = parts_[days_[at]];
        ASSERT(part.count > 0 && part.count <= Part::kCells);
        ++listed_;
        if (part.count == Part::kCells) return add_part(at, cell);
        part.cells[part.count++] = cell;
    }
    // Append a part with an event to the ring of a day.
    void add_part(std::size_t at, Cell cell);
    [[gnu::noinline]] void grow();
    // Append the events of a day to `to` in the order of insertion, which is often sorted. The day must have
    // events.
    void empty_day(std::size_t at, std::vector<Cell>& to);
    // Put an event of a day that has begun, or beyond the calendar.
    void put_outside(std::uint64_t day, Cell cell);
    // Return the first day from `day_` on that has events; the calendar must not be empty.
    [[nodiscard]] std::uint64_t next_day() const;
    // Move the events of the next day to `today_`; an event must be pending outside of `today_`.
    void begin_day();
    // Begin days until the next kAhead events are sorted.
    [[gnu::noinline]] void look_further();
    // Set next_ to the event of `today_` at a position, and end_, since `today_` has changed.
    void point(std::size_t first) {
        next_ = today_.data() + first;
        end_ = today_.data() + today_.size();
    }
    // Return the number of events before next_.
    [[nodiscard]] std::ptrdiff_t past() const { return next_ - today_.data(); }
    [[noreturn, gnu::cold]] static void refuse_index();
    void adapt();
    void rebuild(unsigned shift, std::size_t days);

    std::vector<Cell> today_;  // the events from next_ to end_, its end, are pending and sorted
    const Cell *next_ = nullptr, *end_ = nullptr;
    std::uint64_t day_ = 0;                      // first day that has not begun
    unsigned shift_ = 10;                        // a day has 2^shift_ ps
    std::uint64_t last_place_ = kLeastDays - 1;  // days_.size() - 1
    // Last part of each day's ring; 0: no events.
    std::vector<std::uint32_t> days_ = std::vector<std::uint32_t>(kLeastDays);
    std::vector<std::uint64_t> used_ = std::vector<std::uint64_t>(kLeastDays / 64);  // bit: day has events
    std::vector<Part> parts_;  // the part at index 0 is full and in no ring
    std::uint32_t free_ = 0;   // first part of the free list, which is never empty
    std::size_t listed_ = 0;   // events in days_
    std::vector<Cell> far_;    // heap of events beyond the calendar
    // Counts since the last adapt(): days begun, their events, events of days with more than one time, events
    // put into the heap, and events moved by insertions into `today_`.
    std::size_t begun_ = 0, moved_ = 0, mixed_ = 0, went_far_ = 0, displaced_ = 0;
};

}  // namespace railyard::network
