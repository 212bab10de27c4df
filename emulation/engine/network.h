// SPDX-License-Identifier: Apache-2.0
// Switches, hosts and the links between them, in virtual time: integer picoseconds, ordered by (time, sequence).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frame.h"
#include "ring.h"
#include "switch_set.h"

namespace railyard {

constexpr int kVls = 8;

enum class RunEnd : int { Idle, Until, Control, Deadlock };

struct ChannelStats {
    std::uint64_t frames = 0, bytes = 0;
    Time busy = 0;
    std::uint64_t lost = 0;          // on the wire or in the queue when the link went down
    std::uint64_t refused_down = 0;  // sent to a link that was down
    std::uint64_t refused_full = 0;  // drop-tail queue full
    std::uint64_t max_queued_bytes = 0;
    std::array<std::uint64_t, kVls> frames_by_vl{};
};

struct LinkConfig {
    std::int64_t rate_bps = 0;
    Time delay = 0;
    std::int64_t credit_bytes = 0;       // receive buffer a VL; 0: no flow control, drop-tail
    std::int64_t queue_bytes = 1 << 20;  // drop-tail limit a VL
};

class Network : public SwitchSet {
   public:
    int add_switch(const std::string& name, std::uint32_t cpu_port) override;

    int connect(int switch_a, int port_a, int switch_b, int port_b, const LinkConfig& config);
    int attach_host(int switch_index, int port, const LinkConfig& config);
    void set_link(int link, bool up);

    void send(int host, std::string_view frame, int vl);
    void packet_out(int switch_index, std::string_view frame) override;
    void set_timer(int host, Time deadline);  // replaces the host's earlier one
    void clear_timer(int host);
    void alarm(Time time, std::int64_t token);

    RunEnd run(Time until);
    Time now() const override { return now_; }

    // Out of time: one frame through one pipeline. Drop: no result.
    std::vector<std::pair<std::uint32_t, std::string>> process(int switch_index, std::uint32_t port, std::string_view frame);
    double bench(int switch_index, std::uint32_t port, std::string_view frame, std::uint64_t count, bool copy_only);

    const ChannelStats& stats(int link, int direction) const;
    std::uint64_t frames_without_link() const { return without_link_; }
    std::uint64_t hops() const { return hops_; }

    struct Waiting {
        int link, direction, vl;  // link -1: the link of host `direction`
    };
    std::vector<Waiting> deadlock() const;  // the cycle, after run() said so; empty when none is found

    // Counts bytes delivered to hosts, in bins of `width`, of frames on the first `vls` VLs.
    void set_bin(Time width, int vls) {
        bin_ = width;
        bin_vls_ = vls;
    }
    const std::vector<std::uint64_t>& delivered_bins() const { return bins_; }

    std::function<void(int host, std::string_view frame)> on_frame;
    std::function<void(int host)> on_timer;

   private:
    enum class EventKind : std::uint32_t { Wake, Arrive, Timer, Alarm };
    struct Event {
        Time time;
        std::uint64_t sequence;
        EventKind kind;
        int index;
        std::int64_t token;
        bool operator<(const Event& o) const { return time != o.time ? time > o.time : sequence > o.sequence; }
    };
    struct Returning {
        Time time;
        int vl;
        std::int64_t bytes;
        bool operator<(const Returning& o) const { return time > o.time; }
    };
    struct Flying {
        Time arrival;
        Frame* frame;
    };
    // One direction of a link.
    struct Channel {
        LinkConfig config;
        int link = -1, direction = 0;      // host links: -1, host number
        int to_switch = -1, to_port = 0;   // or
        int to_host = -1;
        int from_switch = -1, from_port = 0;
        bool up = true;
        Time busy_until = 0, wake_at = -1;
        std::array<Ring<Frame*>, kVls> queues;
        std::array<std::int64_t, kVls> queued{}, credits{}, held{};  // held: in the receiver's buffer
        std::size_t waiting = 0;
        std::vector<Returning> returning;  // a heap
        Ring<Flying> flying;
        ChannelStats stats;
        std::string name;
    };
    struct Host {
        int out = -1;
        Time deadline = -1;
    };

    void push(Time time, EventKind kind, int index, std::int64_t token = 0);
    int new_channel(const LinkConfig& config, const std::string& name);
    void wire(int channel, int switch_index, int port);
    void enqueue(int channel, Frame* frame);
    void wake(Channel& c, int index, Time time);
    void try_send(int index);
    void transmit(int index, int vl);
    void arrive(int index);
    void receive(Frame* frame, int switch_index, std::uint32_t port);
    void forward(Frame* frame, int switch_index, std::uint32_t port);
    void release(Held held, Time when);
    void discard(Frame* frame);
    void set_channel(int index, bool up);

    Time now_ = 0;
    std::uint64_t sequence_ = 0;
    std::vector<Event> events_;
    std::size_t network_events_ = 0;  // of kind Wake and Arrive
    std::size_t waiting_frames_ = 0;

    std::vector<Channel> channels_;
    std::vector<std::array<int, 2>> links_;
    std::vector<Host> hosts_;
    std::vector<std::vector<int>> out_channel_;  // by switch, port
    Outputs out_;
    std::uint64_t without_link_ = 0, hops_ = 0;
    Time bin_ = 0;
    int bin_vls_ = kVls;
    std::vector<std::uint64_t> bins_;
};

}  // namespace railyard
