// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "frames/cna24.h"
#include "network/hosts.h"
#include "network/queues.h"

namespace railyard::network {

bool Hosts::isolated() const {
    return std::all_of(hosts_.begin(), hosts_.end(), [](const Host& host) {
        return host.application == nullptr || host.application->isolated();
    });
}

void Hosts::detach() {
    for (const Host& host : hosts_)
        if (host.application) host.application->detach();
}

void Hosts::set_application(Index<Host> host, std::shared_ptr<Application> application) {
    clear_timer(host);
    Partition& p = *hosts_[host].partition;
    hosts_[host].application.swap(application);
    if (!application) return;
    application->detach();
    if (p.consulting > 0) p.replaced.push_back(std::move(application));
}

// Call a host's application. It may replace applications, its own included; they live on until no application
// is running.
template <typename Event>
void Hosts::consult(Partition& p, Index<Host> host, const Event& event) {
    Application* const application = hosts_[host].application.get();
    if (application == nullptr) return;
    struct Consultation {
        Partition& partition;
        explicit Consultation(Partition& of) : partition(of) { ++partition.consulting; }
        ~Consultation() {
            ASSERT(partition.consulting > 0);
            if (--partition.consulting == 0) partition.replaced.clear();
        }
    } const consultation(p);
    Actions actions(p.pool, std::move(p.departures));
    event(*application, actions);
    act(p, host, actions);
}

void Hosts::start(Partition& p, Index<Host> host) {
    consult(p, host, [&p](Application& application, Actions& actions) { application.start(p.now, actions); });
}

void Hosts::act(Partition& p, Index<Host> host, Actions& actions) {
    for (Actions::Departure& departure : actions.departures)
        send(p, host, std::move(departure.frame), departure.vl);
    if (actions.deadline) set_timer(p, host, *actions.deadline);
    else hosts_[host].deadline = kUnset;
    actions.departures.clear();
    p.departures = std::move(actions.departures);
}

void Hosts::send(Partition& p, Index<Host> host, FrameHandle frame, Vl vl) {
    const Host& h = hosts_[host];
    const auto lane = links_.lanes.of_vl(vl);
    if (!lane)
        throw std::invalid_argument("host " + std::to_string(host.at()) + ": VL " + to_string(vl) +
                                    " is not between 0 and " + std::to_string(links_.lanes.vls().size() - 1));
    if (cna24_) frames::to_cna24(*frame);
    frame->set_lane(*lane);
    queues_.enqueue(p, h.out, std::move(frame), true);
}

void Hosts::deliver(Partition& p, FrameHandle&& frame, Index<Host> host) {
    ASSERT(hosts_[host].partition == &p);
    queues_.release(p, frame->held, p.now);
    if (bin_ > Time() && frame->lane().value() < bin_vls_) {
        const auto bin = static_cast<std::size_t>(p.now / bin_);
        if (p.bins.size() <= bin) p.bins.resize(bin + 1);
        p.bins[bin] += frame->size();
    }
    if (cna24_) frames::from_cna24(*frame);
    consult(p, host, [&](Application& application, Actions& actions) {
        application.on_frame(std::move(frame), p.now, actions);
    });
}

void Hosts::on_timer(Partition& p, Index<Host> host) {
    Host& h = hosts_[host];
    if (h.deadline != p.now) return;  // the timer was changed or cleared
    h.deadline = kUnset;
    consult(p, host,
            [&p](Application& application, Actions& actions) { application.on_timer(p.now, actions); });
}

void Hosts::set_timer(Partition& p, Index<Host> host, Time deadline) {
    Host& h = hosts_[host];
    deadline = std::max(deadline, p.now);
    if (h.deadline == deadline) return;
    ASSERT(deadline >= p.now);
    h.deadline = deadline;
    Timeline::push(p, deadline, EventKind::Timer, host);
}

}  // namespace railyard::network
