// SPDX-License-Identifier: Apache-2.0
// Switches, hosts and the links between them, in virtual time: integer picoseconds, ordered by (time,
// sequence).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "network/channel.h"
#include "network/events.h"
#include "switch/switch_set.h"

namespace railyard {

constexpr Time kForever = (Time{1} << 62) - 1;

enum class RunEnd : int { Idle, Until, Control, Deadlock, Paused };

class Network : public SwitchSet {
   public:
    int add_switch(const std::string& name, std::uint32_t cpu_port) override;

    // Give every priority two lanes, each with a queue and credits. Bit `bit` of a frame, counted from the
    // most significant bit of its first byte, selects the lane; pending frames take the first. vls[2 *
    // priority + lane] is the VL's number for users. By default a priority has one lane, and is the VL's
    // number.
    void set_lanes(std::uint32_t bit, const std::vector<int>& vls);

    // links.cpp. An unplugged link is down and no port leads to it, until `plug`.
    int connect(int switch_a, int port_a, int switch_b, int port_b, const LinkConfig& config,
                bool plugged = true);
    int attach_host(int switch_index, int port, const LinkConfig& config);
    void plug(int link);
    void set_link(int link, bool up);
    void set_host_link(int host, bool up);
    void impair(int link, int direction, const Impairment& how);
    void set_seed(std::uint64_t seed);
    // Record the frames of one direction or both.
    void record(int link, std::optional<int> direction, const std::string& path);
    void end_recordings();

    void send(int host, std::string_view frame, int vl);
    void packet_out(int switch_index, std::string_view frame) override;
    void set_timer(int host, Time deadline);  // replaces the earlier deadline of the host
    void clear_timer(int host);
    void alarm(Time time, std::int64_t token);

    // Idle: no event is left, or only ageing and no bound on time. Paused: `events` events have run.
    RunEnd run(Time until, std::uint64_t events = ~0ULL);
    // What a frame does whose program stops it, as by a failed assert or a round without end: throw out of
    // run() and packet_out(), or be dropped and reported to the control plane as a log line.
    void set_tolerant(bool tolerant) { tolerant_ = tolerant; }
    Time now() const override { return now_; }
    void watch_ageing(int switch_index) override;

    // Run a frame through a switch, outside of virtual time; the frames that leave, by port.
    std::vector<std::pair<std::uint32_t, std::string>> process(int switch_index, std::uint32_t port,
                                                               std::string_view frame);
    double bench(int switch_index, std::uint32_t port, std::string_view frame, std::uint64_t count,
                 bool copy_only);

    // Numbers of the VLs for users, in ascending order of service priority.
    const std::vector<int>& vls() const { return vls_; }
    const ChannelStats& stats(int link, int direction) const;
    const ChannelStats& host_stats(int host, int direction) const;  // 0: from the host
    std::uint64_t frames_without_link() const { return without_link_; }
    std::uint64_t hops() const { return hops_; }
    std::uint64_t frames_failed() const { return failed_; }

    struct Waiting {
        int link, direction, vl;  // link -1: the link of host `direction`
    };
    std::vector<Waiting> deadlock()
        const;  // the cycle, after run() returned Deadlock; empty if there is none

    // Count bytes delivered to hosts in bins of `width`, on the `vls` VLs of lowest priority.
    void set_bin(Time width, int vls) {
        bin_ = width;
        bin_vls_ = vls;
    }
    const std::vector<std::uint64_t>& delivered_bins() const { return bins_; }

    std::function<void(int host, std::string_view frame)> on_frame;
    std::function<void(int host)> on_timer;

   private:
    struct Host {
        int out = -1, in = -1;
        Time deadline = -1;
    };

    void push(Time time, EventKind kind, int index);
    RunEnd run_events(Time until, std::uint64_t events);
    void dispatch(const Event& event);
    void enqueue(int channel, FrameHandle frame, bool at_once);
    void wake(Channel& c, int index, Time time);
    void try_send(int index);
    void transmit(int index, int vl);
    void arrive(int index);
    void deliver(FrameHandle frame, int host);
    void receive(FrameHandle frame, int switch_index, std::uint32_t port);
    std::uint8_t lane_of(const Frame& frame) const;
    void forward(FrameHandle frame, int switch_index, std::uint32_t port, bool at_once = true);
    void after_pass(Switch& sw, int index);
    void fail(const Switch& sw, int index, const std::exception& error);
    void release(const Held& held, Time when);
    void discard(FrameHandle frame);
    // The channel that leads to the receive buffer of `held`.
    int buffer_of(const Held& held) const {
        int index = held.channel;
        while (channels_[static_cast<std::size_t>(index)].successor >= 0) [[unlikely]]
            index = channels_[static_cast<std::size_t>(index)].successor;
        return index;
    }

    // links.cpp
    int new_channel(const LinkConfig& config, const std::string& name);
    int channel_of(int link, int direction) const;
    int& out_of(int switch_index, int port);
    void wire(int channel, int switch_index, int port, bool plugged);
    void set_channel(int index, bool up);
    void seed(int index);

    // departures.cpp: egress of programs that read queue metadata, and frames with several copies.
    void hold(const Held& held, const Outputs& copies);
    bool dequeue(int channel, int vl);
    FrameHandle egress(FrameHandle frame, int switch_index, std::uint32_t port, const QueueRecord& record);

    // ageing
    void age(int switch_index);
    void resume_ageing();

    Time now_ = 0;
    EventQueue events_;
    std::size_t network_events_ = 0;  // of kind Wake and Arrive
    std::size_t ageing_events_ = 0;
    std::size_t waiting_frames_ = 0;

    int lane_bit_ = -1;  // -1: a priority has one lane
    std::vector<int> vls_{0, 1, 2, 3, 4, 5, 6, 7};
    std::vector<Channel> channels_;
    std::vector<std::array<int, 2>> links_;
    std::vector<Host> hosts_;
    std::vector<std::vector<int>> out_channel_;  // by switch, port
    std::vector<std::int64_t> alarms_;           // tokens, by the event's index
    std::vector<int> free_alarms_;
    std::vector<Time> age_at_;  // by switch: time of the next ageing event; -1: none
    std::vector<int> unread_;   // switches with aged entries that were reported and not read
    std::uint64_t seed_ = 0;
    std::vector<std::shared_ptr<PcapFile>> recordings_;
    Outputs out_, egress_out_;
    // The copies of a frame share its receive buffer, until the last copy has left.
    struct Share {
        std::uint32_t copies;
        Time until;
    };
    std::vector<Share> shares_;
    std::vector<std::int32_t> free_shares_;
    std::uint64_t without_link_ = 0, hops_ = 0, failed_ = 0;
    bool tolerant_ = false;
    Time bin_ = 0;
    int bin_vls_ = kVls;
    std::vector<std::uint64_t> bins_;
};

}  // namespace railyard
