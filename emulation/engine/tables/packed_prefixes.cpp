// SPDX-License-Identifier: Apache-2.0
#include "tables/packed_prefixes.h"

#include <algorithm>

namespace railyard::tables {

void PackedPrefixes::pack(const std::vector<Prefix>& prefixes) {
    const auto same_length = [](const Prefix& one, const Prefix& other) { return one.mask == other.mask; };
    pairs_.clear();
    lengths_ = 0;
    for (auto first = prefixes.begin(); first != prefixes.end(); ++lengths_)
        first = std::find_if_not(first, prefixes.end(),
                                 [&](const Prefix& one) { return same_length(*first, one); });
    pairs_.resize(lengths_);
    std::size_t length = 0;
    for (auto first = prefixes.begin(); first != prefixes.end(); ++length) {
        const auto last = std::find_if_not(first, prefixes.end(),
                                           [&](const Prefix& one) { return same_length(*first, one); });
        // At most half of the cells are used, so every search ends.
        const auto count = static_cast<std::size_t>(last - first);
        const std::size_t cells = std::bit_ceil(2 * count), begin = pairs_.size();
        const auto bits = static_cast<unsigned>(std::countr_zero(cells));
        pairs_.resize(begin + cells);
        pairs_[length] = {first->mask, begin << kBits | bits};
        for (; first != last; ++first) {
            std::size_t at = home_of(first->value, bits);
            while (pairs_[begin + at].second != kFree) at = (at + 1) & (cells - 1);
            pairs_[begin + at] = {first->value, first->entry.at()};
        }
    }
}

}  // namespace railyard::tables
