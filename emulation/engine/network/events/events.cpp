// SPDX-License-Identifier: Apache-2.0
#include "network/events/events.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <stdexcept>
#include <string>

namespace railyard::network {

namespace {

// Days between two calls of adapt().
constexpr std::size_t kTrial = 256;
// Fewest and most events of a day (a bucket of the calendar queue), on average.
constexpr std::size_t kFew = 2, kMany = 16;
// At most 1/kFar of the events should go to the heap.
constexpr std::size_t kFar = 8;

}  // namespace

EventQueue::EventQueue() : parts_(1) {
    parts_[0].count = Part::kCells;
    grow();
}

std::vector<EventQueue::Cell> EventQueue::take_all() {
    [[maybe_unused]] const std::size_t pending = size();
    std::vector<Cell> all(next_, end_);
    today_.clear();
    point(0);
    for (std::size_t at = 0; at < days_.size(); ++at)
        if (days_[at] != 0) empty_day(at, all);
    all.insert(all.end(), far_.begin(), far_.end());
    far_.clear();
    ASSERT(all.size() == pending && size() == 0 && listed_ == 0);
    return all;
}

void EventQueue::add_part(std::size_t at, Cell cell) {
    const std::uint32_t added = free_;
    Part& part = parts_[added];
    free_ = part.next;
    const std::uint32_t last = std::exchange(days_[at], added);
    if (last == 0) {
        used_[at / 64] |= std::uint64_t{1} << at % 64;
        part.next = added;
    } else {
        part.next = std::exchange(parts_[last].next, added);
    }
    part.count = 1;
    part.cells[0] = cell;
    if (free_ == 0) [[unlikely]]
        grow();
}

// Put a new part into the free list, which is empty.
void EventQueue::grow() {
    ASSERT(free_ == 0);
    free_ = static_cast<std::uint32_t>(parts_.size());
    parts_.emplace_back();
}

void EventQueue::empty_day(std::size_t at, std::vector<Cell>& to) {
    const std::uint32_t last = std::exchange(days_[at], 0);
    ASSERT(last != 0);
    const std::size_t before = to.size();
    std::uint32_t number = last;
    do {
        number = parts_[number].next;
        const Part& part = parts_[number];
        to.insert(to.end(), part.cells.begin(), part.cells.begin() + part.count);
    } while (number != last);
    std::swap(parts_[last].next, free_);  // the free list begins with the whole ring
    used_[at / 64] &= ~(std::uint64_t{1} << at % 64);
    listed_ -= to.size() - before;
}

void EventQueue::refuse_index() {
    throw std::length_error("more than " + std::to_string(kIndices) + " links, hosts or alarms");
}

void EventQueue::put_outside(std::uint64_t day, Cell cell) {
    if (day >= day_) {
        ++went_far_;
        far_.push_back(cell);
        return std::push_heap(far_.begin(), far_.end(), std::greater<>());
    }
    const std::ptrdiff_t first = past();
    const auto at = std::upper_bound(today_.begin() + first, today_.end(), cell);
    displaced_ += static_cast<std::size_t>(today_.end() - at);
    today_.insert(at, cell);
    point(static_cast<std::size_t>(first));
    if (displaced_ > kMostDisplaced) [[unlikely]]
        rebuild(shift_ - std::min(shift_, kNarrower), days_.size());
}

std::uint64_t EventQueue::next_day() const {
    ASSERT(listed_ > 0);
    const std::size_t words = used_.size(), begin = day_ & last_place_;
    std::size_t at = begin / 64;
    std::uint64_t word = used_[at] & ~std::uint64_t{0} << begin % 64;
    while (word == 0) {
        at = (at + 1) & (words - 1);
        word = used_[at];
    }
    const std::size_t found = 64 * at + static_cast<std::size_t>(std::countr_zero(word));
    return day_ + ((found - begin) & last_place_);
}

void EventQueue::begin_day() {
    ASSERT(listed_ + far_.size() > 0);
    if (begun_ == kTrial) adapt();
    ++begun_;
    today_.erase(today_.begin(), today_.begin() + past());
    if (listed_ == 0) day_ = std::max(day_, day_of(far_.front()));
    while (!far_.empty() && day_of(far_.front()) - day_ <= last_place_) {
        std::pop_heap(far_.begin(), far_.end(), std::greater<>());
        const Cell cell = far_.back();
        far_.pop_back();
        list(day_of(cell), cell);
    }
    day_ = next_day();
    const std::size_t before = today_.size();
    empty_day(day_++ & last_place_, today_);
    const auto first = today_.begin() + static_cast<std::ptrdiff_t>(before);
    if (!std::is_sorted(first, today_.end())) std::sort(first, today_.end());
    point(0);
    ASSERT(before == 0 || today_[before - 1] < *first);  // days follow each other
    ASSERT(day_of(*first) == day_ - 1 && day_of(today_.back()) == day_ - 1);
    const std::size_t events = today_.size() - before;
    moved_ += events;
    if (time_of(*first) != time_of(today_.back())) mixed_ += events;
    if (listed_ > 0) fetch(&parts_[days_[next_day() & last_place_]]);
}

void EventQueue::look_further() {
    while (count() < kAhead && listed_ + far_.size() > 0) begin_day();
}

// Change the length or number of days if days have too few or too many events, or too many go to the heap.
void EventQueue::adapt() {
    unsigned shift = shift_;
    if (mixed_ > kMany * begun_) shift -= std::min(shift, mixed_ > 4 * kMany * begun_ ? kNarrower : 1U);
    else if (moved_ < kFew * begun_ && shift < kMostShift && size() > kAhead) ++shift;
    std::size_t days = days_.size();
    if (shift <= shift_ && kFar * went_far_ > moved_ && days < size() && days < kMostDays) days *= 2;
    begun_ = moved_ = mixed_ = went_far_ = displaced_ = 0;
    if (shift != shift_ || days != days_.size()) rebuild(shift, days);
}

void EventQueue::rebuild(unsigned shift, std::size_t days) {
    ASSERT(std::has_single_bit(days) && days >= kLeastDays && shift <= kMostShift);
    const std::vector<Cell> pending = take_all();
    shift_ = shift;
    days_.assign(days, 0);
    last_place_ = days - 1;
    used_.assign(days / 64, 0);
    displaced_ = 0;
    day_ = pending.empty() ? 0 : day_of(*std::min_element(pending.begin(), pending.end()));
    for (const Cell cell : pending) put(cell);
    ASSERT(size() == pending.size());
}

}  // namespace railyard::network
