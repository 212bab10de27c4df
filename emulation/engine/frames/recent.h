// SPDX-License-Identifier: Apache-2.0
// Ring buffer of the latest frames of a link, for display. Once full, it allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "frames/frame.h"

namespace railyard::frames {

class RecentFrames {
   public:
    struct Item {
        std::uint64_t number = 0;  // count of frames put before
        Time time{};
        Direction direction = Direction::Forward;
        std::string bytes;
    };

    explicit RecentFrames(std::size_t most) : items_(most) { ASSERT(most > 0); }

    void put(Time time, Direction direction, std::string_view bytes) {
        Item& item = items_[count_ % items_.size()];
        ASSERT(count_ == 0 || time >= items_[(count_ - 1) % items_.size()].time);
        item.number = count_++;
        item.time = time;
        item.direction = direction;
        item.bytes.assign(bytes);
    }

    // Return copies of the frames, the oldest first.
    [[nodiscard]] std::vector<Item> list() const {
        std::vector<Item> result;
        const std::uint64_t size = items_.size();
        for (std::uint64_t at = count_ > size ? count_ - size : 0; at < count_; ++at)
            result.push_back(items_[at % size]);
        return result;
    }

   private:
    std::vector<Item> items_;
    std::uint64_t count_ = 0;
};

}  // namespace railyard::frames
