// SPDX-License-Identifier: Apache-2.0
// Random array elements that equal those of numpy's default generator.
#pragma once

#include <cstddef>
#include <cstdint>

namespace railyard::hosts {

// Uniform int32 elements over the whole range, in the order of numpy.random.Generator.integers: each 64-bit
// output of PCG64 gives two elements, the lower half first. Generator: PCG XSL RR 128/64, M. E. O'Neill,
// "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for Random Number Generation",
// HMC-CS-2014-0905.
class RandomElements {
   public:
    __extension__ using Word = unsigned __int128;

    // `state` and `increment` are the values of numpy.random.PCG64.state.
    RandomElements(Word state, Word increment, std::size_t count)
        : state_(state), increment_(increment), count_(count) {}

    [[nodiscard]] std::size_t count() const { return count_; }
    void fill(std::uint32_t* out) const;
    // Add the elements to `total`; sums wrap.
    void add_to(std::uint32_t* total) const;

   private:
    Word state_, increment_;
    std::size_t count_;
};

}  // namespace railyard::hosts
