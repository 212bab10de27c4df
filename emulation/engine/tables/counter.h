// SPDX-License-Identifier: Apache-2.0
// Indexed counter: an array of cells that count frames and bytes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "units.h"

namespace railyard::tables {

struct Count {
    std::uint64_t packets = 0;
    CountedBytes bytes{};

    bool operator==(const Count&) const = default;
};

// Counter with memory only up to the highest cell ever written; other cells are zero. Programs declare a cell
// for each port that a switch could have, but most switches use few.
class Counter {
   public:
    explicit Counter(std::size_t size) : size_(size) {}
    [[nodiscard]] std::size_t size() const { return size_; }

    // Count a frame in cell `at`; ignored beyond the last cell.
    void add(std::uint64_t at, CountedBytes bytes) {
        if (at >= cells_.size()) [[unlikely]] {
            if (at >= size_) return;
            grow(at);
        }
        cells_[at].packets += 1;
        cells_[at].bytes += bytes;
    }
    void set(std::size_t at, Count count) {
        check(at);
        if (at >= cells_.size()) grow(at);
        cells_[at] = count;
    }
    [[nodiscard]] Count get(std::size_t at) const {
        check(at);
        return at < cells_.size() ? cells_[at] : Count{};
    }
    // Return up to `most` cells from `first` on.
    [[nodiscard]] std::vector<Count> read(std::size_t first, std::size_t most) const {
        if (first > size_) check(first);
        std::vector<Count> cells(std::min(most, size_ - first));
        if (first < cells_.size())
            std::copy_n(cells_.begin() + static_cast<std::ptrdiff_t>(first),
                        std::min(cells.size(), cells_.size() - first), cells.begin());
        return cells;
    }

   private:
    void grow(std::size_t at) { cells_.resize(std::min(size_, std::bit_ceil(at + 1))); }
    void check(std::size_t at) const {
        if (at >= size_) throw std::out_of_range("there is no such cell");
    }
    std::size_t size_;
    std::vector<Count> cells_;
};

}  // namespace railyard::tables
