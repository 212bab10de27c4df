// SPDX-License-Identifier: Apache-2.0
// Creation, failure, impairment, recording and replacement of links.
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

int Network::new_channel(const LinkConfig& config, const std::string& name) {
    channels_.emplace_back(config, name);
    const int index = static_cast<int>(channels_.size()) - 1;
    seed(index);
    return index;
}

int Network::channel_of(int link, int direction) const {
    return links_.at(static_cast<std::size_t>(link)).at(static_cast<std::size_t>(direction));
}

// The channel that a port leads to; -1: none.
int& Network::out_of(int switch_index, int port) {
    auto& ports = out_channel_.at(static_cast<std::size_t>(switch_index));
    if (ports.size() <= static_cast<std::size_t>(port)) ports.resize(static_cast<std::size_t>(port) + 1, -1);
    return ports[static_cast<std::size_t>(port)];
}

void Network::wire(int channel, int switch_index, int port, bool plugged) {
    const std::string& name = switch_at(switch_index).name();
    if (port < 0 || port >= kPorts)
        throw std::invalid_argument("switch " + name + ": port " + std::to_string(port) +
                                    " is not between 0 and 509");
    Channel& c = channels_[static_cast<std::size_t>(channel)];
    if (plugged) {
        int& out = out_of(switch_index, port);
        if (out != -1)
            throw std::invalid_argument("switch " + name + ": port " + std::to_string(port) +
                                        " has a link already");
        out = channel;
    } else {
        c.up = false;
    }
    c.from_switch = switch_index;
    c.from_port = port;
}

int Network::connect(int switch_a, int port_a, int switch_b, int port_b, const LinkConfig& config,
                     bool plugged) {
    const std::string name = switch_at(switch_a).name() + "-" + switch_at(switch_b).name();
    const int link = static_cast<int>(links_.size());
    const int ab = new_channel(config, name), ba = new_channel(config, name);
    wire(ab, switch_a, port_a, plugged);
    wire(ba, switch_b, port_b, plugged);
    for (const auto& [channel, direction, to, port] :
         {std::tuple{ab, 0, switch_b, port_b}, std::tuple{ba, 1, switch_a, port_a}}) {
        Channel& c = channels_[static_cast<std::size_t>(channel)];
        c.link = link;
        c.direction = direction;
        c.to_switch = to;
        c.to_port = port;
    }
    links_.push_back({ab, ba});
    return link;
}

int Network::attach_host(int switch_index, int port, const LinkConfig& config) {
    const std::string name = switch_at(switch_index).name() + "-host";
    const int host = static_cast<int>(hosts_.size());
    const int out = new_channel(config, name), in = new_channel(config, name);
    wire(in, switch_index, port, true);
    channels_[static_cast<std::size_t>(in)].to_host = host;
    channels_[static_cast<std::size_t>(out)].to_switch = switch_index;
    channels_[static_cast<std::size_t>(out)].to_port = port;
    for (const int c : {in, out}) channels_[static_cast<std::size_t>(c)].direction = host;
    hosts_.push_back({.out = out, .in = in});
    return host;
}

// Connect the ports of a link to it; earlier links of the ports must be down. A port has one receive buffer
// whatever its link: the new channel takes over the credits of frames that are still in it.
void Network::plug(int link) {
    const std::array<int, 2> own = links_.at(static_cast<std::size_t>(link));
    for (const int index : own) {
        const Channel& c = channels_[static_cast<std::size_t>(index)];
        const int present = out_of(c.from_switch, c.from_port);
        if (present == -1 || present == index) continue;
        const Channel& other = channels_[static_cast<std::size_t>(present)];
        if (other.up || other.link == -1)
            throw std::invalid_argument("switch " + switch_at(c.from_switch).name() + ": port " +
                                        std::to_string(c.from_port) + " is in use by link " + other.name +
                                        "; take that down first");
    }
    for (const std::size_t way : {0, 1}) {
        const Channel& out = channels_[static_cast<std::size_t>(own[way])];
        int& present = out_of(out.from_switch, out.from_port);
        if (present == own[way]) continue;
        Channel& in = channels_[static_cast<std::size_t>(own[1 - way])];
        in.successor = -1;
        if (present != -1) {
            const Channel& other = channels_[static_cast<std::size_t>(present)];
            Channel& before =
                channels_[static_cast<std::size_t>(channel_of(other.link, 1 - other.direction))];
            for (std::size_t v = 0; v < kVls; ++v) in.held[v] += std::exchange(before.held[v], 0);
            in.returning.clear();
            for (const auto& credit : std::exchange(before.returning, {}))
                in.returning.push_back(
                    {credit.time - before.config.delay + in.config.delay, credit.bytes, credit.vl});
            before.successor = own[1 - way];
        }
        present = own[way];
    }
}

void Network::set_channel(int index, bool up) {
    Channel& c = channels_[static_cast<std::size_t>(index)];
    if (c.up == up) return;
    if (up) return c.bring_up(now_);
    c.up = false;
    for (std::size_t i = 0; i < c.flying.size(); ++i) {
        if (!c.flying[i].lost) ++c.stats.lost;  // impaired frames have been counted
    }
    c.stats.lost += c.waiting;
    c.flying.clear();
    c.busy_until = now_;
    waiting_frames_ -= c.waiting;
    c.waiting = 0;
    c.ready = 0;
    for (std::size_t v = 0; v < kVls; ++v) {
        while (!c.queues[v].empty()) discard(c.queues[v].pop_front());
        c.queued[v] = 0;
    }
}

void Network::set_link(int link, bool up) {
    for (const int index : links_.at(static_cast<std::size_t>(link))) {
        Channel& c = channels_[static_cast<std::size_t>(index)];
        if (c.up == up) continue;
        if (up && out_of(c.from_switch, c.from_port) != index)
            throw std::invalid_argument("link " + c.name + " is not plugged");
        set_channel(index, up);
        control_.push_back({ControlItem::Kind::Port, now_, c.from_switch, c.from_port, up, {}});
    }
}

void Network::set_host_link(int host, bool up) {
    const Host& h = hosts_.at(static_cast<std::size_t>(host));
    const Channel& in = channels_[static_cast<std::size_t>(h.in)];
    if (in.up == up) return;
    set_channel(h.out, up);
    set_channel(h.in, up);
    control_.push_back({ControlItem::Kind::Port, now_, in.from_switch, in.from_port, up, {}});
}

void Network::impair(int link, int direction, const Impairment& how) {
    channels_[static_cast<std::size_t>(channel_of(link, direction))].impair(how);
}

void Network::seed(int index) {
    channels_[static_cast<std::size_t>(index)].seed(
        mixed(seed_ + mixed(static_cast<std::uint64_t>(index) + 1)));
}

void Network::set_seed(std::uint64_t seed_of_all) {
    seed_ = seed_of_all;
    for (std::size_t index = 0; index < channels_.size(); ++index) seed(static_cast<int>(index));
}

void Network::record(int link, std::optional<int> direction, const std::string& path) {
    std::vector<Channel*> chosen;
    for (int way = 0; way < 2; ++way)
        if (way == direction.value_or(way))
            chosen.push_back(&channels_[static_cast<std::size_t>(channel_of(link, way))]);
    if (chosen.empty())
        throw std::invalid_argument("link " + channels_[static_cast<std::size_t>(channel_of(link, 0))].name +
                                    ": no direction " + std::to_string(*direction) + "; there are 0 and 1");
    recordings_.push_back(std::make_shared<PcapFile>(path));
    for (Channel* c : chosen) c->record(recordings_.back());
}

void Network::end_recordings() {
    for (Channel& c : channels_) c.end_recordings();
    recordings_.clear();
}

const ChannelStats& Network::stats(int link, int direction) const {
    return channels_[static_cast<std::size_t>(channel_of(link, direction))].stats;
}

const ChannelStats& Network::host_stats(int host, int direction) const {
    const Host& h = hosts_.at(static_cast<std::size_t>(host));
    return channels_[static_cast<std::size_t>(direction == 0 ? h.out : h.in)].stats;
}

}  // namespace railyard
