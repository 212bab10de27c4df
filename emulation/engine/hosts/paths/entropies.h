// SPDX-License-Identifier: Apache-2.0
// Spraying: the load-balance value (entropy) of each frame of a connection, by what became of earlier ones,
// as in tests/oracle/paths/entropies.py, which has the sources.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "frames/frame.h"

namespace railyard {

// Fate of a frame on the way that its value of lb selects.
enum class PathNews : std::uint8_t { Good, Marked, Lost, Silent };

// Random numbers of a connection: SplitMix64.
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

// The algorithm of that name over `count` values, a power of two up to 256; invalid_argument otherwise.
std::unique_ptr<Entropies> make_entropies(const std::string& name, std::uint32_t count, std::uint64_t seed);

}  // namespace railyard
