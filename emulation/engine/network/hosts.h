// SPDX-License-Identifier: Apache-2.0
// Hosts of the network: they pass frames and timers to applications and carry out their actions.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "hosts/application.h"
#include "network/events/timeline.h"
#include "network/links/links.h"

namespace railyard::network {

class Queues;

struct Host {
    Index<Channel> out, in;  // from the host, to the host
    Time deadline = kUnset;
    std::shared_ptr<Application> application;  // shared with the control plane, which reads its result
    Partition* partition = nullptr;
};

class Hosts {
   public:
    Hosts(const Links& links, Queues& queues) : links_(links), queues_(queues) {}

    [[nodiscard]] Index<Host> next() const { return hosts_.next(); }
    void add(const Links::HostChannels& channels, Partition& partition) {
        hosts_.push_back(
            {.out = channels.out, .in = channels.in, .application = nullptr, .partition = &partition});
    }
    // Convert frames to the CNA24 network header when hosts send them, and back on delivery: agents know only
    // the CNA16 header.
    void set_cna24() { cna24_ = true; }
    // Count bytes delivered to hosts in bins of `width` ps, on the `vls` VLs of lowest priority.
    void set_bin(Time width, std::size_t vls) {
        bin_ = width;
        bin_vls_ = vls;
    }
    [[nodiscard]] const Host& at(Index<Host> host) const { return hosts_.at(host); }
    [[nodiscard]] const Host& operator[](Index<Host> host) const { return hosts_[host]; }
    // Return true if all applications are isolated (Application::isolated): partitions run in windows
    // only then.
    [[nodiscard]] bool isolated() const;
    // Detach all applications, since their frames belong to the network's pool.
    void detach();

    // Replace the application of a host; null: none.
    void set_application(Index<Host> host, std::shared_ptr<Application> application);
    void start(Partition& p, Index<Host> host);
    // Carry out an application's actions.
    void act(Partition& p, Index<Host> host, Actions& actions);
    void send(Partition& p, Index<Host> host, FrameHandle frame, Vl vl);
    void deliver(Partition& p, FrameHandle&& frame, Index<Host> host);
    void on_timer(Partition& p, Index<Host> host);
    // Replace the earlier deadline of the host.
    void set_timer(Partition& p, Index<Host> host, Time deadline);
    void clear_timer(Index<Host> host) { hosts_.at(host).deadline = kUnset; }

   private:
    // Call an application for an event, and carry out its actions.
    template <typename Event>
    void consult(Partition& p, Index<Host> host, const Event& event);

    const Links& links_;
    Queues& queues_;
    List<Host> hosts_;
    bool cna24_ = false;
    Time bin_{};
    std::size_t bin_vls_ = kVls;
};

}  // namespace railyard::network
