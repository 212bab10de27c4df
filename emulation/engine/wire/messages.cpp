// SPDX-License-Identifier: Apache-2.0
#include "wire/messages.h"

namespace railyard::wire {

namespace {

constexpr std::size_t kMostMessages = 10'000;        // most unread messages; more are dropped
constexpr Time kFailurePeriod = 100 * kMillisecond;  // least time between messages about failed frames

}  // namespace

void Messages::say(const char* level, std::string text) {
    if (messages_.size() < kMostMessages) messages_.emplace_back(level, std::move(text));
}

void Messages::failed(const std::string& switch_name, const std::exception& error, Time now) {
    if (now < next_failure_) {
        ++untold_failures_;
        return;
    }
    std::string text = switch_name + ": " + error.what();
    if (untold_failures_ > 0)
        text += "; since the last such line " + std::to_string(untold_failures_) + " more";
    say("error", std::move(text));
    untold_failures_ = 0;
    next_failure_ = now + kFailurePeriod;
}

void Messages::dump(std::string title, std::string_view frame, std::size_t most) {
    static const char* const kDigits = "0123456789abcdef";
    std::string text = std::move(title) + ", " + std::to_string(frame.size()) + " bytes:";
    for (const char c : frame.substr(0, most)) {
        const auto byte = static_cast<unsigned char>(c);
        text += {' ', kDigits[byte >> 4], kDigits[byte & 15]};
    }
    say("info", std::move(text));
}

}  // namespace railyard::wire
