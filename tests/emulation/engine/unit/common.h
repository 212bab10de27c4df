// SPDX-License-Identifier: Apache-2.0
// Helpers of tests in several rooms: programs from their compiled files, frames from hexadecimal digits,
// random numbers.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "frames/frame.h"
#include "load/program/program.h"
#include "units.h"

namespace railyard {

// Show an amount in the messages of GoogleTest.
template <typename Kind, typename T>
void PrintTo(Amount<Kind, T> amount, std::ostream* out) {
    *out << amount.value();
}

namespace unit {

// A compiled program of the project, by its path from the project's root: "tests/programs/build/wire.json".
inline std::shared_ptr<const load::Program> program(const std::string& path) {
    std::ifstream in(std::string(RAILYARD_ROOT "/") + path);
    std::stringstream text;
    text << in.rdbuf();
    if (!in) throw std::runtime_error("cannot read " + path);
    return load::Program::load(text.str());
}

// Bytes of hexadecimal digits; spaces do not count.
inline std::string hex(std::string_view digits) {
    std::string bytes;
    int high = -1;
    for (const char c : digits) {
        if (c == ' ') continue;
        const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
        if (high < 0) high = digit;
        else bytes.push_back(static_cast<char>(high << 4 | digit)), high = -1;
    }
    return bytes;
}

inline std::string digits(std::string_view bytes) {
    std::string text;
    for (const char c : bytes) {
        constexpr std::string_view kDigits = "0123456789abcdef";
        text += kDigits[static_cast<unsigned char>(c) >> 4];
        text += kDigits[c & 0xF];
    }
    return text;
}

// SplitMix64: the same numbers from the same seed, on every machine.
class Random {
   public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t word() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        return z ^ z >> 31;
    }
    std::uint64_t below(std::uint64_t limit) { return word() % limit; }
    bool chance(unsigned percent) { return below(100) < percent; }

   private:
    std::uint64_t state_;
};

}  // namespace unit

}  // namespace railyard
