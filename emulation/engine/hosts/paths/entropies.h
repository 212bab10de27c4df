// SPDX-License-Identifier: Apache-2.0
// Packet spraying: choice of each frame's load-balance value (entropy) by the fate of earlier frames.
// tests/oracle/paths/entropies.py is the specification and explains the algorithms.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "frames/frame.h"

namespace railyard::hosts {

// Fate of a frame: acknowledged, marked, lost or trimmed, timed out.
enum class PathNews : std::uint8_t { Good, Marked, Lost, Silent };

// Random number generator of a connection (SplitMix64).
class Draws {
   public:
    explicit Draws(std::uint64_t seed) : state_(seed) {}
    std::uint32_t draw();  // 32 bits

   private:
    std::uint64_t state_;
};

class Entropies {
   public:
    Entropies() = default;
    Entropies(const Entropies&) = delete;
    virtual ~Entropies() = default;

    virtual std::uint8_t next() = 0;
    virtual void note(std::uint8_t lb, PathNews news, Time now) = 0;
};

// Return the algorithm `name` over `count` load-balance values. invalid_argument if there is no such
// algorithm, or `count` is not a power of two up to 256.
std::unique_ptr<Entropies> make_entropies(const std::string& name, std::uint32_t count, std::uint64_t seed);

}  // namespace railyard::hosts
