// SPDX-License-Identifier: Apache-2.0
#include "wire/wire.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <limits>
#include <stdexcept>
#include <system_error>

#include "wire/system.h"

namespace railyard::wire {

namespace {

constexpr std::size_t kReceiveBatch = 64;  // frames received in a row from one port
constexpr Nanoseconds kMostPause = std::chrono::milliseconds(2);
constexpr Nanoseconds kMostFrame = std::chrono::milliseconds(500);  // most processor time for a frame
constexpr unsigned kTimedCheckpoints = 16;  // the clock is read at every kTimedCheckpoints-th checkpoint
constexpr Time kAgeingPeriod = 100 * kMillisecond;
constexpr Time kNoAgeing = std::numeric_limits<Time>::max();

}  // namespace

Wire::Wire()
    : zero_(clock_nanoseconds()),
      events_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "an eventfd for the control plane"),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "an eventfd to wake the thread of the switches"),
      epoll_(epoll_create1(EPOLL_CLOEXEC), "the epoll set of the switches' interfaces"),
      ports_(switches_, epoll_.number(), kFirstPortToken) {}

Wire::~Wire() { stop(); }

Time Wire::now() const { return (clock_nanoseconds() - zero_).count() * kNanosecond; }

Index<Switch> Wire::add_switch(const std::string& name, Port cpu_port) {
    ports_.add_switch();
    control_events_.add_switch(name);
    const Index<Switch> index = switching::SwitchSet::add_switch(name, cpu_port);
    if (settings.log_programs)
        switch_at(index).set_log(
            [this, name](const std::string& text) { messages_.say("info", name + ": " + text); });
    switch_at(index).set_checkpoint([this] { checkpoint(); });
    return index;
}

void Wire::start() {
    if (thread_.joinable()) throw std::logic_error("the wire runs already");
    if (const std::string& directory = settings.pcap_directory; !directory.empty())
        for (const auto& port : ports_) {
            port->in.emplace(directory + "/" + port->interface + "_in.pcap");
            port->out.emplace(directory + "/" + port->interface + "_out.pcap");
        }
    ports_.attach_all(settings.send_bytes);
    links_.emplace();
    on_links();
    control_events_.clear();  // at the start, report only ports that are down
    for (const auto& port : ports_)
        if (!port->up)
            control_.push_back({switching::ControlItem::Kind::Port,
                                now_,
                                port->switch_index,
                                port->number.value(),
                                false,
                                {}});
    if (!control_.empty()) signal_event(events_.number());
    for (const auto& [fd, token] :
         {std::pair(wake_.number(), kWakeToken), std::pair(links_->fd(), kLinksToken),
          std::pair(slots_.fd(), kSlotsToken)}) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = token;
        require(epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, fd, &event) == 0, "epoll");
    }
    stopping_ = false;
    thread_ = std::thread([this] { run(); });
    pthread_setname_np(thread_.native_handle(), "frames");
}

void Wire::stop() {
    if (!thread_.joinable()) return;
    stopping_ = true;
    signal_event(wake_.number());
    thread_.join();
    ports_.close_all();
    for (const auto& port : ports_) {
        port->in.reset();
        port->out.reset();
    }
}

void Wire::run() {
    epoll_event ready[64];
    int timeout = -1;
    while (!stopping_) {
        const int count = epoll_wait(epoll_.number(), ready, static_cast<int>(std::size(ready)), timeout);
        let_others_in();
        const std::lock_guard hold(mutex_);
        now_ = now();
        for (int i = 0; i < count; ++i) {
            const std::uint64_t token = ready[i].data.u64;
            if (token >= kFirstPortToken) on_port(Index<WirePort>(token - kFirstPortToken), ready[i].events);
            else if (token == kLinksToken) on_links();
            else if (token == kSlotsToken) on_slots();
            else clear_event(wake_.number());
        }
        if (now_ >= next_ageing_) look_for_aged();
        end_burst();
        if (!dirty_.empty()) timeout = 0;  // send the rest after the control plane's turn
        else
            timeout = next_ageing_ == kNoAgeing ? -1
                                                : static_cast<int>(std::clamp<std::int64_t>(
                                                      (next_ageing_ - now_) / kMillisecond + 1, 1, 60'000));
    }
}

void Wire::on_port(Index<WirePort> index, std::uint32_t events) {
    WirePort& port = ports_[index];
    if (!port.socket) return;
    if ((events & EPOLLERR) != 0)
        port.socket->take_error();  // clear it: the interface went down, which netlink reports as well
    if ((events & EPOLLOUT) != 0) {
        ports_.block(port, false);
        make_dirty(port);
    }
    if ((events & EPOLLIN) != 0) receive(port);
}

void Wire::receive(WirePort& port) {
    PacketSocket& socket = *port.socket;
    ReceiveRing::Received received{};
    for (std::size_t i = 0; i < kReceiveBatch && (i == 0 || !others_wait()) && socket.peek(received); ++i) {
        if (received.length > received.frame.size()) {
            too_long(port, received.length);
            socket.release();
            continue;
        }
        port.stats.received += 1;
        port.stats.received_bytes += Bytes(received.length);
        if (port.in) port.in->write(received.frame);
        if (settings.dump_bytes > 0) dump("in", port, received.frame);
        frames::FrameHandle frame = pool_.acquire(received.frame.data(), received.frame.size());
        socket.release();
        run_frame(std::move(frame), port.switch_index, port.number);
    }
}

void Wire::run_frame(frames::FrameHandle frame, Index<Switch> switch_index, Port port) {
    Switch& sw = *switches_[switch_index];
    const bool queued = sw.reads_queue();
    out_.clear();
    checkpoints_ = 0;
    try {
        if (queued) sw.ingress(std::move(frame), port, now_, out_);
        else sw.process(std::move(frame), port, now_, out_);
    } catch (const std::exception& error) {  // the switch continues with the next frame
        if (const Index<WirePort> index = ports_.find(switch_index, port)) ports_[index].stats.failed += 1;
        messages_.failed(sw.name(), error, now_);
    }
    for (switching::Output& o : out_) forward(std::move(o.frame), switch_index, o.port);
    out_.clear();
    if (!sw.digests().empty()) collect(switch_index);
    if (queued) flush_all();  // otherwise later frames of the burst would find this frame in the queue
}

// Stop a frame that takes too long: within its budget of copies and rounds, it may still take seconds because
// of slow tables or wide hashes.
void Wire::checkpoint() {
    if (stopping_) throw std::runtime_error("a frame was at work when the switch stopped");
    if (checkpoints_++ % kTimedCheckpoints != 0) return;
    const Nanoseconds used = clock_nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    if (checkpoints_ == 1) frame_began_ = used;
    else if (used - frame_began_ > kMostFrame)
        throw std::runtime_error("a frame took more than 0.5 s of processor time, its copies included");
}

void Wire::collect(Index<Switch> switch_index) {
    std::vector<switching::Digest>& digests = switches_[switch_index]->digests();
    for (switching::Digest& digest : digests)
        control_events_.report({switching::ControlItem::Kind::Digest, now_, switch_index,
                                static_cast<std::int64_t>(digest.list.at()), false,
                                std::move(digest.fields)});
    digests.clear();
}

void Wire::forward(frames::FrameHandle frame, Index<Switch> switch_index, Port number) {
    if (number == switches_[switch_index]->cpu_port()) {
        control_events_.report({switching::ControlItem::Kind::PacketIn, now_, switch_index, 0, false,
                                std::string(frame->view())});
        return;
    }
    const Index<WirePort> index = ports_.find(switch_index, number);
    if (!index) return;
    WirePort& port = ports_[index];
    if (!port.up) {
        port.stats.refused_down += 1;
        return;
    }
    enqueue(port, std::move(frame));
}

// Yield to threads that wait for the mutex. Mutexes are not fair: without a pause, this thread would lock
// again before a waiting thread has woken up.
void Wire::let_others_in() const {
    const Nanoseconds end = clock_nanoseconds() + kMostPause;
    while (mutex_.contended() && !stopping_ && clock_nanoseconds() < end) std::this_thread::yield();
}

void Wire::end_burst() {
    flush_all();
    if (!settings.pcap_directory.empty())
        for (const auto& port : ports_) {
            if (port->in) port->in->flush();
            if (port->out) port->out->flush();
        }
    if (!control_.empty() || !messages_.empty()) signal_event(events_.number());
}

void Wire::packet_out(Index<Switch> switch_index, std::string_view bytes) {
    const std::lock_guard hold(mutex_);
    const Port cpu_port = switch_at(switch_index).cpu_port();
    if (cpu_port == kNoPort)
        return messages_.say(
            "warning", switch_at(switch_index).name() + ": a packet-out is dropped, as there is no CPU port");
    now_ = now();
    run_frame(pool_.acquire(bytes.data(), bytes.size()), switch_index, cpu_port);
    end_burst();
    if (!dirty_.empty()) signal_event(wake_.number());
}

void Wire::watch_ageing(Index<Switch> switch_index) {
    const std::lock_guard hold(mutex_);
    if (std::find(ageing_.begin(), ageing_.end(), switch_index) == ageing_.end())
        ageing_.push_back(switch_index);
    next_ageing_ = Time();
    signal_event(wake_.number());
}

// Report tables with aged entries, and schedule the next check, at least kAgeingPeriod later: entries are
// reported again until the control plane has read them.
void Wire::look_for_aged() {
    next_ageing_ = kNoAgeing;
    for (const Index<Switch> index : ageing_) {
        Switch& sw = switch_at(index);
        for (std::size_t t = 0; t < sw.table_count(); ++t)
            if (sw.table_due(t, now_))
                control_.push_back({switching::ControlItem::Kind::Idle,
                                    now_,
                                    index,
                                    static_cast<std::int64_t>(t),
                                    false,
                                    {}});
        const Time soonest = sw.next_ageing();
        if (soonest >= Time()) next_ageing_ = std::min(next_ageing_, std::max(soonest, now_ + kAgeingPeriod));
    }
}

void Wire::on_links() {
    for (const LinkChange& change : links_->read())
        for (const auto& port : ports_) {
            const bool same = port->ifindex == change.ifindex;
            if (same && change.removed) {
                set_up(*port, false);
                ports_.detach(*port);
            } else if (same || (port->ifindex < 0 && !change.removed && port->interface == change.name)) {
                try {
                    if (same && change.mtu != port->mtu) {
                        messages_.say("info",
                                      ports_.name_of(*port) + ": its MTU is " + std::to_string(change.mtu));
                        if (change.mtu > port->mtu) ports_.detach(*port);  // its ring has too small slots
                        port->mtu = change.mtu;
                        port->told_too_long = false;
                    }
                    if (port->ifindex < 0) ports_.attach(*port, change.ifindex, change.mtu);
                    set_up(*port, change.up);
                } catch (const std::system_error& error) {  // for example, the interface is gone again
                    messages_.say("warning", error.what());
                    ports_.detach(*port);
                    set_up(*port, false);
                }
            }
        }
}

void Wire::set_up(WirePort& port, bool up) {
    if (port.up == up) return;
    port.up = up;
    if (!up) port.drop_frames();
    control_.push_back(
        {switching::ControlItem::Kind::Port, now_, port.switch_index, port.number.value(), up, {}});
}

void Wire::set_rate(Index<Switch> switch_index, Port port, double bits_per_second) {
    if (!(bits_per_second > 0)) throw std::invalid_argument("the rate must be above 0 bit/s");
    ports_.at(switch_index, port).ns_per_byte = 8e9 / bits_per_second;
}

bool Wire::up(Index<Switch> switch_index, Port port) {
    const std::lock_guard hold(mutex_);
    return ports_.at(switch_index, port).up;
}

WireStats Wire::stats(Index<Switch> switch_index, Port at) {
    const std::lock_guard hold(mutex_);
    WirePort& port = ports_.at(switch_index, at);
    if (port.socket) port.stats.missed += port.socket->take_missed();
    return port.stats;
}

std::vector<Messages::Message> Wire::take_messages() {
    const std::lock_guard hold(mutex_);
    return messages_.take();
}

void Wire::too_long(WirePort& port, std::size_t bytes) {
    port.stats.too_long += 1;
    if (std::exchange(port.told_too_long, true)) return;
    messages_.say("warning",
                  ports_.name_of(port) + ": a frame of " + std::to_string(bytes) +
                      " bytes does not fit the MTU of " + std::to_string(port.mtu) +
                      " and is dropped, as all like it will be; raise the MTU, or turn off segmentation "
                      "offload where it"
                      " comes from (ethtool -K INTERFACE tso off gso off)");
}

void Wire::dump(const char* what, const WirePort& port, std::string_view frame) {
    messages_.dump(ports_.name_of(port) + ": " + what, frame, settings.dump_bytes);
}

}  // namespace railyard::wire
