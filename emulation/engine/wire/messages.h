// SPDX-License-Identifier: Apache-2.0
// Messages for the user of a Wire, until the user reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "units.h"

namespace railyard::wire {

class Messages {
   public:
    // Level and text.
    using Message = std::pair<std::string, std::string>;

    void say(const char* level, std::string text);
    // Report the failure of a program; the rate of such messages is limited, since a frame may fail in each
    // of thousands of copies.
    void failed(const std::string& switch_name, const std::exception& error, Time now);
    // Show the first `most` bytes of a frame.
    void dump(std::string title, std::string_view frame, std::size_t most);
    [[nodiscard]] bool empty() const { return messages_.empty(); }
    // Remove and return the messages, in order.
    [[nodiscard]] std::vector<Message> take() { return std::exchange(messages_, {}); }

   private:
    std::vector<Message> messages_;
    Time next_failure_{};  // earliest time of the next message about a failed frame
    std::uint64_t untold_failures_ = 0;
};

}  // namespace railyard::wire
