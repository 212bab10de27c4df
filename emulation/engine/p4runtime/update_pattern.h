// SPDX-License-Identifier: Apache-2.0
// Fast reader of updates that differ from an earlier update only in their numbers.
//
// A controller fills a table with updates that have equal fields. If the numbers of two such updates have
// equal sizes, the updates differ only in the bytes of the numbers. If the sizes differ, the length bytes
// before the numbers differ, too, so that the second update does not match the pattern of the first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "load/program/instruction.h"

namespace railyard::p4runtime {

// The bytes of an update, and the positions of its numbers.
class UpdatePattern {
   public:
    // Number of readable bytes that must follow an update, since read() compares whole words.
    static constexpr std::size_t kPadding = 8;
    // A number of at most 64 bits and kMostBytes bytes.
    struct Number {
        std::string_view bytes;  // part of the update
        unsigned bits;           // width of the number's field
        std::size_t index;       // passed to read()'s `take`
    };
    static constexpr std::size_t kMostBytes = 8;

    UpdatePattern() = default;
    UpdatePattern(std::string_view update, const std::vector<Number>& numbers)
        : words_((update.size() + 7) / 8), masks_(words_.size()) {
        std::vector<char> mask(update.size(), '\xFF');
        for (const Number& number : numbers) {
            const auto at = static_cast<std::size_t>(number.bytes.data() - update.data());
            places_.push_back({at, number.bytes.size(), ~load::low_mask(number.bits), number.index});
            std::fill_n(mask.begin() + static_cast<std::ptrdiff_t>(at), number.bytes.size(), '\0');
        }
        std::memcpy(words_.data(), update.data(), update.size());
        std::memcpy(masks_.data(), mask.data(), update.size());
    }

    // Call take(index, value) for each number of an update as long as the pattern's own update. Return false,
    // possibly after some calls, if the update differs in other bytes or a number has too many bits.
    template <typename Take>
    bool read(std::string_view update, const Take& take) const {
        if (words_.empty()) return false;
        std::uint64_t differing = 0;
        for (std::size_t i = 0; i < words_.size(); ++i)
            differing |= (word(update.data() + 8 * i) ^ words_[i]) & masks_[i];
        if (differing != 0) return false;
        for (const Place& place : places_) {
            std::uint64_t value = 0;
            for (std::size_t i = 0; i < place.size; ++i)
                value = value << 8 | static_cast<unsigned char>(update[place.at + i]);
            if ((value & place.excess) != 0) return false;
            take(place.index, value);
        }
        return true;
    }

   private:
    struct Place {
        std::size_t at, size;
        std::uint64_t excess;  // bits that must be 0
        std::size_t index;
    };

    static std::uint64_t word(const char* from) {
        std::uint64_t out = 0;
        std::memcpy(&out, from, sizeof out);
        return out;
    }

    std::vector<std::uint64_t> words_, masks_;  // the update in words, and masks of its bytes to compare
    std::vector<Place> places_;
};

}  // namespace railyard::p4runtime
