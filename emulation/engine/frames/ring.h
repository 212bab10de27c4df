// SPDX-License-Identifier: Apache-2.0
// A queue that keeps its memory: it grows to the most it ever held and allocates nothing after that.
#pragma once

#include <cstddef>
#include <vector>

namespace railyard {

template <typename T>
class Ring {
   public:
    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }
    T& front() { return cells_[first_]; }
    const T& operator[](std::size_t at) const { return cells_[(first_ + at) & (cells_.size() - 1)]; }

    void push_back(T value) {
        if (size_ == cells_.size()) grow();
        cells_[(first_ + size_++) & (cells_.size() - 1)] = value;
    }
    void push_front(T value) {
        if (size_ == cells_.size()) grow();
        first_ = (first_ - 1) & (cells_.size() - 1);
        cells_[first_] = value;
        ++size_;
    }
    void pop_front() {
        first_ = (first_ + 1) & (cells_.size() - 1);
        --size_;
    }
    void clear() { first_ = size_ = 0; }

   private:
    void grow() {
        std::vector<T> larger(cells_.empty() ? 8 : 2 * cells_.size());
        for (std::size_t i = 0; i < size_; ++i) larger[i] = (*this)[i];
        cells_.swap(larger);
        first_ = 0;
    }
    std::vector<T> cells_;  // a power of two of them
    std::size_t first_ = 0, size_ = 0;
};

}  // namespace railyard
