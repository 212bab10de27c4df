// SPDX-License-Identifier: Apache-2.0
// Creation, failure, impairment, recording and replacement of links.
#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "network/network.h"

namespace railyard {

namespace {

constexpr int kPorts = 510;

// Mixes a seed, so that the generators of neighbouring channels are unrelated.
std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ z >> 33) * 0xff51afd7ed558ccd;
    z = (z ^ z >> 33) * 0xc4ceb9fe1a85ec53;
    return z ^ z >> 33;
}

}  // namespace

Index<Channel> Network::new_channel(const LinkConfig& config, const std::string& name) {
    const Index<Channel> index = channels_.next();
    channels_.emplace_back(config, name);
    seed(index);
    return index;
}

Index<Channel> Network::channel_of(Index<Link> link, int direction) const {
    return links_.at(link).channels.at(static_cast<std::size_t>(direction));
}

// The channel that a port leads to; none without a link.
Index<Channel>& Network::out_of(Index<Switch> switch_index, std::uint32_t port) {
    auto& ports = out_channel_.at(switch_index);
    if (ports.size() <= port) ports.resize(port + 1);
    return ports[port];
}

// Note that a channel leads from a partition to another.
void Network::cross(Index<Channel> channel, const Partition& from, const Partition& to) {
    if (&from == &to) return;
    Channel& c = channels_[channel];
    ASSERT(!c.crossing && from.index != to.index);
    c.crossing = crossings_.next();
    crossings_.push_back({.channel = channel, .from = from.index, .to = to.index, .sent = {}});
    delay_ = std::min(delay_, c.config.delay);
}

void Network::wire(Index<Channel> channel, Index<Switch> switch_index, int port, bool plugged) {
    const std::string& name = switch_at(switch_index).name();
    if (port < 0 || port >= kPorts)
        throw std::invalid_argument("switch " + name + ": port " + std::to_string(port) +
                                    " is not between 0 and 509");
    Channel& c = channels_[channel];
    const auto number = static_cast<std::uint32_t>(port);
    if (plugged) {
        Index<Channel>& out = out_of(switch_index, number);
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

Index<Link> Network::connect(Index<Switch> switch_a, int port_a, Index<Switch> switch_b, int port_b,
                             const LinkConfig& config, bool plugged) {
    const std::string name = switch_at(switch_a).name() + "-" + switch_at(switch_b).name();
    const Index<Link> link = links_.next();
    const Index<Channel> ab = new_channel(config, name), ba = new_channel(config, name);
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
    cross(ab, *partition_of_[switch_a], *partition_of_[switch_b]);
    cross(ba, *partition_of_[switch_b], *partition_of_[switch_a]);
    ASSERT(link == links_.next() && channels_[ab].to_switch == channels_[ba].from_switch);
    links_.push_back({{ab, ba}});
    return link;
}

Index<Host> Network::attach_host(Index<Switch> switch_index, int port, const LinkConfig& config) {
    const std::string name = switch_at(switch_index).name() + "-host";
    const Index<Host> host = hosts_.next();
    const Index<Channel> out = new_channel(config, name), in = new_channel(config, name);
    wire(in, switch_index, port, true);
    channels_[out].to_switch = switch_index;
    channels_[out].to_port = static_cast<std::uint32_t>(port);
    for (const Index<Channel> c : {in, out}) channels_[c].host = host;
    hosts_.push_back({.out = out, .in = in, .station = nullptr, .partition = partition_of_[switch_index]});
    return host;
}

// Connect the ports of a link to it; earlier links of the ports must be down. A port has one receive buffer
// whatever its link: the new channel takes over the credits of frames that are still in it.
void Network::plug(Index<Link> link) {
    refuse_in_merge();
    const auto& own = links_.at(link).channels;
    for (const Index<Channel> index : own) {
        const Channel& c = channels_[index];
        const Index<Channel> present = out_of(c.from_switch, c.from_port);
        if (!present || present == index) continue;
        const Channel& other = channels_[present];
        if (other.up || !other.link)
            throw std::invalid_argument("switch " + switch_at(c.from_switch).name() + ": port " +
                                        std::to_string(c.from_port) + " is in use by link " + other.name +
                                        "; take that down first");
    }
    for (const std::size_t way : {0, 1}) {
        const Channel& out = channels_[own[way]];
        Index<Channel>& present = out_of(out.from_switch, out.from_port);
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

void Network::set_channel(Index<Channel> index, bool up) {
    Channel& c = channels_[index];
    if (c.up == up) return;
    // The end that sends, unless the channel comes from a host.
    Partition& p = c.from_switch ? *partition_of_[c.from_switch] : *hosts_[c.host].partition;
    p.now = now_;
    if (up) return c.bring_up(now_);
    c.up = false;
    for (std::size_t i = 0; i < c.flying.size(); ++i) {
        if (!c.flying[i].frame->lost) ++c.losses.lost;  // impaired frames have been counted
    }
    c.losses.lost += c.waiting;
    c.clear_wire();
    c.busy_until = now_;
    p.waiting_frames -= static_cast<std::int64_t>(c.waiting);
    c.waiting = 0;
    c.ready = 0;
    for (std::size_t v = 0; v < kVls; ++v) {
        while (!c.lanes[v].queue.empty()) discard(p, c.lanes[v].queue.pop_front());
        c.lanes[v].queued = 0;
    }
    ASSERT(p.waiting_frames >= 0 && c.flying.empty());
}

void Network::set_link(Index<Link> link, bool up) {
    refuse_in_merge();
    for (const Index<Channel> index : links_.at(link).channels) {
        Channel& c = channels_[index];
        if (c.up == up) continue;
        if (up && out_of(c.from_switch, c.from_port) != index)
            throw std::invalid_argument("link " + c.name + " is not plugged");
        set_channel(index, up);
        control_.push_back({ControlItem::Kind::Port, now_, c.from_switch, c.from_port, up, {}});
    }
}

void Network::set_host_link(Index<Host> host, bool up) {
    refuse_in_merge();
    const Host& h = hosts_.at(host);
    const Channel& in = channels_[h.in];
    if (in.up == up) return;
    set_channel(h.out, up);
    set_channel(h.in, up);
    control_.push_back({ControlItem::Kind::Port, now_, in.from_switch, in.from_port, up, {}});
}

void Network::impair(Index<Link> link, int direction, const Impairment& how) {
    refuse_in_merge();
    channels_[channel_of(link, direction)].impair(how);
}

void Network::seed(Index<Channel> index) { channels_[index].seed(mixed(seed_ + mixed(index.at() + 1))); }

void Network::set_seed(std::uint64_t seed_of_all) {
    seed_ = seed_of_all;
    for (std::size_t index = 0; index < channels_.size(); ++index) seed(Index<Channel>(index));
}

void Network::record(Index<Link> link, std::optional<int> direction, const std::string& path) {
    if (direction && *direction != 0 && *direction != 1)
        throw std::invalid_argument("link " + channels_[channel_of(link, 0)].name + ": no direction " +
                                    std::to_string(*direction) + "; there are 0 and 1");
    recordings_.push_back(std::make_shared<PcapFile>(path));
    for (int way = 0; way < 2; ++way)
        if (way == direction.value_or(way)) channels_[channel_of(link, way)].record(recordings_.back());
}

void Network::end_recordings() {
    for (Channel& c : channels_) c.end_recordings();
    recordings_.clear();
}

void Network::keep_recent(Index<Link> link, std::size_t most) {
    kept_recent_ |= most > 0;
    const auto frames = most > 0 ? std::make_shared<RecentFrames>(most) : nullptr;
    for (int way = 0; way < 2; ++way) channels_[channel_of(link, way)].keep_recent(frames, way);
}

std::vector<RecentFrames::Item> Network::recent(Index<Link> link) const {
    const RecentFrames* frames = channels_[channel_of(link, 0)].recent();
    return frames == nullptr ? std::vector<RecentFrames::Item>{} : frames->list();
}

const Channel& Network::channel(Index<Link> link, int direction) const {
    return channels_[channel_of(link, direction)];
}

const Channel& Network::host_channel(Index<Host> host, int direction) const {
    const Host& h = hosts_.at(host);
    return channels_[direction == 0 ? h.out : h.in];
}

}  // namespace railyard
