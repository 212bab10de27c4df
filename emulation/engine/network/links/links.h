// SPDX-License-Identifier: Apache-2.0
// Links of a network: their channels, ports, impairments and recordings.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frames/pages.h"
#include "network/links/channel.h"
#include "network/links/virtual_lanes.h"
#include "switch/switch.h"

namespace railyard::network {

struct Link {
    ByDirection<Index<Channel>> channels;
};

// Bytes waiting to be sent on a channel, over all VLs. `paused`: the other end has paused at least one VL.
struct QueueDepth {
    Bytes bytes{};
    bool paused = false;
};

// State of all links at a time, for visualisation. `load` and `queue` have a byte per direction of each link,
// `state` has a byte per link.
struct LinkSample {
    std::string load;   // share of the time since the last sample spent sending; 255: all of it
    std::string queue;  // queue fill as in queue_share(); 255: full
    std::string state;  // bits: 1 up; 2, 4 impaired; 8, 16 paused (first and second direction)
};

// A queue that waits for credits: a VL of a link's direction, or of a host's link.
struct Waiting {
    Index<Link> link;
    Direction direction = Direction::Forward;
    Index<Host> host;
    Vl vl;
};

// Port of one of several switches.
struct SwitchPort {
    Index<Switch> switch_index;
    Port port;
};

class Links {
   public:
    using Switches = List<Switch, std::unique_ptr<Switch>>;
    // Channels from the host and to the host.
    struct HostChannels {
        Index<Channel> out, in;
    };

    // `switches` give the names of the switches that links connect.
    explicit Links(const Switches& switches) : switches_(switches) {}

    void add_switch() { out_.emplace_back(); }
    // Create a link; `config` holds from `a` to `b`, `back` for the other direction. Without
    // `plugged` it is down and not connected to its ports until plug().
    Index<Link> connect(SwitchPort a, SwitchPort b, const LinkConfig& config, bool plugged,
                        const LinkConfig& back);
    HostChannels attach(Index<Host> host, SwitchPort at, const LinkConfig& config);
    void plug(Index<Link> link);
    // Throw invalid_argument if the channel's egress port is not connected to it.
    void check_plugged(Index<Channel> index);
    void impair(Index<Link> link, Direction direction, const Impairment& how);
    void set_seed(std::uint64_t seed);
    // Record the frames of a direction, or of both, in a PCAP file.
    void record(Index<Link> link, std::optional<Direction> direction, const std::string& path);
    void end_recordings();
    void flush_recordings() const;
    // Keep the latest `most` frames of a link, both directions together; 0: none. Never changes results.
    void keep_recent(Index<Link> link, std::size_t most);
    [[nodiscard]] std::vector<frames::RecentFrames::Item> recent(Index<Link> link) const;
    // True if links are recorded or frames are kept; several partitions would write to the same objects.
    [[nodiscard]] bool observed() const { return !recordings_.empty() || kept_recent_; }

    [[nodiscard]] const Channel& channel(Index<Link> link, Direction direction) const;
    [[nodiscard]] Channel& operator[](Index<Channel> index) { return channels_[index]; }
    [[nodiscard]] const Channel& operator[](Index<Channel> index) const { return channels_[index]; }
    [[nodiscard]] const Link& at(Index<Link> link) const { return links_.at(link); }
    // Return the egress channels of a switch, by port.
    [[nodiscard]] const std::vector<Index<Channel>>& out_of(Index<Switch> switch_index) const {
        return out_[switch_index];
    }
    // Return the channel that now owns the receive buffer of `held`.
    [[nodiscard]] Channel& buffer_of(const Held& held) { return owner(channels_, held.channel); }
    [[nodiscard]] const Channel& buffer_of(const Held& held) const { return owner(channels_, held.channel); }

    // Return the bytes waiting on a direction, by the VL number of users.
    [[nodiscard]] std::vector<Bytes> queued_by_vl(Index<Link> link, Direction direction) const;
    // Return the state of all links; load counts from the previous sample.
    LinkSample sample(Time now);
    // Return the queue depth of both directions of each link, in turn.
    [[nodiscard]] std::vector<QueueDepth> queue_depths() const;
    [[nodiscard]] QueueDepth queue_depth(Index<Channel> channel) const;
    // Return queues that wait for each other in a cycle; empty if there is no cycle.
    [[nodiscard]] std::vector<Waiting> deadlock() const;
    // Remove all channels and their frames.
    void clear() { channels_.clear(); }

    Lanes lanes;

   private:
    template <typename Channels>
    static auto owner(Channels& channels, Index<Channel> index) -> decltype(channels[index]) {
        auto* owner = &channels[index];
        while (owner->successor) [[unlikely]]
            owner = &channels[owner->successor];
        return *owner;
    }
    Index<Channel> new_channel(const LinkConfig& config, const std::string& name);
    [[nodiscard]] Index<Channel> channel_of(Index<Link> link, Direction direction) const;
    Index<Channel>& port_of(SwitchPort at);
    void wire(Index<Channel> channel, SwitchPort from, bool plugged);
    void seed(Index<Channel> index);

    const Switches& switches_;
    List<Channel, Channel, frames::HugePageAllocator<Channel>> channels_;
    List<Link> links_;
    List<Switch, std::vector<Index<Channel>>> out_;  // by port
    std::uint64_t seed_ = 0;
    std::vector<std::unique_ptr<frames::PcapFile>> recordings_;  // the channels of a link refer to its file
    bool kept_recent_ = false;
    Time sampled_{};                    // time of the last sample
    List<Channel, Time> sampled_busy_;  // by channel, sending time counted in samples so far
};

}  // namespace railyard::network
