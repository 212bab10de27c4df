// SPDX-License-Identifier: Apache-2.0
// Positions in lists, with a type for each kind of element.
#pragma once

#include <cassert>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace railyard {

// Position of a T in its list; none by default.
template <typename T>
class Index {
   public:
    constexpr Index() = default;
    constexpr explicit Index(std::size_t at) : at_(static_cast<std::uint32_t>(at)) { assert(at < kNone); }

    constexpr explicit operator bool() const { return at_ != kNone; }
    constexpr std::size_t at() const {
        assert(at_ != kNone);
        return at_;
    }
    friend constexpr auto operator<=>(Index, Index) = default;

   private:
    static constexpr std::uint32_t kNone = 0xFFFFFFFF;
    std::uint32_t at_ = kNone;
};

// A vector whose elements are also addressed by their index.
template <typename T>
class List : public std::vector<T> {
   public:
    using std::vector<T>::vector;
    using std::vector<T>::operator[];
    using std::vector<T>::at;

    T& operator[](Index<T> index) {
        assert(index.at() < this->size());
        return (*this)[index.at()];
    }
    const T& operator[](Index<T> index) const {
        assert(index.at() < this->size());
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
};

}  // namespace railyard
