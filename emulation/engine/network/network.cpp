// SPDX-License-Identifier: Apache-2.0
#include "network/network.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

#include "frames/cna24.h"

namespace railyard {

Network::~Network() {
    channels_.clear();
    for (const Host& host : hosts_)
        if (host.station) host.station->leave();  // its frames belong to this network's pool
}

Index<Switch> Network::add_switch(const std::string& name, std::uint32_t cpu_port) {
    out_channel_.emplace_back();
    age_at_.push_back(-1);
    return SwitchSet::add_switch(name, cpu_port);
}

template <typename T>
void Network::push(Time time, EventKind kind, Index<T> index) {
    events_.push(time, kind, index.at());
    if (kind == EventKind::Wake || kind == EventKind::Arrive) ++network_events_;
}

void Network::wake(Channel& c, Index<Channel> index, Time time) {
    if (c.wake_at != -1 && c.wake_at <= time) return;
    c.wake_at = time;
    push(time, EventKind::Wake, index);
}

// at_once: the frame may leave immediately; otherwise a later event sends it.
void Network::enqueue(Index<Channel> index, FrameHandle frame, bool at_once) {
    Channel& c = channels_[index];
    fetch(&c.lanes[frame->vl]);
    fetch(&c.stats);
    if (at_once && !frame->pending && c.passes(*frame, now_)) {
        const std::size_t vl = frame->vl;
        return transmit(index, std::move(frame), vl);
    }
    if (frame->pending) {
        frame->enqueued = now_;
        frame->enqueue_depth = static_cast<std::uint32_t>(c.lanes[frame->vl].queue.size());
    }
    if (!c.put(frame)) return discard(std::move(frame));
    ++waiting_frames_;
    if (at_once && now_ >= c.busy_until) try_send(index);
    else wake(c, index, std::max(now_, c.busy_until));
}

void Network::try_send(Index<Channel> index) {
    Channel& c = channels_[index];
    if (!c.up || c.waiting == 0) return;
    if (now_ < c.busy_until) return wake(c, index, c.busy_until);
    c.collect(now_);
    while (const std::optional<std::size_t> vl = c.next()) {
        if (c.lanes[*vl].queue.front()->pending && !dequeue(index, *vl)) continue;
        --waiting_frames_;
        transmit(index, c.take(*vl), *vl);
        if (c.waiting > 0) wake(c, index, c.busy_until);
        return;
    }
    if (c.waiting > 0 && !c.returning.empty()) wake(c, index, c.returning.front().time);
}

void Network::transmit(Index<Channel> index, FrameHandle frame, std::size_t vl) {
    Channel& c = channels_[index];
    const Held held = std::exchange(frame->held, Held{});
    const Time end = c.send(std::move(frame), vl, now_);
    release(held, end);
    if (c.flying.size() == 1) push(c.flying.front().arrival, EventKind::Arrive, index);
}

// Free the receive buffer of a frame at `when`, or of its last copy to leave.
void Network::release(const Held& held, Time when) {
    if (!held.channel) return;
    if (held.share) {
        Share& share = shares_[held.share];
        share.until = when = std::max(share.until, when);
        if (--share.copies > 0) return;
        free_shares_.push_back(held.share);
    }
    const Index<Channel> index = buffer_of(held);
    Channel& c = channels_[index];
    c.give_back(held, when);
    if (c.waiting > 0) wake(c, index, std::max(c.returning.front().time, c.busy_until));
}

void Network::discard(FrameHandle frame) { release(std::exchange(frame->held, Held{}), now_); }

void Network::arrive(Index<Channel> index) {
    Channel& c = channels_[index];
    if (c.flying.empty() || c.flying.front().arrival != now_) return;  // lost with the link
    auto [arrival, frame, lost] = c.flying.pop_front();
    if (!c.flying.empty()) push(c.flying.front().arrival, EventKind::Arrive, index);
    if (c.lossless()) {
        frame->held = {.channel = index, .bytes = frame->length, .share = {}, .vl = frame->vl};
        c.lanes[frame->vl].held += frame->length;
    }
    if (lost) [[unlikely]]
        return discard(std::move(frame));  // its credits return as those of a received frame
    if (!c.to_switch) deliver(std::move(frame), c.host);
    else receive(std::move(frame), c.to_switch, c.to_port);
}

void Network::deliver(FrameHandle frame, Index<Host> host) {
    release(std::exchange(frame->held, Held{}), now_);
    if (bin_ > 0 && frame->vl < bin_vls_) {
        const auto bin = static_cast<std::size_t>(now_ / bin_);
        if (bins_.size() <= bin) bins_.resize(bin + 1, 0);
        bins_[bin] += frame->length;
    }
    if (hosts_cna24_) from_cna24(*frame);
    consult(host,
            [&](Station& station, Answer& answer) { station.on_frame(std::move(frame), now_, answer); });
}

void Network::receive(FrameHandle frame, Index<Switch> switch_index, std::uint32_t port) {
    Switch& sw = *switches_[switch_index];
    ++hops_;
    // The switch does not know receive buffers: they are freed here, or pass to the frames that leave.
    const Held held = std::exchange(frame->held, Held{});
    out_.clear();
    try {
        if (sw.reads_queue()) sw.ingress(std::move(frame), port, now_, out_);
        else sw.process(std::move(frame), port, now_, out_);
    } catch (const std::exception& error) {
        if (!tolerant_) throw;
        fail(switch_index, error);
    }
    after_pass(sw, switch_index);
    if (out_.empty()) return release(held, now_);
    hold(held, out_);
    for (Output& o : out_) forward(std::move(o.frame), switch_index, o.port);
}

void Network::set_lanes(std::uint32_t bit, const std::vector<int>& vls) {
    std::vector<int> sorted = vls;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t vl = 0; vl < kVls; ++vl)
        if (sorted.size() != kVls || sorted[vl] != static_cast<int>(vl))
            throw std::invalid_argument("VLs of lanes: there must be " + std::to_string(kVls) +
                                        ", each from 0 to " + std::to_string(kVls - 1) + " once");
    lane_bit_ = bit;
    vls_ = vls;
}

// VL of a frame whose priority the switch has left in `vl`.
std::uint8_t Network::lane_of(const Frame& frame) const {
    if (!lane_bit_) return frame.vl;
    const std::uint32_t at = *lane_bit_ / 8;
    const bool second =
        !frame.pending && at < frame.length && (frame.byte(at) >> (7 - *lane_bit_ % 8) & 1) != 0;
    return static_cast<std::uint8_t>(2 * frame.vl + second);
}

void Network::forward(FrameHandle frame, Index<Switch> switch_index, std::uint32_t port, bool at_once) {
    const bool to_cpu = port == switches_[switch_index]->cpu_port();
    const auto& ports = out_channel_[switch_index];
    if (!to_cpu && port < ports.size() && ports[port] && frame->vl < kPriorities) {
        frame->vl = lane_of(*frame);
        return enqueue(ports[port], std::move(frame), at_once);
    }
    // The CPU port and ports without a link have no queue.
    if (frame->pending) frame = egress(std::move(frame), switch_index, port, {now_, now_, 0, 0});
    if (frame == nullptr) return;
    if (to_cpu)
        control_.push_back(
            {ControlItem::Kind::PacketIn, now_, switch_index, 0, false, std::string(frame->view())});
    else ++without_link_;
    discard(std::move(frame));
}

// Pass digests and ageing on to the control plane.
void Network::after_pass(Switch& sw, Index<Switch> index) {
    if (auto& digests = sw.digests(); !digests.empty()) {
        for (Digest& d : digests)
            control_.push_back({ControlItem::Kind::Digest, now_, index,
                                static_cast<std::int64_t>(d.list.at()), false, std::move(d.fields)});
        digests.clear();
    }
    if (sw.take_revived()) watch_ageing(index);
}

void Network::fail(Index<Switch> index, const std::exception& error) {
    ++failed_;
    control_.push_back({ControlItem::Kind::Log, now_, index, 0, false, error.what()});
}

void Network::set_station(Index<Host> host, std::shared_ptr<Station> station) {
    clear_timer(host);
    hosts_[host].station.swap(station);
    if (!station) return;
    station->leave();
    if (consulting_ > 0) replaced_.push_back(std::move(station));
}

// Let the station of a host answer an event. A station may replace stations, its own included, which last
// until no station is at work.
template <typename Event>
void Network::consult(Index<Host> host, const Event& event) {
    Station* const station = hosts_[host].station.get();
    if (station == nullptr) return;
    struct Consultation {
        Network& network;
        explicit Consultation(Network& of) : network(of) { ++network.consulting_; }
        ~Consultation() {
            if (--network.consulting_ == 0) network.replaced_.clear();
        }
    } const consultation(*this);
    Answer answer(pool_, std::move(departures_));
    event(*station, answer);
    act(host, answer);
}

void Network::start(Index<Host> host) {
    hosts_.at(host);  // names a host that there is not
    consult(host, [this](Station& station, Answer& answer) { station.start(now_, answer); });
}

void Network::act(Index<Host> host, Answer& answer) {
    for (Answer::Departure& departure : answer.departures)
        send(host, std::move(departure.frame), departure.vl);
    if (answer.deadline) set_timer(host, *answer.deadline);
    else clear_timer(host);
    answer.departures.clear();
    departures_ = std::move(answer.departures);
}

void Network::send(Index<Host> host, std::string_view bytes, int vl) {
    send(host, pool_.acquire(bytes.data(), bytes.size()), vl);
}

void Network::send(Index<Host> host, FrameHandle frame, int vl) {
    const Host& h = hosts_.at(host);
    const auto lane = std::find(vls_.begin(), vls_.end(), vl);
    if (lane == vls_.end())
        throw std::invalid_argument("host " + std::to_string(host.at()) + ": VL " + std::to_string(vl) +
                                    " is not between 0 and " + std::to_string(vls_.size() - 1));
    if (hosts_cna24_) to_cna24(*frame);
    frame->vl = static_cast<std::uint8_t>(lane - vls_.begin());
    enqueue(h.out, std::move(frame), true);
}

void Network::packet_out(Index<Switch> switch_index, std::string_view bytes) {
    receive(pool_.acquire(bytes.data(), bytes.size()), switch_index, switch_at(switch_index).cpu_port());
}

void Network::set_timer(Index<Host> host, Time deadline) {
    Host& h = hosts_.at(host);
    deadline = std::max(deadline, now_);
    if (h.deadline == deadline) return;
    h.deadline = deadline;
    push(deadline, EventKind::Timer, host);
}

void Network::clear_timer(Index<Host> host) { hosts_.at(host).deadline = -1; }

void Network::alarm(Time time, std::int64_t token) {
    if (free_alarms_.empty()) {
        free_alarms_.push_back(alarms_.next());
        alarms_.emplace_back();
    }
    const Index<Alarm> index = free_alarms_.back();
    free_alarms_.pop_back();
    alarms_[index].token = token;
    push(std::max(time, now_), EventKind::Alarm, index);
}

RunEnd Network::run(Time until, std::uint64_t events) {
    const RunEnd end = run_events(until, events);
    if (end != RunEnd::Control)
        for (const auto& file : recordings_) file->flush();
    return end;
}

RunEnd Network::run_events(Time until, std::uint64_t events) {
    resume_ageing();
    share_contents();
    for (;; --events) {
        if (!control_.empty()) return RunEnd::Control;
        // Frames wait for credits, and no frame moves that could return credits.
        if (network_events_ == 0 && waiting_frames_ > 0) return RunEnd::Deadlock;
        if (events_.size() == ageing_events_ &&
            (ageing_events_ == 0 || until >= kForever || events_.next_time() > until))
            return RunEnd::Idle;
        if (events_.next_time() > until) {
            now_ = std::max(now_, until);
            return RunEnd::Until;
        }
        if (events == 0) return RunEnd::Paused;
        const Event event = events_.pop();
        look_ahead();
        now_ = event.time;
        dispatch(event);
    }
}

// Let the processor fetch the memory of the next events while others run. Each address stands in memory
// fetched before: that of a channel, then that of its first cell and of what it leads to, then that of the
// frame, then what a station reads for it.
void Network::look_ahead() const {
    struct Ahead {
        const Channel* channel = nullptr;
        bool arrives = false;
    };
    const auto at = [this](std::size_t place) -> Ahead {
        const std::optional<Event> event = events_.ahead(place);
        if (!event || event->kind > EventKind::Arrive) return {};
        return {&channels_[event->of<Channel>()], event->kind == EventKind::Arrive};
    };
    const auto next_lane = [](const Channel& c) {
        return &c.lanes[static_cast<std::size_t>(std::bit_width(c.ready)) - 1];
    };
    const auto lines = [](const void* first, std::size_t count) {
        for (std::size_t line = 0; line < count; ++line) fetch(static_cast<const char*>(first) + 64 * line);
    };
    if (const auto [c, arrives] = at(11); c != nullptr) lines(c, 5);
    if (const auto [c, arrives] = at(8); c != nullptr) {
        if (!c->flying.empty()) fetch(&c->flying[0]);
        if (arrives && c->to_switch) switches_[c->to_switch]->fetch();
        else if (arrives) fetch(&hosts_[c->host]);
        else if (c->ready != 0) fetch(next_lane(*c));
    }
    if (const auto [c, arrives] = at(6); c != nullptr) {
        if (!c->flying.empty()) fetch(c->flying[0].frame.get());
        if (arrives && c->to_switch) {
            switches_[c->to_switch]->fetch_lists();
            fetch(&out_channel_[c->to_switch]);
        } else if (arrives) {
            lines(hosts_[c->host].station.get(), 6);
        } else if (c->ready != 0) {
            fetch(&next_lane(*c)->queue[0]);
        }
    }
    if (const auto [c, arrives] = at(4); c != nullptr) {
        if (!c->flying.empty()) {
            const Frame& frame = *c->flying[0].frame;
            fetch(frame.data());
            if (arrives && !c->to_switch) fetch(frame.payload);
        }
        if (!arrives && c->ready != 0) fetch(next_lane(*c)->queue[0].get());
    }
    for (const std::size_t place : {3, 1}) {
        const auto [c, arrives] = at(place);
        if (c == nullptr || !arrives || c->to_switch || c->flying.empty()) continue;
        if (const Station* const station = hosts_[c->host].station.get(); station != nullptr)
            station->expect(*c->flying[0].frame, place == 1);
    }
}

void Network::dispatch(const Event& event) {
    switch (event.kind) {
        case EventKind::Wake: {
            --network_events_;
            Channel& c = channels_[event.of<Channel>()];
            if (c.wake_at != event.time) return;  // replaced by an earlier event
            c.wake_at = -1;
            return try_send(event.of<Channel>());
        }
        case EventKind::Arrive: --network_events_; return arrive(event.of<Channel>());
        case EventKind::Timer: {
            Host& h = hosts_[event.of<Host>()];
            if (h.deadline != event.time) return;  // changed or cleared
            h.deadline = -1;
            return consult(event.of<Host>(),
                           [this](Station& s, Answer& answer) { s.on_timer(now_, answer); });
        }
        case EventKind::Alarm:
            free_alarms_.push_back(event.of<Alarm>());
            control_.push_back(
                {ControlItem::Kind::Alarm, now_, {}, alarms_[event.of<Alarm>()].token, false, {}});
            return;
        case EventKind::Age: --ageing_events_; return age(event.of<Switch>());
    }
}

void Network::watch_ageing(Index<Switch> switch_index) {
    const Time due = switch_at(switch_index).next_ageing();
    if (due < 0) return;
    const Time time = std::max(due, now_);
    if (age_at_[switch_index] != -1 && age_at_[switch_index] <= time) return;
    age_at_[switch_index] = time;
    ++ageing_events_;
    push(time, EventKind::Age, switch_index);
}

void Network::age(Index<Switch> switch_index) {
    if (age_at_[switch_index] != now_) return;  // replaced by an earlier event
    age_at_[switch_index] = -1;
    Switch& sw = *switches_[switch_index];
    for (std::size_t table = 0; table < sw.table_count(); ++table)
        if (sw.table_due(table, now_))
            control_.push_back(
                {ControlItem::Kind::Idle, now_, switch_index, static_cast<std::int64_t>(table), false, {}});
    // Aged entries stay due until the control plane has read them; until then no event follows.
    if (sw.next_ageing() > now_) watch_ageing(switch_index);
    else unread_.push_back(switch_index);
}

// Watch switches again whose aged entries the control plane has read.
void Network::resume_ageing() {
    std::erase_if(unread_, [this](Index<Switch> index) {
        const Time due = switch_at(index).next_ageing();
        if (due >= 0 && due <= now_) return false;
        watch_ageing(index);
        return true;
    });
}

}  // namespace railyard
