// SPDX-License-Identifier: Apache-2.0
#include "network/network.h"

#include <stdexcept>
#include <utility>

namespace railyard::network {

// The parts hold references to each other; no constructor uses another part.
Network::Network()
    : timeline_(pool_, shares_),
      links_(switches_),
      ageing_(timeline_, switches_, control_),
      alarms_(timeline_, control_),
      queues_({.switches = switches_,
               .links = links_,
               .hosts = hosts_,
               .windows = windows_,
               .ageing = ageing_,
               .control = control_}),
      hosts_(links_, queues_),
      windows_(timeline_, links_, [this](Partition& p) { run_window(p); }),
      look_ahead_(switches_, links_, hosts_) {}

Network::~Network() {
    windows_.clear();
    links_.clear();
    hosts_.detach();  // frames of applications belong to this network's pool
}

Index<Switch> Network::add_switch(const std::string& name, Port cpu_port, std::uint32_t partition) {
    const auto& partitions = timeline_.partitions();
    if (partition >= Timeline::kMostPartitions)
        throw std::invalid_argument("switch " + name + ": partition " + std::to_string(partition) +
                                    " is not below " + std::to_string(Timeline::kMostPartitions));
    if (partition >= partitions.size() && timeline_.started())
        throw std::invalid_argument("switch " + name + ": partition " + std::to_string(partition) +
                                    " is new, and the network has run");
    while (partition >= partitions.size()) {
        SwitchMemory& memory = further_memory();
        pool_.exchanges = memory.pool.exchanges = true;
        timeline_.add_partition(memory.pool, memory.shares);
    }
    Partition& p = *partitions[partition];
    ASSERT(p.index == partition && partition_of_.size() == switches_.size());
    partition_of_.push_back(&p);
    links_.add_switch();
    ageing_.add_switch();
    return append(name, cpu_port, p.pool, p.programs);
}

Index<Link> Network::connect(SwitchPort a, SwitchPort b, const LinkConfig& config, bool plugged,
                             const std::optional<LinkConfig>& back) {
    const Index<Link> link = links_.connect(a, b, config, plugged, back.value_or(config));
    const ByDirection<Index<Channel>>& channels = links_.at(link).channels;
    const Partition &from = *partition_of_[a.switch_index], &to = *partition_of_[b.switch_index];
    windows_.cross(channels[Direction::Forward], from, to);
    windows_.cross(channels[Direction::Backward], to, from);
    return link;
}

Index<Host> Network::attach_host(SwitchPort at, const LinkConfig& config) {
    const Index<Host> host = hosts_.next();
    hosts_.add(links_.attach(host, at, config), *partition_of_[at.switch_index]);
    return host;
}

Partition& Network::acted_on(Index<Host> host) {
    windows_.refuse_in_merge();
    return timeline_.at_present(*hosts_.at(host).partition);
}

Partition& Network::acted_on(Index<Switch> switch_index) {
    windows_.refuse_in_merge();
    return timeline_.at_present(*partition_of_.at(switch_index));
}

const Channel& Network::host_channel(Index<Host> host, Direction direction) const {
    const Host& h = hosts_.at(host);
    return links_[direction == Direction::Forward ? h.out : h.in];
}

std::vector<QueueDepth> Network::queue_depths() const {
    std::vector<QueueDepth> result = links_.queue_depths();
    for (std::size_t host = 0; host < hosts_.next().at(); ++host)
        result.push_back(links_.queue_depth(hosts_[Index<Host>(host)].in));
    return result;
}

// Return the partition of a channel's sending end, with its clock at the current time.
Partition& Network::sender_of(const Channel& c) {
    return timeline_.at_present(c.from_switch ? *partition_of_[c.from_switch] : *hosts_[c.host].partition);
}

void Network::set_channel(Index<Channel> index, bool up) {
    queues_.set_up(sender_of(links_[index]), index, up);
}

void Network::send_pause(Index<Link> link, Direction direction, bool stop) {
    windows_.refuse_in_merge();
    const Index<Channel> index = links_.at(link).channels[direction];
    const Channel& c = links_[index];
    if (!c.pausing) throw std::invalid_argument("the link has no priority flow control");
    if (stop) storms_.insert(index.at());
    else storms_.erase(index.at());
    queues_.send_pause(sender_of(c), index, stop);
}

void Network::set_link(Index<Link> link, bool up) {
    windows_.refuse_in_merge();
    for (const Index<Channel> index : links_.at(link).channels) {
        const Channel& c = links_[index];
        if (c.up == up) continue;
        if (up) links_.check_plugged(index);
        set_channel(index, up);
        control_.push_back(
            {switching::ControlItem::Kind::Port, now(), c.from_switch, c.from_port.value(), up, {}});
    }
}

void Network::set_host_link(Index<Host> host, bool up) {
    windows_.refuse_in_merge();
    const Host& h = hosts_.at(host);
    const Channel& in = links_[h.in];
    if (in.up == up) return;
    set_channel(h.out, up);
    set_channel(h.in, up);
    control_.push_back(
        {switching::ControlItem::Kind::Port, now(), in.from_switch, in.from_port.value(), up, {}});
}

void Network::set_application(Index<Host> host, std::shared_ptr<Application> application) {
    acted_on(host);
    hosts_.set_application(host, std::move(application));
}

void Network::start(Index<Host> host) { hosts_.start(acted_on(host), host); }

void Network::act(Index<Host> host, Actions& actions) { hosts_.act(acted_on(host), host, actions); }

void Network::send(Index<Host> host, std::string_view bytes, Vl vl) {
    Partition& p = acted_on(host);
    hosts_.send(p, host, p.pool.acquire(bytes.data(), bytes.size()), vl);
}

void Network::set_timer(Index<Host> host, Time deadline) { hosts_.set_timer(acted_on(host), host, deadline); }

void Network::packet_out(Index<Switch> switch_index, std::string_view bytes) {
    Partition& p = acted_on(switch_index);
    FrameHandle frame = p.pool.acquire(bytes.data(), bytes.size());
    p.pool.mark(*frame);
    queues_.receive(p, std::move(frame), switch_index, switch_at(switch_index).cpu_port());
}

void Network::alarm(Time time, std::int64_t token) {
    windows_.refuse_in_merge(time);
    alarms_.set(time, token);
}

std::vector<Bytes> Network::delivered_bins() const {
    std::vector<Bytes> total;
    for (const auto& p : timeline_.partitions()) {
        if (total.size() < p->bins.size()) total.resize(p->bins.size());
        for (std::size_t bin = 0; bin < p->bins.size(); ++bin) total[bin] += p->bins[bin];
    }
    return total;
}

void Network::dispatch_rare(Partition& p, EventKind kind, std::size_t index) {
    switch (kind) {
        case EventKind::Wake:
        case EventKind::Arrive: break;
        case EventKind::Timer: return hosts_.on_timer(p, Index<Host>(index));
        case EventKind::Alarm: return alarms_.ring(Index<Alarm>(index));
        case EventKind::Age: return ageing_.age(Index<Switch>(index));
    }
}

}  // namespace railyard::network
