// SPDX-License-Identifier: Apache-2.0
// Creation, failure, impairment, recording and replacement of links.
#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "network/links/links.h"

namespace railyard::network {

namespace {

constexpr std::uint32_t kPorts = 510;

// Mix the bits of a seed, so that the random numbers of neighbouring channels are unrelated.
std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ z >> 33) * 0xff51afd7ed558ccd;
    z = (z ^ z >> 33) * 0xc4ceb9fe1a85ec53;
    return z ^ z >> 33;
}

}  // namespace

Index<Channel> Links::new_channel(const LinkConfig& config, const std::string& name) {
    const Index<Channel> index = channels_.next();
    channels_.emplace_back(config, name);
    channels_.back().index = index;
    seed(index);
    return index;
}

Index<Channel> Links::channel_of(Index<Link> link, Direction direction) const {
    return links_.at(link).channels[direction];
}

// Return a reference to the egress channel of a port; none without a link.
Index<Channel>& Links::port_of(SwitchPort at) {
    auto& ports = out_.at(at.switch_index);
    const std::size_t number = at.port.value();
    if (ports.size() <= number) ports.resize(number + 1);
    return ports[number];
}

void Links::wire(Index<Channel> channel, SwitchPort from, bool plugged) {
    const std::string& name = switches_.at(from.switch_index)->name();
    // Show negative numbers with their sign.
    if (from.port.value() >= kPorts)
        throw std::invalid_argument("switch " + name + ": port " +
                                    std::to_string(static_cast<std::int32_t>(from.port.value())) +
                                    " is not between 0 and 509");
    Channel& c = channels_[channel];
    if (plugged) {
        Index<Channel>& out = port_of(from);
        if (out)
            throw std::invalid_argument("switch " + name + ": port " + to_string(from.port) +
                                        " has a link already");
        out = channel;
    } else {
        c.up = false;
    }
    c.from_switch = from.switch_index;
    c.from_port = from.port;
}

Index<Link> Links::connect(SwitchPort a, SwitchPort b, const LinkConfig& config, bool plugged,
                           const LinkConfig& back) {
    const std::string name =
        switches_.at(a.switch_index)->name() + "-" + switches_.at(b.switch_index)->name();
    const Index<Link> link = links_.next();
    const Index<Channel> ab = new_channel(config, name), ba = new_channel(back, name);
    wire(ab, a, plugged);
    wire(ba, b, plugged);
    for (const auto& [channel, direction, to] :
         {std::tuple{ab, Direction::Forward, b}, std::tuple{ba, Direction::Backward, a}}) {
        Channel& c = channels_[channel];
        c.link = link;
        c.direction = direction;
        c.to_switch = to.switch_index;
        c.to_port = to.port;
    }
    ASSERT(link == links_.next() && channels_[ab].to_switch == channels_[ba].from_switch);
    links_.push_back({.channels = {{ab, ba}}});
    return link;
}

Links::HostChannels Links::attach(Index<Host> host, SwitchPort at, const LinkConfig& config) {
    const std::string name = switches_.at(at.switch_index)->name() + "-host";
    LinkConfig own = config;
    if (config.policy) {
        // A host's queue has no limit: frames wait in its memory.
        auto unlimited = std::make_shared<QueuePolicy>(*config.policy);
        unlimited->queues = {};
        own.policy = std::move(unlimited);
    }
    const Index<Channel> out = new_channel(own, name), in = new_channel(config, name);
    wire(in, at, true);
    channels_[out].to_switch = at.switch_index;
    channels_[out].to_port = at.port;
    for (const Index<Channel> c : {in, out}) channels_[c].host = host;
    return {.out = out, .in = in};
}

// Connect a link to its ports; invalid_argument if an earlier link of a port is up. The receive buffer
// belongs to the port: the new channel takes over the bytes still held in it and the credits still to return.
void Links::plug(Index<Link> link) {
    const auto& own = links_.at(link).channels;
    for (const Index<Channel> index : own) {
        const Channel& c = channels_[index];
        const Index<Channel> present = port_of({c.from_switch, c.from_port});
        if (!present || present == index) continue;
        const Channel& other = channels_[present];
        if (other.up || !other.link)
            throw std::invalid_argument("switch " + switches_.at(c.from_switch)->name() + ": port " +
                                        to_string(c.from_port) + " is in use by link " + other.name +
                                        "; take that down first");
    }
    for (const Direction way : kDirections) {
        const Channel& out = channels_[own[way]];
        Index<Channel>& present = port_of({out.from_switch, out.from_port});
        if (present == own[way]) continue;
        Channel& in = channels_[own[opposite(way)]];
        in.successor = {};
        if (present) {
            const Channel& other = channels_[present];
            Channel& before = channels_[channel_of(other.link, opposite(other.direction))];
            for (std::size_t v = 0; v < kVls; ++v)
                in.lanes[v].held += std::exchange(before.lanes[v].held, Bytes());
            in.returning.clear();
            for (; !before.returning.empty(); before.returning.pop_front()) {
                const Channel::Returning& credit = before.returning.front();
                in.returning.push_back(
                    {credit.time - before.config.delay + in.config.delay, credit.bytes, credit.lane});
            }
            before.successor = in.index;
            ASSERT(!in.successor);  // buffers have one owner
        }
        present = own[way];
    }
}

void Links::check_plugged(Index<Channel> index) {
    const Channel& c = channels_[index];
    if (port_of({c.from_switch, c.from_port}) != index)
        throw std::invalid_argument("link " + c.name + " is not plugged");
}

void Links::impair(Index<Link> link, Direction direction, const Impairment& how) {
    channels_[channel_of(link, direction)].impair(how);
}

void Links::seed(Index<Channel> index) { channels_[index].seed(mixed(seed_ + mixed(index.at() + 1))); }

void Links::set_seed(std::uint64_t seed_of_all) {
    seed_ = seed_of_all;
    for (std::size_t index = 0; index < channels_.size(); ++index) seed(Index<Channel>(index));
}

void Links::record(Index<Link> link, std::optional<Direction> direction, const std::string& path) {
    recordings_.push_back(std::make_unique<frames::PcapFile>(path));
    for (const Direction way : kDirections)
        if (way == direction.value_or(way)) channels_[channel_of(link, way)].record(*recordings_.back());
}

void Links::end_recordings() {
    for (Channel& c : channels_) c.end_recordings();
    recordings_.clear();
}

void Links::flush_recordings() const {
    for (const auto& file : recordings_) file->flush();
}

void Links::keep_recent(Index<Link> link, std::size_t most) {
    kept_recent_ |= most > 0;
    const auto recent = most > 0 ? std::make_shared<frames::RecentFrames>(most) : nullptr;
    for (const Direction way : kDirections) channels_[channel_of(link, way)].keep_recent(recent, way);
}

std::vector<frames::RecentFrames::Item> Links::recent(Index<Link> link) const {
    const frames::RecentFrames* kept = channels_[channel_of(link, Direction::Forward)].recent();
    return kept == nullptr ? std::vector<frames::RecentFrames::Item>{} : kept->list();
}

const Channel& Links::channel(Index<Link> link, Direction direction) const {
    return channels_[channel_of(link, direction)];
}

}  // namespace railyard::network
