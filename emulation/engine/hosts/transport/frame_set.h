// SPDX-License-Identifier: Apache-2.0
// Set of frames of a connection, as bits: up to 64 frames in one word, more in further words.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace railyard::hosts {

class FrameSet {
   public:
    // `size`: numbers are below it.
    explicit FrameSet(std::uint32_t size) : rest_(size > kBits ? (size - 1) / kBits : 0) {}

    [[nodiscard]] bool has(std::uint32_t number) const {
        return (word(number / kBits) >> number % kBits & 1) != 0;
    }
    void add(std::uint32_t number) { word(number / kBits) |= bit(number); }
    void remove(std::uint32_t number) { word(number / kBits) &= ~bit(number); }
    [[nodiscard]] bool empty() const {
        std::uint64_t all = first_;
        for (const std::uint64_t each : rest_) all |= each;
        return all == 0;
    }
    // Return the numbers below 64 as bits.
    [[nodiscard]] std::uint64_t first() const { return first_; }
    // Return the numbers `from` to `from` + 63 as bits.
    [[nodiscard]] std::uint64_t map(std::uint32_t from) const {
        const std::uint32_t at = from / kBits, by = from % kBits;
        if (by == 0) return word_or_none(at);
        return word_or_none(at) >> by | word_or_none(at + 1) << (kBits - by);
    }
    // Add `from` + i for each bit i; return whether any of them is new. Bits at or above the size are
    // ignored.
    bool add_map(std::uint32_t from, std::uint64_t map) {
        const std::uint32_t at = from / kBits, by = from % kBits;
        bool news = add_word(at, map << by);
        if (by != 0 && map >> (kBits - by) != 0) news |= add_word(at + 1, map >> (kBits - by));
        return news;
    }
    // Subtract `count` from all numbers, and remove those below `count`.
    void shift(std::uint32_t count) {
        if (rest_.empty()) {
            first_ = count < kBits ? first_ >> count : 0;
            return;
        }
        for (std::size_t at = 0; at <= rest_.size(); ++at)
            word(at) = map(static_cast<std::uint32_t>(at * kBits) + count);
    }
    // Return how many numbers from 0 on follow each other without a gap.
    [[nodiscard]] std::uint32_t run() const {
        std::uint32_t count = static_cast<std::uint32_t>(std::countr_one(first_));
        for (std::size_t at = 0; count == (at + 1) * kBits && at < rest_.size(); ++at)
            count += static_cast<std::uint32_t>(std::countr_one(rest_[at]));
        return count;
    }

   private:
    static constexpr std::uint32_t kBits = 64;

    static std::uint64_t bit(std::uint32_t number) { return std::uint64_t{1} << number % kBits; }
    std::uint64_t& word(std::size_t at) { return at == 0 ? first_ : rest_[at - 1]; }
    [[nodiscard]] std::uint64_t word(std::size_t at) const { return at == 0 ? first_ : rest_[at - 1]; }
    [[nodiscard]] std::uint64_t word_or_none(std::size_t at) const {
        return at > rest_.size() ? 0 : word(at);
    }
    bool add_word(std::size_t at, std::uint64_t bits) {
        if (at > rest_.size()) return false;
        const bool news = (bits & ~word(at)) != 0;
        word(at) |= bits;
        return news;
    }

    std::uint64_t first_ = 0;
    std::vector<std::uint64_t> rest_;
};

}  // namespace railyard::hosts
