// SPDX-License-Identifier: Apache-2.0
// Links of a network: which channels they have, where their ports lead, what impairs and records them.
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

namespace railyard {

struct Link {
    std::array<Index<Channel>, 2> channels;  // by direction
};

// State of all links at one time, for pictures: a byte for each direction of a link, and one for each link.
// Bytes that wait to be sent on a channel, on all VLs, and whether the other end has paused one of them.
struct QueueDepth {
    std::int64_t bytes = 0;
    bool paused = false;
};

struct LinkSample {
    std::string load;   // share of the time since the last sample spent sending, 255: all of it
    std::string queue;  // bytes that wait, as share of the receive buffer of one VL, 255: as many or more
    std::string state;  // 1: up, 2 and 4: its first and its second direction are impaired
};

// A queue that waits for credits: a VL of a direction of a link, or of the link of a host.
struct Waiting {
    Index<Link> link;
    int direction = 0;
    Index<Host> host;
    int vl = 0;
};

class Links {
   public:
    using Switches = List<Switch, std::unique_ptr<Switch>>;
    // Channels from the host and to the host.
    struct HostChannels {
        Index<Channel> out, in;
    };

    // switches: those whose ports links connect, for their names.
    explicit Links(const Switches& switches) : switches_(switches) {}

    void add_switch() { out_.emplace_back(); }
    // An unplugged link is down and no port leads to it, until `plug`.
    Index<Link> connect(Index<Switch> switch_a, int port_a, Index<Switch> switch_b, int port_b,
                        const LinkConfig& config, bool plugged);
    HostChannels attach(Index<Host> host, Index<Switch> switch_index, int port, const LinkConfig& config);
    void plug(Index<Link> link);
    // invalid_argument if a port of the link does not lead to it.
    void check_plugged(Index<Channel> index);
    void impair(Index<Link> link, int direction, const Impairment& how);
    void set_seed(std::uint64_t seed);
    // Record the frames of one direction or both.
    void record(Index<Link> link, std::optional<int> direction, const std::string& path);
    void end_recordings();
    void flush_recordings() const;
    // Keep the last `most` frames of a link, both directions together; 0: none. Nothing depends on it.
    void keep_recent(Index<Link> link, std::size_t most);
    [[nodiscard]] std::vector<RecentFrames::Item> recent(Index<Link> link) const;
    // True if channels share what windows of several partitions do not know.
    [[nodiscard]] bool observed() const { return !recordings_.empty() || kept_recent_; }

    [[nodiscard]] const Channel& channel(Index<Link> link, int direction) const;
    [[nodiscard]] Channel& operator[](Index<Channel> index) { return channels_[index]; }
    [[nodiscard]] const Channel& operator[](Index<Channel> index) const { return channels_[index]; }
    [[nodiscard]] const Link& at(Index<Link> link) const { return links_.at(link); }
    // Channels by the ports of a switch.
    [[nodiscard]] const std::vector<Index<Channel>>& out_of(Index<Switch> switch_index) const {
        return out_[switch_index];
    }
    // The channel that leads to the receive buffer of `held`.
    [[nodiscard]] Index<Channel> buffer_of(const Held& held) const {
        Index<Channel> index = held.channel;
        while (channels_[index].successor) [[unlikely]]
            index = channels_[index].successor;
        return index;
    }

    // Bytes that wait on a direction, by the VL's number for users.
    [[nodiscard]] std::vector<std::int64_t> queued_by_vl(Index<Link> link, int direction) const;
    // Changes nothing but the time from which the next sample counts.
    LinkSample sample(Time now);
    // Depths of the queues of both directions of each link.
    [[nodiscard]] std::vector<QueueDepth> queue_depths() const;
    [[nodiscard]] QueueDepth queue_depth(Index<Channel> channel) const;
    // Queues that wait for each other in a cycle; empty if there is none.
    [[nodiscard]] std::vector<Waiting> deadlock() const;
    // Let go of all frames.
    void clear() { channels_.clear(); }

    Lanes lanes;

   private:
    Index<Channel> new_channel(const LinkConfig& config, const std::string& name);
    [[nodiscard]] Index<Channel> channel_of(Index<Link> link, int direction) const;
    Index<Channel>& port_of(Index<Switch> switch_index, std::uint32_t port);
    void wire(Index<Channel> channel, Index<Switch> switch_index, int port, bool plugged);
    void seed(Index<Channel> index);

    const Switches& switches_;
    List<Channel, Channel, HugePageAllocator<Channel>> channels_;
    List<Link> links_;
    List<Switch, std::vector<Index<Channel>>> out_;  // by port
    std::uint64_t seed_ = 0;
    std::vector<std::shared_ptr<PcapFile>> recordings_;  // several channels write to a file
    bool kept_recent_ = false;
    Time sampled_ = 0;                  // time of the last sample
    List<Channel, Time> sampled_busy_;  // by channel, time spent sending up to then
};

}  // namespace railyard
