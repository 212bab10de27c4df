// SPDX-License-Identifier: Apache-2.0
// The least of several keys that change one at a time.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <vector>

#include "invariant.h"
#include "network/events/events.h"

namespace railyard::network {

// A tree of the winners of all pairs (Knuth, The Art of Computer Programming 3, 5.4.1): a changed key is
// compared once a level.
class Tournament {
   public:
    using Key = EventQueue::Cell;
    static constexpr Key kNone = ~Key{0};

    explicit Tournament(const std::vector<Key>& keys)
        : leaves_(std::bit_ceil(keys.size())), keys_(leaves_, kNone), winners_(leaves_) {
        ASSERT(!keys.empty());
        std::copy(keys.begin(), keys.end(), keys_.begin());
        for (std::size_t node = leaves_; --node > 0;) play(node);
    }

    // Return the player with the least key.
    [[nodiscard]] std::size_t first() const { return winner(1); }
    [[nodiscard]] Key key(std::size_t player) const { return keys_[player]; }
    // Return the least key of all other players than the first.
    [[nodiscard]] Key second() const {
        Key least = kNone;
        for (std::size_t node = leaves_ + first(); node > 1; node /= 2)
            least = std::min(least, keys_[winner(node ^ 1)]);
        return least;
    }
    void set(std::size_t player, Key key) {
        keys_[player] = key;
        for (std::size_t node = (leaves_ + player) / 2; node > 0; node /= 2) play(node);
    }

   private:
    // Nodes have numbers from 1 on, the root first; the last `leaves_` are the players.
    [[nodiscard]] std::size_t winner(std::size_t node) const {
        return node < leaves_ ? winners_[node] : node - leaves_;
    }
    void play(std::size_t node) {
        const std::size_t one = winner(2 * node), other = winner(2 * node + 1);
        winners_[node] = keys_[other] < keys_[one] ? other : one;
    }

    std::size_t leaves_;
    std::vector<Key> keys_;
    std::vector<std::size_t> winners_;
};

}  // namespace railyard::network
