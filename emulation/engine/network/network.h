// SPDX-License-Identifier: Apache-2.0
// Switches, hosts and links in virtual time: integer picoseconds, with events ordered by (time, number). A
// network joins its parts (links, hosts, queues, windows, ...) and is the interface for the control plane,
// which acts at the current time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "network/ageing.h"
#include "network/alarms.h"
#include "network/events/timeline.h"
#include "network/hosts.h"
#include "network/links/links.h"
#include "network/look_ahead.h"
#include "network/queues.h"
#include "network/windows.h"
#include "switch/switch_set.h"

namespace railyard::network {

// Reason why Network::run returned; Control: notifications for the control plane are pending.
enum class RunEnd : int { Idle, Until, Control, Deadlock, Paused };

// Frames of all switches so far.
struct FrameCounts {
    std::uint64_t hops = 0;          // received from links
    std::uint64_t without_link = 0;  // sent by a port without a link
    std::uint64_t failed = 0;        // dropped since their program failed
};

class Network : public switching::SwitchSet {
   public:
    Network();
    ~Network() override;

    Index<Switch> add_switch(const std::string& name, Port cpu_port) override {
        return add_switch(name, cpu_port, 0);
    }
    // Add a switch to a partition, and the partition if it is new. invalid_argument if the partition is new
    // and an event has been created already.
    Index<Switch> add_switch(const std::string& name, Port cpu_port, std::uint32_t partition);
    // `config` holds from `a` to `b`, `back` for the other direction; none: the same.
    Index<Link> connect(SwitchPort a, SwitchPort b, const LinkConfig& config, bool plugged = true,
                        const std::optional<LinkConfig>& back = {});
    Index<Host> attach_host(SwitchPort at, const LinkConfig& config);

    // Links and hosts, for changes by the control plane. PartitionError while a window is merged.
    [[nodiscard]] Links& links() {
        windows_.refuse_in_merge();
        return links_;
    }
    [[nodiscard]] const Links& links() const { return links_; }
    [[nodiscard]] Hosts& hosts() {
        windows_.refuse_in_merge();
        return hosts_;
    }
    [[nodiscard]] const Channel& host_channel(Index<Host> host, Direction direction) const;
    void set_link(Index<Link> link, bool up);
    // Send a pause frame on a direction, which stops all classes or lets them continue. While a direction is
    // stopped this way, run() reports no deadlock. std::invalid_argument without priority flow control.
    void send_pause(Index<Link> link, Direction direction, bool stop);
    void set_host_link(Index<Host> host, bool up);

    // Replace the application of a host; null: none. Its first event is `start`.
    void set_application(Index<Host> host, std::shared_ptr<Application> application);
    void start(Index<Host> host);
    void act(Index<Host> host, Actions& actions);
    void send(Index<Host> host, std::string_view bytes, Vl vl);
    void set_timer(Index<Host> host, Time deadline);
    void packet_out(Index<Switch> switch_index, std::string_view bytes) override;
    void alarm(Time time, std::int64_t token);
    void watch_ageing(Index<Switch> switch_index) override { ageing_.watch(switch_index); }

    // Run events up to time `until`. Idle: no events are left (pending ageing counts only if it is due by a
    // bounded `until`). Paused: `events` events have run; unless `exactly`, windows of several partitions may
    // run more.
    RunEnd run(Time until, std::uint64_t events = ~0ULL, bool exactly = true);
    // Set what happens when a program fails on a frame, as by a failed assert or an endless loop. False:
    // run() and packet_out() throw. True: the frame is dropped and the control plane gets a log line.
    void set_tolerant(bool tolerant) { queues_.set_tolerant(tolerant); }
    [[nodiscard]] Time now() const override { return timeline_.now(); }

    // Windows, for the number of threads and the report of their work.
    [[nodiscard]] Windows& windows() { return windows_; }
    [[nodiscard]] FrameCounts frame_counts() const {
        return {.hops = timeline_.sum(&Partition::hops),
                .without_link = timeline_.sum(&Partition::without_link),
                .failed = timeline_.sum(&Partition::failed)};
    }
    // Bytes delivered to all hosts, by time bin (Hosts::set_bin).
    [[nodiscard]] std::vector<Bytes> delivered_bins() const;
    // Pool for frames that a host sends.
    [[nodiscard]] FramePool& pool_of(Index<Host> host) const { return hosts_.at(host).partition->pool; }
    // Return the queue depth of both directions of each link, then of the channel to each host.
    [[nodiscard]] std::vector<QueueDepth> queue_depths() const;

   private:
    // Set the clock of a host's or switch's partition to the current time, for an action of the control
    // plane, and return the partition.
    Partition& acted_on(Index<Host> host);
    Partition& acted_on(Index<Switch> switch_index);
    Partition& sender_of(const Channel& c);
    void set_channel(Index<Channel> index, bool up);
    void dispatch(Partition& p, const Event& event) {
        if (event.kind == EventKind::Arrive) queues_.on_arrival(p, event.of<Channel>());
        else if (event.kind == EventKind::Wake) queues_.on_wake(p, event.of<Channel>(), event.time);
        else dispatch_rare(p, event.kind, event.index);
    }
    // Run an event of another kind than Arrive and Wake.
    void dispatch_rare(Partition& p, EventKind kind, std::size_t index);

    // run.cpp
    RunEnd run_alone(Time until, std::uint64_t events);
    RunEnd run_partitions(Time until, std::uint64_t events, bool exactly);
    void run_window(Partition& p);
    void step();
    [[nodiscard]] bool independent() const;

    Timeline timeline_;
    List<Switch, Partition*> partition_of_;
    Links links_;
    Ageing ageing_;
    Alarms alarms_;
    Queues queues_;
    Hosts hosts_;
    Windows windows_;
    LookAhead look_ahead_;
    std::set<std::size_t> storms_;  // channels on which send_pause has stopped all classes
    std::uint64_t pause_ = 0;       // events to run one by one before the next attempt of a window
};

}  // namespace railyard::network
