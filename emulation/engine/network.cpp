// SPDX-License-Identifier: Apache-2.0
#include "network.h"

#include <time.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace railyard {

namespace {

// Rounded up, so that no link is ever faster than it says.
Time serialisation(std::uint64_t bytes, std::int64_t rate_bps) {
    const unsigned __int128 bits = static_cast<unsigned __int128>(bytes) * 8 * 1'000'000'000'000ULL;
    const auto rate = static_cast<unsigned __int128>(rate_bps);
    return static_cast<Time>((bits + rate - 1) / rate);
}

}  // namespace

int Network::add_switch(const std::string& name, std::uint32_t cpu_port) {
    out_channel_.emplace_back();
    return SwitchSet::add_switch(name, cpu_port);
}

int Network::new_channel(const LinkConfig& config, const std::string& name) {
    if (config.rate_bps <= 0) throw std::invalid_argument("link " + name + ": a rate of " + std::to_string(config.rate_bps) + " bit/s; it must be positive");
    if (config.delay < 0) throw std::invalid_argument("link " + name + ": a negative delay");
    if (config.credit_bytes < 0 || config.queue_bytes < 0) throw std::invalid_argument("link " + name + ": a negative buffer");
    Channel c;
    c.config = config;
    c.name = name;
    c.credits.fill(config.credit_bytes);
    channels_.push_back(std::move(c));
    return static_cast<int>(channels_.size()) - 1;
}

void Network::wire(int channel, int switch_index, int port) {
    if (port < 0 || port >= 510) throw std::invalid_argument("switch " + switch_at(switch_index).name() + ": port " + std::to_string(port) + " is not between 0 and 509");
    auto& ports = out_channel_.at(static_cast<std::size_t>(switch_index));
    if (ports.size() <= static_cast<std::size_t>(port)) ports.resize(static_cast<std::size_t>(port) + 1, -1);
    if (ports[static_cast<std::size_t>(port)] != -1)
        throw std::invalid_argument("switch " + switch_at(switch_index).name() + ": port " + std::to_string(port) + " has a link already");
    ports[static_cast<std::size_t>(port)] = channel;
    channels_[static_cast<std::size_t>(channel)].from_switch = switch_index;
    channels_[static_cast<std::size_t>(channel)].from_port = port;
}

int Network::connect(int switch_a, int port_a, int switch_b, int port_b, const LinkConfig& config) {
    const std::string name = switch_at(switch_a).name() + "-" + switch_at(switch_b).name();
    const int link = static_cast<int>(links_.size());
    const int ab = new_channel(config, name), ba = new_channel(config, name);
    wire(ab, switch_a, port_a);
    wire(ba, switch_b, port_b);
    for (const auto& [channel, direction, to, port] : {std::tuple{ab, 0, switch_b, port_b}, std::tuple{ba, 1, switch_a, port_a}}) {
        Channel& c = channels_[static_cast<std::size_t>(channel)];
        c.link = link;
        c.direction = direction;
        c.to_switch = to;
        c.to_port = port;
    }
    links_.push_back({ab, ba});
    return link;
}

int Network::attach_host(int switch_index, int port, const LinkConfig& config) {
    const std::string name = switch_at(switch_index).name() + "-host";
    const int host = static_cast<int>(hosts_.size());
    const int out = new_channel(config, name), in = new_channel(config, name);
    wire(in, switch_index, port);
    channels_[static_cast<std::size_t>(in)].to_host = host;
    channels_[static_cast<std::size_t>(out)].to_switch = switch_index;
    channels_[static_cast<std::size_t>(out)].to_port = port;
    for (const int c : {in, out}) channels_[static_cast<std::size_t>(c)].direction = host;
    hosts_.push_back({out});
    return host;
}

void Network::push(Time time, EventKind kind, int index, std::int64_t token) {
    events_.push_back({time, sequence_++, kind, index, token});
    std::push_heap(events_.begin(), events_.end());
    if (kind == EventKind::Wake || kind == EventKind::Arrive) ++network_events_;
}

void Network::wake(Channel& c, int index, Time time) {
    if (c.wake_at != -1 && c.wake_at <= time) return;
    c.wake_at = time;
    push(time, EventKind::Wake, index);
}

void Network::enqueue(int index, Frame* frame) {
    Channel& c = channels_[static_cast<std::size_t>(index)];
    const std::size_t vl = frame->vl;
    if (!c.up) {
        ++c.stats.refused_down;
        return discard(frame);
    }
    if (c.config.credit_bytes > 0) {
        if (frame->length > c.config.credit_bytes)
            throw std::runtime_error("link " + c.name + ": a frame of " + std::to_string(frame->length) + " bytes never fits its receive buffer of " +
                                     std::to_string(c.config.credit_bytes) + " bytes; raise credit_bytes or lower the payload");
    } else if (c.queued[vl] + frame->length > c.config.queue_bytes) {
        ++c.stats.refused_full;
        return discard(frame);
    }
    c.queues[vl].push_back(frame);
    c.queued[vl] += frame->length;
    c.stats.max_queued_bytes = std::max<std::uint64_t>(c.stats.max_queued_bytes, static_cast<std::uint64_t>(c.queued[vl]));
    ++c.waiting;
    ++waiting_frames_;
    if (now_ >= c.busy_until) try_send(index);
    else wake(c, index, c.busy_until);
}

void Network::try_send(int index) {
    Channel& c = channels_[static_cast<std::size_t>(index)];
    if (!c.up || c.waiting == 0) return;
    if (now_ < c.busy_until) return wake(c, index, c.busy_until);
    const bool lossless = c.config.credit_bytes > 0;
    while (!c.returning.empty() && c.returning.front().time <= now_) {
        c.credits[static_cast<std::size_t>(c.returning.front().vl)] += c.returning.front().bytes;
        std::pop_heap(c.returning.begin(), c.returning.end());
        c.returning.pop_back();
    }
    // The highest VL first: standard_metadata.priority as BMv2's strict priority queues read it.
    for (int vl = kVls - 1; vl >= 0; --vl) {
        const auto v = static_cast<std::size_t>(vl);
        if (c.queues[v].empty() || (lossless && c.credits[v] < c.queues[v].front()->length)) continue;
        transmit(index, vl);
        if (c.waiting > 0) wake(c, index, c.busy_until);
        return;
    }
    if (!c.returning.empty()) wake(c, index, c.returning.front().time);
}

void Network::transmit(int index, int vl) {
    Channel& c = channels_[static_cast<std::size_t>(index)];
    const auto v = static_cast<std::size_t>(vl);
    Frame* frame = c.queues[v].front();
    c.queues[v].pop_front();
    c.queued[v] -= frame->length;
    --c.waiting;
    --waiting_frames_;
    const Time end = now_ + serialisation(frame->length, c.config.rate_bps);
    c.stats.busy += end - now_;
    c.busy_until = end;
    c.stats.frames += 1;
    c.stats.bytes += frame->length;
    c.stats.frames_by_vl[v] += 1;
    if (c.config.credit_bytes > 0) c.credits[v] -= frame->length;
    release(std::exchange(frame->held, Held{}), end);
    c.flying.push_back({end + c.config.delay, frame});
    if (c.flying.size() == 1) push(c.flying.front().arrival, EventKind::Arrive, index);
}

// The buffer that the frame held at this switch is free from `when` on; its sender hears of it a link delay later.
void Network::release(Held held, Time when) {
    if (held.channel < 0) return;
    const int index = held.channel;
    Channel& c = channels_[static_cast<std::size_t>(index)];
    c.held[held.vl] -= held.bytes;
    if (!c.up) return;  // credits start anew when the link does
    c.returning.push_back({when + c.config.delay, held.vl, held.bytes});
    std::push_heap(c.returning.begin(), c.returning.end());
    if (c.waiting > 0) wake(c, index, std::max(c.returning.front().time, c.busy_until));
}

void Network::discard(Frame* frame) {
    release(std::exchange(frame->held, Held{}), now_);
    pool_.give(frame);
}

void Network::arrive(int index) {
    Channel& c = channels_[static_cast<std::size_t>(index)];
    if (c.flying.empty() || c.flying.front().arrival != now_) return;  // lost with the link
    Frame* frame = c.flying.front().frame;
    c.flying.pop_front();
    if (!c.flying.empty()) push(c.flying.front().arrival, EventKind::Arrive, index);
    if (c.config.credit_bytes > 0) {
        frame->held = {index, frame->length, frame->vl};
        c.held[frame->vl] += frame->length;
    }
    if (c.to_host < 0) return receive(frame, c.to_switch, static_cast<std::uint32_t>(c.to_port));
    const int host = c.to_host;
    release(std::exchange(frame->held, Held{}), now_);
    if (bin_ > 0 && frame->vl < bin_vls_) {
        const auto bin = static_cast<std::size_t>(now_ / bin_);
        if (bins_.size() <= bin) bins_.resize(bin + 1, 0);
        bins_[bin] += frame->length;
    }
    // The frame goes back first: the handler may send, and may throw.
    const std::string_view view = frame->view();
    pool_.give(frame);
    if (on_frame) on_frame(host, view);
}

void Network::receive(Frame* frame, int switch_index, std::uint32_t port) {
    Switch& sw = *switches_[static_cast<std::size_t>(switch_index)];
    ++hops_;
    // A frame that ends here gives its buffer back; the switch knows nothing of buffers.
    const Held held = std::exchange(frame->held, Held{});
    out_.clear();
    sw.process(frame, port, now_, out_);
    if (out_.empty()) return release(held, now_);
    out_.front().frame->held = held;
    for (const Output& o : out_) forward(o.frame, switch_index, o.port);
}

void Network::forward(Frame* frame, int switch_index, std::uint32_t out) {
    const Switch& sw = *switches_[static_cast<std::size_t>(switch_index)];
    if (out == sw.cpu_port()) {
        control_.push_back({ControlItem::Kind::PacketIn, now_, switch_index, 0, false, std::string(frame->view())});
        return discard(frame);
    }
    const auto& ports = out_channel_[static_cast<std::size_t>(switch_index)];
    if (out >= ports.size() || ports[out] < 0 || frame->vl >= kVls) {
        ++without_link_;
        return discard(frame);
    }
    enqueue(ports[out], frame);
}

void Network::send(int host, std::string_view bytes, int vl) {
    if (vl < 0 || vl >= kVls) throw std::invalid_argument("host " + std::to_string(host) + ": VL " + std::to_string(vl) + " is not between 0 and 7");
    Frame* frame = pool_.take(bytes.data(), bytes.size());
    frame->vl = static_cast<std::uint8_t>(vl);
    enqueue(hosts_.at(static_cast<std::size_t>(host)).out, frame);
}

void Network::packet_out(int switch_index, std::string_view bytes) {
    receive(pool_.take(bytes.data(), bytes.size()), switch_index, switch_at(switch_index).cpu_port());
}

void Network::set_timer(int host, Time deadline) {
    Host& h = hosts_.at(static_cast<std::size_t>(host));
    if (h.deadline == deadline) return;
    h.deadline = deadline;
    push(std::max(deadline, now_), EventKind::Timer, host, deadline);
}

void Network::clear_timer(int host) { hosts_.at(static_cast<std::size_t>(host)).deadline = -1; }

void Network::alarm(Time time, std::int64_t token) { push(std::max(time, now_), EventKind::Alarm, 0, token); }

RunEnd Network::run(Time until) {
    for (;;) {
        if (!control_.empty()) return RunEnd::Control;
        // Nothing moves and frames wait for credits: only a frame that moves could return one.
        if (network_events_ == 0 && waiting_frames_ > 0) return RunEnd::Deadlock;
        if (events_.empty()) return RunEnd::Idle;
        if (events_.front().time > until) {
            now_ = std::max(now_, until);
            return RunEnd::Until;
        }
        const Event event = events_.front();
        std::pop_heap(events_.begin(), events_.end());
        events_.pop_back();
        now_ = event.time;
        switch (event.kind) {
            case EventKind::Wake: {
                --network_events_;
                Channel& c = channels_[static_cast<std::size_t>(event.index)];
                if (c.wake_at != event.time) break;  // an earlier one took its place
                c.wake_at = -1;
                try_send(event.index);
                break;
            }
            case EventKind::Arrive:
                --network_events_;
                arrive(event.index);
                break;
            case EventKind::Timer: {
                Host& h = hosts_[static_cast<std::size_t>(event.index)];
                if (h.deadline != event.token) break;
                h.deadline = -1;
                if (on_timer) on_timer(event.index);
                break;
            }
            case EventKind::Alarm:
                control_.push_back({ControlItem::Kind::Alarm, now_, -1, event.token, false, {}});
                break;
        }
    }
}

void Network::set_channel(int index, bool up) {
    Channel& c = channels_[static_cast<std::size_t>(index)];
    if (c.up == up) return;
    c.up = up;
    if (up) {
        c.returning.clear();
        for (std::size_t v = 0; v < kVls; ++v) c.credits[v] = c.config.credit_bytes - c.held[v];
        return;
    }
    for (std::size_t i = 0; i < c.flying.size(); ++i) pool_.give(c.flying[i].frame);
    c.stats.lost += c.flying.size() + c.waiting;
    c.flying.clear();
    c.busy_until = now_;
    waiting_frames_ -= c.waiting;
    c.waiting = 0;
    for (std::size_t v = 0; v < kVls; ++v) {
        for (std::size_t i = 0; i < c.queues[v].size(); ++i) discard(c.queues[v][i]);
        c.queues[v].clear();
        c.queued[v] = 0;
    }
}

void Network::set_link(int link, bool up) {
    for (const int index : links_.at(static_cast<std::size_t>(link))) {
        Channel& c = channels_[static_cast<std::size_t>(index)];
        if (c.up == up) continue;
        set_channel(index, up);
        control_.push_back({ControlItem::Kind::Port, now_, c.from_switch, c.from_port, up, {}});
    }
}

const ChannelStats& Network::stats(int link, int direction) const {
    return channels_[static_cast<std::size_t>(links_.at(static_cast<std::size_t>(link)).at(static_cast<std::size_t>(direction)))].stats;
}

// Follows who waits for whom: a queue waits for the receive buffer of its channel, which frames hold that wait in
// queues of the next switch. A way that comes back to itself is the deadlock.
std::vector<Network::Waiting> Network::deadlock() const {
    const auto n = channels_.size() * kVls;
    std::vector<std::vector<std::size_t>> waits(n);
    for (std::size_t c = 0; c < channels_.size(); ++c)
        for (std::size_t v = 0; v < kVls; ++v)
            for (std::size_t i = 0; i < channels_[c].queues[v].size(); ++i) {
                const Frame* f = channels_[c].queues[v][i];
                if (f->held.channel < 0) continue;
                auto& to = waits[static_cast<std::size_t>(f->held.channel) * kVls + f->held.vl];
                if (std::find(to.begin(), to.end(), c * kVls + v) == to.end()) to.push_back(c * kVls + v);
            }
    std::vector<int> colour(n, 0);
    std::vector<std::size_t> way;
    std::vector<Waiting> cycle;
    const auto visit = [&](const auto& self, std::size_t at) -> bool {
        colour[at] = 1;
        way.push_back(at);
        for (const std::size_t next : waits[at]) {
            if (colour[next] == 1) {
                for (auto it = std::find(way.begin(), way.end(), next); it != way.end(); ++it) {
                    const Channel& c = channels_[*it / kVls];
                    cycle.push_back({c.link, c.direction, static_cast<int>(*it % kVls)});
                }
                return true;
            }
            if (colour[next] == 0 && self(self, next)) return true;
        }
        colour[at] = 2;
        way.pop_back();
        return false;
    };
    for (std::size_t at = 0; at < n; ++at)
        if (colour[at] == 0 && visit(visit, at)) break;
    return cycle;
}

std::vector<std::pair<std::uint32_t, std::string>> Network::process(int switch_index, std::uint32_t port, std::string_view bytes) {
    Switch& sw = switch_at(switch_index);
    Frame* frame = pool_.take(bytes.data(), bytes.size());
    Outputs out;
    sw.process(frame, port, now_, out);
    std::vector<std::pair<std::uint32_t, std::string>> result;
    for (const Output& o : out) {
        result.emplace_back(o.port, std::string(o.frame->view()));
        pool_.give(o.frame);
    }
    return result;
}

// Processor seconds of `count` passes of the same frame; copy_only leaves out the pipeline, the floor to compare with.
double Network::bench(int switch_index, std::uint32_t port, std::string_view bytes, std::uint64_t count, bool copy_only) {
    Switch& sw = switch_at(switch_index);
    const auto seconds = [] {
        timespec t{};
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
    };
    const double start = seconds();
    for (std::uint64_t i = 0; i < count; ++i) {
        Frame* frame = pool_.take(bytes.data(), bytes.size());
        out_.clear();
        if (copy_only) out_.push_back({0, frame});
        else sw.process(frame, port, now_, out_);
        for (const Output& o : out_) pool_.give(o.frame);
    }
    return seconds() - start;
}

}  // namespace railyard
