// SPDX-License-Identifier: Apache-2.0
// Typed indices and the lists that they address, and prefetching.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "invariant.h"

namespace railyard {

// Prefetch the cache line of an address.
inline void fetch(const void* address) {
    // Volatile, since a compiler may drop a function that only fetches.
#if defined(__x86_64__) && !defined(__clang__)
    asm volatile("prefetcht0 %a0" : : "p"(address));
#else
    __builtin_prefetch(address);
    asm volatile("" : : "r"(address));
#endif
}
// Prefetch `count` cache lines from an address on; none if it is null.
inline void fetch_lines(const void* first, std::size_t count) {
    if (first == nullptr) return;
    const auto* const bytes = static_cast<const char*>(first);
    for (std::size_t line = 0; line < count; ++line) fetch(bytes + 64 * line);
}

// Index of a T in its list; none by default.
template <typename T>
class Index {
   public:
    constexpr Index() = default;
    constexpr explicit Index(std::size_t at) : at_(static_cast<std::uint32_t>(at)) { ASSERT(at < kNone); }

    constexpr explicit operator bool() const { return at_ != kNone; }
    constexpr std::size_t at() const {
        ASSERT(at_ != kNone);
        return at_;
    }
    friend constexpr auto operator<=>(Index, Index) = default;

    static constexpr std::uint32_t kNone = 0xFFFFFFFF;

   private:
    std::uint32_t at_ = kNone;
};

// A vector addressed by the index of a T. Its elements are the Ts themselves, or other data for each T.
template <typename T, typename Element = T, typename Allocator = std::allocator<Element>>
class List : public std::vector<Element, Allocator> {
    using Base = std::vector<Element, Allocator>;

   public:
    using Base::Base;
    using Base::operator[];
    using Base::at;

    Element& operator[](Index<T> index) {
        ASSERT(index.at() < this->size());
        return (*this)[index.at()];
    }
    const Element& operator[](Index<T> index) const {
        ASSERT(index.at() < this->size());
        return (*this)[index.at()];
    }
    // Checked access, for indices from outside of the engine. std::out_of_range names the index.
    Element& at(Index<T> index) {
        check(index);
        return (*this)[index.at()];
    }
    const Element& at(Index<T> index) const {
        check(index);
        return (*this)[index.at()];
    }
    // Index of the next element to be appended.
    Index<T> next() const { return Index<T>(this->size()); }
    // Index of the first element with a name; none if no element has it.
    template <typename Name>
    Index<T> named(const Name& name) const {
        for (std::size_t i = 0; i < this->size(); ++i)
            if ((*this)[i].name == name) return Index<T>(i);
        return {};
    }

   private:
    void check(Index<T> index) const {
        if (!index || index.at() >= this->size())
            throw std::out_of_range((index ? "number " + std::to_string(index.at()) : "a number") +
                                    " is not below " + std::to_string(this->size()));
    }
};

}  // namespace railyard
