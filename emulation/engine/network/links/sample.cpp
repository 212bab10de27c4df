// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <vector>

#include "network/links/links.h"

namespace railyard::network {

namespace {

// Return part / whole scaled to a byte: 0 only for no part, 255 for all or more.
template <typename Quantity>
char share(Quantity part, Quantity whole) {
    if (part <= Quantity()) return 0;
    const Quantity bounded = std::min(part, whole);
    // Use a double, since picoseconds times 255 may not fit 64 bits.
    const double scaled =
        255.0 * static_cast<double>(bounded) / static_cast<double>(std::max(whole, Quantity(1)));
    return static_cast<char>(std::max(1, static_cast<int>(scaled)));
}

// Return the fill of a channel's queues as a byte. With credits: all waiting bytes as a share of a VL's
// receive buffer. Without credits: the largest share of a queue's limit, or of the bytes at which priority
// flow control pauses.
char queue_share(const Channel& c, Bytes waiting) {
    if (c.lossless()) return share(waiting, c.config.credit_bytes);
    if (!c.config.policy) return share(waiting, c.config.queue_bytes);
    const QueuePolicy& policy = *c.config.policy;
    std::uint8_t most = 0;
    const auto note = [&](auto part, auto limit) {
        if (limit > decltype(limit)()) most = std::max(most, static_cast<std::uint8_t>(share(part, limit)));
    };
    for (std::size_t lane = 0; lane < c.lanes.size(); ++lane) {
        const QueuePolicy::Queue& limits = policy.queues[lane];
        note(c.lanes[lane].queued, limits.bytes);
        note(static_cast<std::int64_t>(c.lanes[lane].queue.size()), limits.frames);
        if (policy.pauses && (policy.pauses->lanes >> lane & 1u) != 0)
            note(c.lanes[lane].queued, policy.pauses->xoff);
    }
    return static_cast<char>(most);
}

}  // namespace

LinkSample Links::sample(Time now) {
    LinkSample result;
    const Time since = now - sampled_;
    while (sampled_busy_.size() < channels_.size()) sampled_busy_.emplace_back();
    for (const Link& link : links_) {
        std::uint8_t state = 0;
        for (const Direction direction : kDirections) {
            const Index<Channel> index = link.channels[direction];
            const auto bit = static_cast<unsigned>(direction);
            const Channel& c = channels_[index];
            // `busy` includes all of a frame as soon as its sending begins: carry the rest over to the next
            // sample.
            const Time sent = std::min(c.load.busy - sampled_busy_[index], since);
            result.load.push_back(share(sent, since));
            sampled_busy_[index] += sent;
            const QueueDepth depth = queue_depth(index);
            result.queue.push_back(queue_share(c, depth.bytes));
            if (c.up) state |= 1;
            if (c.impaired()) state = static_cast<std::uint8_t>(state | 2u << bit);
            if (depth.paused) state = static_cast<std::uint8_t>(state | 8u << bit);
        }
        result.state.push_back(static_cast<char>(state));
    }
    sampled_ = now;
    return result;
}

QueueDepth Links::queue_depth(Index<Channel> channel) const {
    const Channel& c = channels_[channel];
    QueueDepth result;
    for (std::size_t lane = 0; lane < c.lanes.size(); ++lane) {
        result.bytes += c.lanes[lane].queued;
        result.paused = result.paused || (c.pausing && c.pauses->stops(Lane(lane)));
    }
    return result;
}

std::vector<QueueDepth> Links::queue_depths() const {
    std::vector<QueueDepth> result;
    for (const Link& link : links_)
        for (const Index<Channel> channel : link.channels) result.push_back(queue_depth(channel));
    return result;
}

std::vector<Bytes> Links::queued_by_vl(Index<Link> link, Direction direction) const {
    const Channel& c = channels_[channel_of(link, direction)];
    std::vector<Bytes> result(lanes.vls().size());
    for (std::size_t lane = 0; lane < lanes.vls().size(); ++lane)
        result[static_cast<std::size_t>(lanes.vls()[lane].value())] = c.lanes[lane].queued;
    return result;
}

}  // namespace railyard::network
