// SPDX-License-Identifier: Apache-2.0
// Random numbers that equal those of Python's random.Random.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace railyard::hosts {

// Mersenne Twister (Matsumoto and Nishimura) with the state of random.Random(seed). `seed` is the integer
// seed as bytes, the most significant byte first.
class PythonRandom {
   public:
    explicit PythonRandom(std::string_view seed);
    std::uint32_t below(std::uint32_t limit);  // randrange(limit)
    double uniform();                          // random(), in [0, 1)

   private:
    std::uint32_t next();

    std::vector<std::uint32_t> state_;
    std::size_t at_;
};

}  // namespace railyard::hosts
