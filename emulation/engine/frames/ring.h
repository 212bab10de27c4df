// SPDX-License-Identifier: Apache-2.0
// Double-ended queue in a ring of cells; the memory grows to the longest length and never shrinks.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "invariant.h"

namespace railyard::frames {

template <typename T>
class Ring {
   public:
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] std::size_t size() const { return size_; }
    T& front() {
        ASSERT(!empty());
        return cells_[first_];
    }
    const T& operator[](std::size_t at) const {
        ASSERT(at < size_);
        return cells_[(first_ + at) & mask()];
    }
    T& operator[](std::size_t at) {
        ASSERT(at < size_);
        return cells_[(first_ + at) & mask()];
    }

    void push_back(T value) {
        if (size_ == cells_.size()) grow();
        cells_[(first_ + size_++) & mask()] = std::move(value);
        ASSERT(size_ <= cells_.size());
    }
    void push_front(T value) {
        if (size_ == cells_.size()) grow();
        first_ = (first_ - 1) & mask();
        cells_[first_] = std::move(value);
        ++size_;
        ASSERT(size_ <= cells_.size());
    }
    T pop_front() {
        ASSERT(!empty() && first_ < cells_.size());
        T value = std::move(cells_[first_]);
        first_ = (first_ + 1) & mask();
        --size_;
        return value;
    }
    void clear() {
        while (!empty()) pop_front();
    }

   private:
    [[nodiscard]] std::uint32_t mask() const { return static_cast<std::uint32_t>(cells_.size() - 1); }
    void grow() {
        std::vector<T> larger(cells_.empty() ? 8 : 2 * cells_.size());
        for (std::size_t i = 0; i < size_; ++i) larger[i] = std::move((*this)[i]);
        cells_.swap(larger);
        first_ = 0;
        ASSERT(std::has_single_bit(cells_.size()));
    }
    std::vector<T> cells_;  // their number is a power of two
    std::uint32_t first_ = 0, size_ = 0;
};

}  // namespace railyard::frames
