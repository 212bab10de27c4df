// SPDX-License-Identifier: Apache-2.0
#include "hosts/schedule/schedule.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

namespace railyard::hosts {

namespace {

void check(std::size_t number, std::size_t below, const char* what) {
    if (number >= below)
        throw std::invalid_argument(std::string(what) + " " + std::to_string(number) + " is not below " +
                                    std::to_string(below));
}

// Return the inverse of an odd number modulo 2^64, by Newton's method: each step doubles the correct low
// bits, of which an odd number as its own inverse has three.
std::uint64_t inverse_of(std::uint64_t odd) {
    std::uint64_t inverse = odd;
    while (odd * inverse != 1) inverse *= 2 - odd * inverse;
    return inverse;
}

}  // namespace

SliceTable::SliceTable(std::vector<std::uint64_t> offsets, std::vector<std::uint32_t> sizes,
                       std::vector<std::uint32_t> cells, std::vector<std::uint32_t> release_order,
                       std::size_t cell_count)
    : offset(std::move(offsets)),
      size(std::move(sizes)),
      cell(std::move(cells)),
      order(std::move(release_order)),
      count(cell_count) {
    if (size.size() != offset.size() || cell.size() != offset.size() || order.size() != offset.size())
        throw std::invalid_argument("slices: the lists differ in length");
    std::uint64_t last = 0, unit = 0;
    for (std::size_t index = 0; index < offset.size(); ++index) {
        check(cell[index], cell_count, "cell");
        check(order[index], offset.size(), "slice");
        unit = std::gcd(unit, offset[index]);
        last = std::max(last, offset[index]);
        ++count[cell[index]];
    }
    unit = std::max<std::uint64_t>(unit, 1);
    shift_ = std::countr_zero(unit);
    inverse_ = inverse_of(unit >> shift_);
    constexpr std::uint64_t kUnitsPerSlice = 4;  // most elements of by_unit_ for each slice
    if (last / unit < kUnitsPerSlice * offset.size()) by_unit_.assign(last / unit + 1, kNone);
    else by_offset_.reserve(offset.size());
    for (std::size_t index = 0; index < offset.size(); ++index) {
        const auto slice = static_cast<std::uint32_t>(index);
        if (by_unit_.empty()) by_offset_[offset[index]] = slice;
        else by_unit_[offset[index] / unit] = slice;
    }
}

RankPlan::RankPlan(const SliceTable& table, std::size_t peers, std::vector<Send> all_sends,
                   std::vector<CellPlan> distinct, std::vector<std::uint32_t> plan_of_cell)
    : sends(std::move(all_sends)),
      plans(std::move(distinct)),
      of_cell(std::move(plan_of_cell)),
      leaving(sends.size()) {
    if (of_cell.size() != table.count.size())
        throw std::invalid_argument("plans of " + std::to_string(of_cell.size()) + " cells, there are " +
                                    std::to_string(table.count.size()));
    for (const Send& send : sends)
        if (send.peer != kNone) check(send.peer, peers, "peer");
    std::vector<std::uint32_t> slices(plans.size());
    for (std::size_t cell = 0; cell < of_cell.size(); ++cell) {
        check(of_cell[cell], plans.size(), "plan");
        slices[of_cell[cell]] += table.count[cell];
    }
    for (std::size_t place = 0; place < plans.size(); ++place) {
        const CellPlan& plan = plans[place];
        if (plan.releases.size() != plan.phases.size() + 1)
            throw std::invalid_argument("plan " + std::to_string(place) + ": releases do not fit its phases");
        if (slices[place] == 0) continue;
        phases += plan.phases.size() * slices[place];
        for (const Phase& phase : plan.phases) due[phase.step] += slices[place];
        for (const auto& group : plan.releases)
            for (const std::uint32_t send : group) {
                check(send, sends.size(), "send");
                leaving[send] += slices[place];
            }
    }
}

}  // namespace railyard::hosts
