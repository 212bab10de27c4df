// SPDX-License-Identifier: Apache-2.0
// Random numbers that equal those of Python's random.Random.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace railyard {

// The Mersenne Twister (Matsumoto and Nishimura), from the state that random.Random.getstate() has.
class PythonRandom {
   public:
    explicit PythonRandom(std::vector<std::uint32_t> state);  // invalid_argument for a wrong length
    std::uint32_t below(std::uint32_t limit);                 // randrange(limit)
    double uniform();                                         // random(), in [0, 1)

   private:
    std::uint32_t next();

    std::vector<std::uint32_t> state_;
    std::size_t at_;
};

}  // namespace railyard
