// SPDX-License-Identifier: Apache-2.0
// Hosts of the network: frames and timers for their stations, and what stations answer.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "frames/cna24.h"
#include "network/network.h"

namespace railyard {

void Network::set_station(Index<Host> host, std::shared_ptr<Station> station) {
    const Partition& p = acted_on(host);
    clear_timer(host);
    hosts_[host].station.swap(station);
    if (!station) return;
    station->leave();
    if (p.consulting > 0) hosts_[host].partition->replaced.push_back(std::move(station));
}

// Let the station of a host answer an event. A station may replace stations, its own included, which last
// until no station is at work.
template <typename Event>
void Network::consult(Partition& p, Index<Host> host, const Event& event) {
    Station* const station = hosts_[host].station.get();
    if (station == nullptr) return;
    struct Consultation {
        Partition& partition;
        explicit Consultation(Partition& of) : partition(of) { ++partition.consulting; }
        ~Consultation() {
            ASSERT(partition.consulting > 0);
            if (--partition.consulting == 0) partition.replaced.clear();
        }
    } const consultation(p);
    Answer answer(p.pool, std::move(p.departures));
    event(*station, answer);
    act(p, host, answer);
}

void Network::start(Index<Host> host) {
    Partition& p = acted_on(host);
    consult(p, host, [&p](Station& station, Answer& answer) { station.start(p.now, answer); });
}

void Network::act(Index<Host> host, Answer& answer) { act(acted_on(host), host, answer); }

void Network::act(Partition& p, Index<Host> host, Answer& answer) {
    for (Answer::Departure& departure : answer.departures)
        send(p, host, std::move(departure.frame), departure.vl);
    if (answer.deadline) set_timer(p, host, *answer.deadline);
    else clear_timer(host);
    answer.departures.clear();
    p.departures = std::move(answer.departures);
}

void Network::send(Index<Host> host, std::string_view bytes, int vl) {
    Partition& p = acted_on(host);
    send(p, host, p.pool.acquire(bytes.data(), bytes.size()), vl);
}

void Network::send(Partition& p, Index<Host> host, FrameHandle frame, int vl) {
    const Host& h = hosts_.at(host);
    const auto lane = std::find(vls_.begin(), vls_.end(), vl);
    if (lane == vls_.end())
        throw std::invalid_argument("host " + std::to_string(host.at()) + ": VL " + std::to_string(vl) +
                                    " is not between 0 and " + std::to_string(vls_.size() - 1));
    if (hosts_cna24_) to_cna24(*frame);
    frame->vl = static_cast<std::uint8_t>(lane - vls_.begin());
    enqueue(p, h.out, std::move(frame), true);
}

void Network::deliver(Partition& p, FrameHandle frame, Index<Host> host) {
    ASSERT(hosts_[host].partition == &p);
    release(p, std::exchange(frame->held, Held{}), p.now);
    if (bin_ > 0 && frame->vl < bin_vls_) {
        const auto bin = static_cast<std::size_t>(p.now / bin_);
        if (p.bins.size() <= bin) p.bins.resize(bin + 1, 0);
        p.bins[bin] += frame->length;
    }
    if (hosts_cna24_) from_cna24(*frame);
    consult(p, host,
            [&](Station& station, Answer& answer) { station.on_frame(std::move(frame), p.now, answer); });
}

void Network::on_timer(Partition& p, Index<Host> host) {
    Host& h = hosts_[host];
    if (h.deadline != p.now) return;  // changed or cleared
    h.deadline = -1;
    consult(p, host, [&p](Station& station, Answer& answer) { station.on_timer(p.now, answer); });
}

void Network::set_timer(Index<Host> host, Time deadline) { set_timer(acted_on(host), host, deadline); }

void Network::set_timer(Partition& p, Index<Host> host, Time deadline) {
    Host& h = hosts_.at(host);
    deadline = std::max(deadline, p.now);
    if (h.deadline == deadline) return;
    ASSERT(deadline >= p.now);
    h.deadline = deadline;
    push(p, deadline, EventKind::Timer, host);
}

void Network::clear_timer(Index<Host> host) { hosts_.at(host).deadline = -1; }

}  // namespace railyard
