// SPDX-License-Identifier: Apache-2.0
// Creation, failure, impairment, recording and replacement of links.
#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "network/links/links.h"

namespace railyard {

namespace {

constexpr int kPorts = 510;

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
    seed(index);
    return index;
}

Index<Channel> Links::channel_of(Index<Link> link, int direction) const {
    return links_.at(link).channels.at(static_cast<std::size_t>(direction));
}

// Return a reference to the egress channel of a port; none without a link.
Index<Channel>& Links::port_of(Index<Switch> switch_index, std::uint32_t port) {
    auto& ports = out_.at(switch_index);
    if (ports.size() <= port) ports.resize(port + 1);
    return ports[port];
}

void Links::wire(Index<Channel> channel, Index<Switch> switch_index, int port, bool plugged) {
    const std::string& name = switches_.at(switch_index)->name();
    if (port < 0 || port >= kPorts)
        throw std::invalid_argument("switch " + name + ": port " + std::to_string(port) +
                                    " is not between 0 and 509");
    Channel& c = channels_[channel];
    const auto number = static_cast<std::uint32_t>(port);
    if (plugged) {
        Index<Channel>& out = port_of(switch_index, number);
        if (out)
            throw std::invalid_argument("switch " + name + ": port " + std::to_string(port) +
                                        " has a link already");
        out = channel;
    } else {
        c.up = false;
    }
    c.from_switch = switch_index;
    c.from_port = number;
}

Index<Link> Links::connect(Index<Switch> switch_a, int port_a, Index<Switch> switch_b, int port_b,
                           const LinkConfig& config, bool plugged, const LinkConfig& back) {
    const std::string name = switches_.at(switch_a)->name() + "-" + switches_.at(switch_b)->name();
    const Index<Link> link = links_.next();
    const Index<Channel> ab = new_channel(config, name), ba = new_channel(back, name);
    wire(ab, switch_a, port_a, plugged);
    wire(ba, switch_b, port_b, plugged);
    for (const auto& [channel, direction, to, port] :
         {std::tuple{ab, 0, switch_b, port_b}, std::tuple{ba, 1, switch_a, port_a}}) {
        Channel& c = channels_[channel];
        c.link = link;
        c.direction = direction;
        c.to_switch = to;
        c.to_port = static_cast<std::uint32_t>(port);
    }
    ASSERT(link == links_.next() && channels_[ab].to_switch == channels_[ba].from_switch);
    links_.push_back({{ab, ba}});
    return link;
}

Links::HostChannels Links::attach(Index<Host> host, Index<Switch> switch_index, int port,
                                  const LinkConfig& config) {
    const std::string name = switches_.at(switch_index)->name() + "-host";
    LinkConfig own = config;
    if (config.policy) {
        // A host's queue has no limit: frames wait in its memory.
        auto unlimited = std::make_shared<QueuePolicy>(*config.policy);
        unlimited->queues = {};
        own.policy = std::move(unlimited);
    }
    const Index<Channel> out = new_channel(own, name), in = new_channel(config, name);
    wire(in, switch_index, port, true);
    channels_[out].to_switch = switch_index;
    channels_[out].to_port = static_cast<std::uint32_t>(port);
    for (const Index<Channel> c : {in, out}) channels_[c].host = host;
    return {.out = out, .in = in};
}

// Connect a link to its ports; invalid_argument if an earlier link of a port is up. The receive buffer
// belongs to the port: the new channel takes over the bytes still held in it and the credits still to return.
void Links::plug(Index<Link> link) {
    const auto& own = links_.at(link).channels;
    for (const Index<Channel> index : own) {
        const Channel& c = channels_[index];
        const Index<Channel> present = port_of(c.from_switch, c.from_port);
        if (!present || present == index) continue;
        const Channel& other = channels_[present];
        if (other.up || !other.link)
            throw std::invalid_argument("switch " + switches_.at(c.from_switch)->name() + ": port " +
                                        std::to_string(c.from_port) + " is in use by link " + other.name +
                                        "; take that down first");
    }
    for (const std::size_t way : {0, 1}) {
        const Channel& out = channels_[own[way]];
        Index<Channel>& present = port_of(out.from_switch, out.from_port);
        if (present == own[way]) continue;
        Channel& in = channels_[own[1 - way]];
        in.successor = {};
        if (present) {
            const Channel& other = channels_[present];
            Channel& before = channels_[channel_of(other.link, 1 - other.direction)];
            for (std::size_t v = 0; v < kVls; ++v) in.lanes[v].held += std::exchange(before.lanes[v].held, 0);
            in.returning.clear();
            for (; !before.returning.empty(); before.returning.pop_front()) {
                const Channel::Returning& credit = before.returning.front();
                in.returning.push_back(
                    {credit.time - before.config.delay + in.config.delay, credit.bytes, credit.vl});
            }
            before.successor = own[1 - way];
            ASSERT(!in.successor);  // buffers have one owner
        }
        present = own[way];
    }
}

void Links::check_plugged(Index<Channel> index) {
    const Channel& c = channels_[index];
    if (port_of(c.from_switch, c.from_port) != index)
        throw std::invalid_argument("link " + c.name + " is not plugged");
}

void Links::impair(Index<Link> link, int direction, const Impairment& how) {
    channels_[channel_of(link, direction)].impair(how);
}

void Links::seed(Index<Channel> index) { channels_[index].seed(mixed(seed_ + mixed(index.at() + 1))); }

void Links::set_seed(std::uint64_t seed_of_all) {
    seed_ = seed_of_all;
    for (std::size_t index = 0; index < channels_.size(); ++index) seed(Index<Channel>(index));
}

void Links::record(Index<Link> link, std::optional<int> direction, const std::string& path) {
    if (direction && *direction != 0 && *direction != 1)
        throw std::invalid_argument("link " + channels_[channel_of(link, 0)].name + " has no direction " +
                                    std::to_string(*direction) + "; give 0 or 1");
    recordings_.push_back(std::make_shared<PcapFile>(path));
    for (int way = 0; way < 2; ++way)
        if (way == direction.value_or(way)) channels_[channel_of(link, way)].record(recordings_.back());
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
    const auto frames = most > 0 ? std::make_shared<RecentFrames>(most) : nullptr;
    for (int way = 0; way < 2; ++way) channels_[channel_of(link, way)].keep_recent(frames, way);
}

std::vector<RecentFrames::Item> Links::recent(Index<Link> link) const {
    const RecentFrames* frames = channels_[channel_of(link, 0)].recent();
    return frames == nullptr ? std::vector<RecentFrames::Item>{} : frames->list();
}

const Channel& Links::channel(Index<Link> link, int direction) const {
    return channels_[channel_of(link, direction)];
}

}  // namespace railyard
