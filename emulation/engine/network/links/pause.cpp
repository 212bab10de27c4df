// SPDX-License-Identifier: Apache-2.0
#include "network/links/pause.h"

#include <algorithm>
#include <array>
#include <utility>

namespace railyard::network {

namespace {

constexpr std::size_t kBytes = 64;
// First bytes of a pause frame: destination of MAC control frames, source (zero), type, 802.1Qbb opcode.
constexpr std::array<std::uint8_t, 16> kStart{0x01, 0x80, 0xC2, 0, 0,    0x01, 0x02, 0,
                                              0,    0,    0,    0, 0x88, 0x08, 1,    1};
constexpr std::size_t kVector = 17, kTimes = 18;

}  // namespace

frames::FrameHandle pause_frame(frames::FramePool& pool, PauseOrder order) {
    std::array<std::uint8_t, kBytes> bytes{};
    std::copy(kStart.begin(), kStart.end(), bytes.begin());
    bytes[kVector] = static_cast<std::uint8_t>(order.stop | order.go);
    for (std::size_t at = 0; at < kClasses; ++at)
        if ((order.stop >> at & 1u) != 0) bytes[kTimes + 2 * at] = bytes[kTimes + 2 * at + 1] = 0xFF;
    return pool.acquire(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::optional<PauseOrder> pause_order(const frames::Frame& frame) {
    if (frame.stored < kTimes + 2 * kClasses) return std::nullopt;
    const std::uint8_t* const bytes = frame.data();
    if (!std::equal(kStart.begin(), kStart.begin() + 6, bytes) ||
        !std::equal(kStart.begin() + 12, kStart.end(), bytes + 12))
        return std::nullopt;
    PauseOrder order;
    for (std::size_t at = 0; at < kClasses; ++at) {
        const unsigned bit = bytes[kVector] & 1u << at;
        const bool stops = (bytes[kTimes + 2 * at] | bytes[kTimes + 2 * at + 1]) != 0;
        (stops ? order.stop : order.go) |= static_cast<std::uint8_t>(bit);
    }
    return order;
}

bool Pauses::take(Lane lane, Bytes bytes) {
    const std::size_t at = class_of(lane);
    if (held_[at] + bytes > policy_.xoff + policy_.headroom) {
        ++overruns;
        return false;
    }
    held_[at] += bytes;
    const auto bit = static_cast<std::uint8_t>(1u << at);
    if (held_[at] > policy_.xoff && (asked_ & bit) == 0) {
        asked_ |= bit;
        change_ |= bit;
    }
    return true;
}

void Pauses::free(Lane lane, Bytes bytes) {
    const std::size_t at = class_of(lane);
    held_[at] -= bytes;
    ASSERT(held_[at] >= Bytes());
    const auto bit = static_cast<std::uint8_t>(1u << at);
    if (held_[at] <= policy_.xon && (asked_ & bit) != 0) {
        asked_ = static_cast<std::uint8_t>(asked_ & ~bit);
        change_ |= bit;
    }
}

std::optional<PauseOrder> Pauses::due() {
    if (change_ == 0) return std::nullopt;
    const std::uint8_t changed = std::exchange(change_, std::uint8_t{0});
    return PauseOrder{static_cast<std::uint8_t>(changed & asked_),
                      static_cast<std::uint8_t>(changed & ~asked_)};
}

void Pauses::obey(PauseOrder order, Time now) {
    ++received;
    for (std::size_t at = 0; at < kClasses; ++at) {
        const auto bit = static_cast<std::uint8_t>(1u << at);
        if ((order.go & bit) != 0) stopped_ = static_cast<std::uint8_t>(stopped_ & ~bit);
        if ((order.stop & bit) == 0 || (stopped_ & bit) != 0 || now < deaf_until_[at]) continue;
        stopped_ |= bit;
        since_[at] = now;
    }
}

std::uint8_t Pauses::expire(Time now) {
    std::uint8_t ended = 0;
    if (policy_.watchdog == Time()) return ended;
    for (std::size_t at = 0; at < kClasses; ++at) {
        const auto bit = static_cast<std::uint8_t>(1u << at);
        if ((stopped_ & bit) == 0 || now - since_[at] < policy_.watchdog) continue;
        stopped_ = static_cast<std::uint8_t>(stopped_ & ~bit);
        deaf_until_[at] = now + policy_.restore;
        ended |= bit;
        ++expired;
    }
    return ended;
}

std::optional<Time> Pauses::next_expiry() const {
    if (policy_.watchdog == Time() || stopped_ == 0) return std::nullopt;
    Time next{};
    for (std::size_t at = 0; at < kClasses; ++at)
        if ((stopped_ >> at & 1u) != 0 && (next == Time() || since_[at] + policy_.watchdog < next))
            next = since_[at] + policy_.watchdog;
    return next;
}

void Pauses::reset() {
    stopped_ = asked_ = change_ = 0;
    frames.clear();
}

}  // namespace railyard::network
