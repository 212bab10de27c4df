// SPDX-License-Identifier: Apache-2.0
// Switches, hosts and the links between them, in virtual time: integer picoseconds, ordered by (time,
// sequence). The parts are classes of their own; a network owns one of each, and lets the control plane act
// on them at the present time.
#pragma once

#include <cstdint>
#include <memory>
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

namespace railyard {

enum class RunEnd : int { Idle, Until, Control, Deadlock, Paused };

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
    Index<Link> connect(Index<Switch> switch_a, int port_a, Index<Switch> switch_b, int port_b,
                        const LinkConfig& config, bool plugged = true);
    Index<Host> attach_host(Index<Switch> switch_index, int port, const LinkConfig& config);

    // Links and hosts, for the control plane to change. PartitionError while a window is merged.
    [[nodiscard]] Links& links() {
        windows_.refuse_in_merge();
        return links_;
    }
    [[nodiscard]] const Links& links() const { return links_; }
    [[nodiscard]] Hosts& hosts() {
        windows_.refuse_in_merge();
        return hosts_;
    }
    [[nodiscard]] const Channel& host_channel(Index<Host> host, int direction) const;  // 0: from the host
    void set_link(Index<Link> link, bool up);
    // Send a pause frame on a direction: every class has to stop, or goes on. While a direction is stopped
    // so, waiting frames are no deadlock. std::invalid_argument without priority flow control.
    void send_pause(Index<Link> link, int direction, bool stop);
    void set_host_link(Index<Host> host, bool up);

    // Put an application on a host in place of another; null: none. Its first event is `start`.
    void set_application(Index<Host> host, std::shared_ptr<Application> application);
    void start(Index<Host> host);
    void act(Index<Host> host, Actions& actions);
    void send(Index<Host> host, std::string_view bytes, int vl);
    void set_timer(Index<Host> host, Time deadline);
    void packet_out(Index<Switch> switch_index, std::string_view bytes) override;
    void alarm(Time time, std::int64_t token);
    void watch_ageing(Index<Switch> switch_index) override { ageing_.watch(switch_index); }

    // Idle: no event is left, or only ageing and no bound on time. Paused: `events` events have run.
    // Not `exactly`: windows of several partitions may exceed `events`.
    RunEnd run(Time until, std::uint64_t events = ~0ULL, bool exactly = true);
    // Behaviour of a frame that its program stops, as by a failed assert or a round without end: throw out of
    // run() and packet_out(), or be dropped and reported to the control plane as a log line.
    void set_tolerant(bool tolerant) { queues_.set_tolerant(tolerant); }
    [[nodiscard]] Time now() const override { return timeline_.now(); }

    // Threads that run partitions, from the first window on; unless set, one for each.
    void set_threads(std::size_t threads) { windows_.set_threads(threads); }
    [[nodiscard]] WindowReport window_report() const { return windows_.report(); }
    [[nodiscard]] std::uint64_t frames_without_link() const {
        return timeline_.sum(&Partition::without_link);
    }
    [[nodiscard]] std::uint64_t hops() const { return timeline_.sum(&Partition::hops); }
    [[nodiscard]] std::uint64_t frames_failed() const { return timeline_.sum(&Partition::failed); }
    // Bytes delivered to hosts, by the bins of Hosts::set_bin.
    [[nodiscard]] std::vector<std::uint64_t> delivered_bins() const;
    // Pool of the frames of a host.
    [[nodiscard]] FramePool& pool_of(Index<Host> host) const { return hosts_.at(host).partition->pool; }
    // State of all links, and queues that wait for each other after run() returned Deadlock.
    // Queues of both directions of each link, then those that lead to each host.
    [[nodiscard]] std::vector<QueueDepth> queue_depths() const;
    LinkSample sample() { return links_.sample(timeline_.now()); }
    [[nodiscard]] std::vector<Waiting> deadlock() const { return links_.deadlock(); }

   private:
    // Partition of a host or a switch, at the present time: the control plane acts on it.
    Partition& acted_on(Index<Host> host);
    Partition& acted_on(Index<Switch> switch_index);
    Partition& sender_of(const Channel& c);
    void set_channel(Index<Channel> index, bool up);
    void dispatch(Partition& p, const Event& event);

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
    std::set<std::size_t> storms_;  // channels whose sender stops the other end without need
    std::uint64_t pause_ = 0;       // events that run before the next attempt of a window
};

}  // namespace railyard
