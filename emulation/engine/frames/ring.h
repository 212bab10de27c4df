// SPDX-License-Identifier: Apache-2.0
// Double-ended queue in a ring of cells; the memory grows to the longest length and never shrinks.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "invariant.h"

namespace railyard::frames {

// Cells without an element are raw memory, so that neither push nor pop writes more than the element.
template <typename T>
class Ring {
   public:
    Ring() = default;
    Ring(Ring&& other) noexcept
        : cells_(std::exchange(other.cells_, nullptr)),
          capacity_(std::exchange(other.capacity_, 0)),
          first_(std::exchange(other.first_, 0)),
          size_(std::exchange(other.size_, 0)) {}
    Ring& operator=(Ring&& other) noexcept {
        std::swap(cells_, other.cells_);
        std::swap(capacity_, other.capacity_);
        std::swap(first_, other.first_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~Ring() {
        clear();
        free_cells();
    }

    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] std::size_t size() const { return size_; }
    T& front() {
        ASSERT(!empty());
        return cells_[first_];
    }
    T& back() { return (*this)[size_ - 1]; }
    const T& operator[](std::size_t at) const {
        ASSERT(at < size_);
        return cells_[wrapped(first_ + at)];
    }
    T& operator[](std::size_t at) {
        ASSERT(at < size_);
        return cells_[wrapped(first_ + at)];
    }

    void push_back(T value) {
        if (size_ == capacity_) [[unlikely]]
            grow();
        std::construct_at(&cells_[wrapped(first_ + size_)], std::move(value));
        ++size_;
        ASSERT(size_ <= capacity_);
    }
    void push_front(T value) {
        if (size_ == capacity_) [[unlikely]]
            grow();
        first_ = wrapped(first_ - 1);
        std::construct_at(&cells_[first_], std::move(value));
        ++size_;
        ASSERT(size_ <= capacity_);
    }
    T pop_front() {
        ASSERT(!empty() && first_ < capacity_);
        T value = std::move(cells_[first_]);
        std::destroy_at(&cells_[first_]);
        first_ = wrapped(first_ + 1);
        --size_;
        return value;
    }
    void clear() {
        while (!empty()) pop_front();
    }

   private:
    static constexpr std::uint32_t kLeast = 8;

    [[nodiscard]] std::uint32_t wrapped(std::size_t at) const {
        return static_cast<std::uint32_t>(at) & (capacity_ - 1);
    }
    void grow() {
        const std::uint32_t capacity = capacity_ == 0 ? kLeast : 2 * capacity_;
        T* const larger = std::allocator<T>().allocate(capacity);
        for (std::uint32_t i = 0; i < size_; ++i) {
            T& cell = (*this)[i];
            std::construct_at(&larger[i], std::move(cell));
            std::destroy_at(&cell);
        }
        free_cells();
        cells_ = larger;
        capacity_ = capacity;
        first_ = 0;
        ASSERT(std::has_single_bit(capacity_));
    }
    void free_cells() {
        if (cells_ != nullptr) std::allocator<T>().deallocate(cells_, capacity_);
    }

    T* cells_ = nullptr;
    std::uint32_t capacity_ = 0;  // 0 or a power of two
    std::uint32_t first_ = 0, size_ = 0;
};

}  // namespace railyard::frames
