// SPDX-License-Identifier: Apache-2.0
// Switches, hosts and the links between them, in virtual time: integer picoseconds, ordered by (time,
// sequence). Every function that runs an event gets the partition whose event it is.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frames/pages.h"
#include "network/events/events.h"
#include "network/events/partition.h"
#include "network/events/thread_pool.h"
#include "network/links/channel.h"
#include "network/links/station.h"
#include "switch/switch_set.h"

namespace railyard {

constexpr Time kForever = (Time{1} << 62) - 1;

enum class RunEnd : int { Idle, Until, Control, Deadlock, Paused };

struct Link {
    std::array<Index<Channel>, 2> channels;  // by direction
};

struct Host {
    Index<Channel> out, in;  // from the host, to the host
    Time deadline = -1;
    std::shared_ptr<Station> station;
    Partition* partition = nullptr;
};

struct Alarm {
    std::int64_t token;
};

// State of all links at one time, for pictures: a byte for each direction of a link, and one for each link.
struct LinkSample {
    std::string load;   // share of the time since the last sample spent sending, 255: all of it
    std::string queue;  // bytes that wait, as share of the receive buffer of one VL, 255: as many or more
    std::string state;  // 1: up, 2 and 4: its first and its second direction are impaired
};

class Network : public SwitchSet {
   public:
    Network();
    ~Network() override;

    Index<Switch> add_switch(const std::string& name, std::uint32_t cpu_port) override {
        return add_switch(name, cpu_port, 0);
    }
    // A network has the partitions that its switches name; no event may precede the last switch of a new
    // partition.
    Index<Switch> add_switch(const std::string& name, std::uint32_t cpu_port, std::uint32_t partition);

    // Give every priority two lanes, each with a queue and credits. Bit `bit` of a frame, counted from the
    // most significant bit of its first byte, selects the lane; pending frames take the first. vls[2 *
    // priority + lane] is the VL's number for users. By default a priority has one lane, and is the VL's
    // number.
    void set_lanes(std::uint32_t bit, const std::vector<int>& vls);

    // Convert the frames that hosts send to the CNA24 network header, and back where they arrive: agents know
    // the CNA16 header only.
    void set_cna24() { hosts_cna24_ = true; }

    // links.cpp. An unplugged link is down and no port leads to it, until `plug`.
    Index<Link> connect(Index<Switch> switch_a, int port_a, Index<Switch> switch_b, int port_b,
                        const LinkConfig& config, bool plugged = true);
    Index<Host> attach_host(Index<Switch> switch_index, int port, const LinkConfig& config);
    void plug(Index<Link> link);
    void set_link(Index<Link> link, bool up);
    void set_host_link(Index<Host> host, bool up);
    void impair(Index<Link> link, int direction, const Impairment& how);
    void set_seed(std::uint64_t seed);
    // Record the frames of one direction or both.
    void record(Index<Link> link, std::optional<int> direction, const std::string& path);
    void end_recordings();
    // Keep the last `most` frames of a link, both directions together; 0: none. Nothing depends on it.
    void keep_recent(Index<Link> link, std::size_t most);
    std::vector<RecentFrames::Item> recent(Index<Link> link) const;

    // Put a station on a host in place of another; null: none. Its first event is `start`.
    void set_station(Index<Host> host, std::shared_ptr<Station> station);
    void start(Index<Host> host);
    void act(Index<Host> host, Answer& answer);
    void send(Index<Host> host, std::string_view bytes, int vl);
    void packet_out(Index<Switch> switch_index, std::string_view bytes) override;
    void set_timer(Index<Host> host, Time deadline);  // replaces the earlier deadline of the host
    void clear_timer(Index<Host> host);
    void alarm(Time time, std::int64_t token);

    // Idle: no event is left, or only ageing and no bound on time. Paused: `events` events have run.
    // Not `exactly`: windows of several partitions may exceed `events`.
    RunEnd run(Time until, std::uint64_t events = ~0ULL, bool exactly = true);
    // Behaviour of a frame that its program stops, as by a failed assert or a round without end: throw out of
    // run() and packet_out(), or be dropped and reported to the control plane as a log line.
    void set_tolerant(bool tolerant) { tolerant_ = tolerant; }
    Time now() const override { return now_; }
    void watch_ageing(Index<Switch> switch_index) override;

    // Run a frame through a switch, outside of virtual time; the frames that leave, by port.
    std::vector<std::pair<std::uint32_t, std::string>> process(Index<Switch> switch_index, std::uint32_t port,
                                                               std::string_view bytes);
    // As process(), of a switch whose program is traced.
    std::vector<std::pair<std::uint32_t, std::string>> trace(Index<Switch> switch_index, std::uint32_t port,
                                                             std::string_view bytes,
                                                             std::vector<TraceStep>& steps);
    double bench(Index<Switch> switch_index, std::uint32_t port, std::string_view bytes, std::uint64_t count,
                 bool copy_only);

    // Numbers of the VLs for users, in ascending order of service priority.
    const std::vector<int>& vls() const { return vls_; }
    const Channel& channel(Index<Link> link, int direction) const;
    const Channel& host_channel(Index<Host> host, int direction) const;  // 0: from the host
    // sample.cpp. Changes nothing but the time from which the next sample counts.
    LinkSample sample();
    // Bytes that wait on a direction, by the VL's number for users.
    std::vector<std::int64_t> queued_by_vl(Index<Link> link, int direction) const;
    std::uint64_t frames_without_link() const { return sum(&Partition::without_link); }
    std::uint64_t hops() const { return sum(&Partition::hops); }
    std::uint64_t frames_failed() const { return sum(&Partition::failed); }
    // Pool of the frames of a host.
    FramePool& pool_of(Index<Host> host) { return hosts_.at(host).partition->pool; }

    // Threads that run partitions, from the first window on; unless set, one for each.
    void set_threads(std::size_t threads) { threads_ = std::max<std::size_t>(threads, 1); }
    // windows.cpp. Work of threads in windows, and of the one that merges; all in processor time.
    struct WindowReport {
        std::vector<ThreadWork> threads;
        std::uint64_t windows = 0, events = 0, frames = 0;  // events outside of windows; frames that crossed
        double merge_seconds = 0, slowest_seconds = 0;      // of the slowest thread of each window
        Time delay = 0;                                     // least of a link between partitions
    };
    WindowReport window_report() const;

    // A queue that waits for credits: a VL of a direction of a link, or of the link of a host.
    struct Waiting {
        Index<Link> link;
        int direction = 0;
        Index<Host> host;
        int vl = 0;
    };
    std::vector<Waiting> deadlock()
        const;  // the cycle, after run() returned Deadlock; empty if there is none

    // Count bytes delivered to hosts in bins of `width`, on the `vls` VLs of lowest priority.
    void set_bin(Time width, std::size_t vls) {
        bin_ = width;
        bin_vls_ = vls;
    }
    std::vector<std::uint64_t> delivered_bins() const;

   private:
    static constexpr std::uint32_t kMostPartitions = 1024;

    // Partition of a host or a switch, at the present time: the control plane acts on it.
    Partition& acted_on(Index<Host> host);
    Partition& acted_on(Index<Switch> switch_index);
    Partition& sender_of(const Channel& c, Partition& p) {
        return c.crossing ? *partitions_[crossings_[c.crossing].from] : p;
    }
    Partition& receiver_of(const Channel& c, Partition& p) {
        return c.crossing ? *partitions_[crossings_[c.crossing].to] : p;
    }
    template <typename T>
    T sum(T Partition::* of) const {
        T total = 0;
        for (const auto& p : partitions_) total += (*p).*of;
        return total;
    }

    // Call a station for an event, and carry out its answer.
    template <typename Event>
    void consult(Partition& p, Index<Host> host, const Event& event);
    void act(Partition& p, Index<Host> host, Answer& answer);
    template <typename T>
    static void push(Partition& p, Time time, EventKind kind, Index<T> index);
    // Alarms and ageing belong to no partition.
    template <typename T>
    void push_control(Time time, EventKind kind, Index<T> index);
    void control(Partition& p, ControlItem item);
    void send(Partition& p, Index<Host> host, FrameHandle frame, int vl);
    void set_timer(Partition& p, Index<Host> host, Time deadline);
    void enqueue(Partition& p, Index<Channel> index, FrameHandle frame, bool at_once);
    void wake(Partition& p, Channel& c, Index<Channel> index, Time time);
    void try_send(Partition& p, Index<Channel> index);
    void transmit(Partition& p, Index<Channel> index, FrameHandle frame, std::size_t vl);
    void arrive(Partition& p, Index<Channel> index);
    void deliver(Partition& p, FrameHandle frame, Index<Host> host);
    void on_timer(Partition& p, Index<Host> host);
    void receive(Partition& p, FrameHandle frame, Index<Switch> switch_index, std::uint32_t port);
    std::uint8_t lane_of(const Frame& frame) const;
    void forward(Partition& p, FrameHandle frame, Index<Switch> switch_index, std::uint32_t port,
                 bool at_once = true);
    void after_pass(Partition& p, Switch& sw, Index<Switch> index);
    void fail(Partition& p, Index<Switch> index, const std::exception& error);
    void release(Partition& p, const Held& held, Time when);
    void discard(Partition& p, FrameHandle frame);
    // The channel that leads to the receive buffer of `held`.
    Index<Channel> buffer_of(const Held& held) const {
        Index<Channel> index = held.channel;
        while (channels_[index].successor) [[unlikely]]
            index = channels_[index].successor;
        return index;
    }

    // run.cpp
    RunEnd run_alone(Time until, std::uint64_t events);
    void dispatch(Partition& p, const Event& event);
    void look_ahead(const Partition& p) const;
    void renumber();

    // windows.cpp
    RunEnd run_partitions(Time until, std::uint64_t events, bool exactly);
    bool independent() const;
    void step();
    bool deadlocked() const {
        return sum(&Partition::network_events) == 0 && sum(&Partition::waiting_frames) > 0;
    }
    std::uint64_t run_window(Time end);
    void run_window(Partition& p);
    void settle_window();
    void take_over_later(Partition& p);
    void merge();
    void complete(Partition& p, const Effect& effect, Time now);
    void ask(Crossing& x, Channel& c, Time time);
    void add_event(Partition& p, Time time, EventKind kind, Index<Channel> index);
    Crossing& status(Index<Crossing> index);
    void note_status(Partition& p, const Channel& c);
    void refuse_in_merge() const;

    // links.cpp
    Index<Channel> new_channel(const LinkConfig& config, const std::string& name);
    Index<Channel> channel_of(Index<Link> link, int direction) const;
    Index<Channel>& out_of(Index<Switch> switch_index, std::uint32_t port);
    void wire(Index<Channel> channel, Index<Switch> switch_index, int port, bool plugged);
    void set_channel(Index<Channel> index, bool up);
    void seed(Index<Channel> index);
    void cross(Index<Channel> channel, const Partition& from, const Partition& to);

    // departures.cpp: egress of programs that read queue metadata, and frames with several copies.
    static void hold(Partition& p, const Held& held, const Outputs& copies);
    bool dequeue(Partition& p, Index<Channel> index, std::size_t vl);
    FrameHandle egress(Partition& p, FrameHandle frame, Index<Switch> switch_index, std::uint32_t port,
                       const QueueRecord& record);

    // ageing
    void age(Index<Switch> switch_index);
    void resume_ageing();

    Time now_ = 0;
    std::uint64_t sequence_ = 1;  // next number of an event; 0 is none
    std::vector<std::unique_ptr<Partition>> partitions_;
    List<Switch, Partition*> partition_of_;
    EventQueue control_events_;  // of several partitions; a partition alone has them among its own
    std::size_t ageing_events_ = 0;

    bool hosts_cna24_ = false;
    std::optional<std::uint32_t> lane_bit_;  // none: a priority has one lane
    std::vector<int> vls_{0, 1, 2, 3, 4, 5, 6, 7};
    List<Channel, Channel, HugePageAllocator<Channel>> channels_;
    List<Link> links_;
    List<Host> hosts_;
    List<Switch, std::vector<Index<Channel>>> out_channel_;  // by port
    List<Alarm> alarms_;
    std::vector<Index<Alarm>> free_alarms_;
    List<Switch, Time> age_at_;          // time of the next ageing event; -1: none
    std::vector<Index<Switch>> unread_;  // switches with aged entries that were reported and not read
    Time sampled_ = 0;                   // time of the last sample
    List<Channel, Time> sampled_busy_;   // by channel, time spent sending up to then
    std::uint64_t seed_ = 0;
    std::vector<std::shared_ptr<PcapFile>> recordings_;
    bool tolerant_ = false;
    Time bin_ = 0;
    std::size_t bin_vls_ = kVls;

    // Windows.
    List<Crossing> crossings_;
    Time delay_ = kForever;  // least of a crossing
    std::uint64_t window_ = 0, pause_ = 0;
    Time window_end_ = 0;
    std::int64_t merged_network_ = 0;          // events of kind Wake and Arrive, where the merge is
    bool aged_ = false, kept_recent_ = false;  // ageing and recent frames need a single queue
    bool merging_ = false, settled_ = true, broken_ = false;
    WindowReport report_;
    std::size_t threads_ = kMostPartitions;
    std::unique_ptr<ThreadPool> thread_pool_;
};

template <typename T>
void Network::push(Partition& p, Time time, EventKind kind, Index<T> index) {
    if (kind == EventKind::Wake || kind == EventKind::Arrive) ++p.network_events;
    const std::uint64_t number = (*p.numbers)++;
    if (time >= p.end) [[unlikely]]
        p.later.push_back({time, number, kind, index.at()});
    else p.events.push(time, number, kind, index.at());
}

template <typename T>
void Network::push_control(Time time, EventKind kind, Index<T> index) {
    EventQueue& events = partitions_.size() == 1 ? partitions_.front()->events : control_events_;
    events.push(time, sequence_++, kind, index.at());
}

}  // namespace railyard
