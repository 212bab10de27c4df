// SPDX-License-Identifier: Apache-2.0
#include "wire/wire.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <limits>
#include <stdexcept>
#include <system_error>

#include "wire/system.h"

namespace railyard {

namespace {

constexpr std::size_t kReceiveBatch = 64;         // frames received in a row from one port
constexpr std::size_t kRingBytes = 2 << 20;       // receive ring of a port
constexpr std::size_t kAllRingBytes = 256 << 20;  // most bytes of all rings, in unswappable kernel memory
constexpr std::size_t kLeastRingBytes = 256 << 10;
constexpr std::size_t kMostControl = 10'000;  // most waiting events for the control plane; more are lost
constexpr std::size_t kMostControlBytes = 16 << 20;
constexpr std::int64_t kMostPause = 2'000'000;    // nanoseconds
constexpr std::int64_t kMostFrame = 500'000'000;  // most nanoseconds of processor time for a frame
constexpr unsigned kTimedCheckpoints = 16;       // the clock is read at every kTimedCheckpoints-th checkpoint
constexpr Time kAgeingPeriod = 100'000'000'000;  // 100 ms
constexpr Time kNoAgeing = std::numeric_limits<Time>::max();

}  // namespace

Wire::Wire()
    : zero_(clock_nanoseconds()),
      events_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      slots_(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {
    require(events_ >= 0 && wake_ >= 0 && epoll_ >= 0 && slots_ >= 0, "an event descriptor");
}

Wire::~Wire() {
    stop();
    for (const int fd : {events_, wake_, epoll_, slots_}) close(fd);
}

Time Wire::now() const { return (clock_nanoseconds() - zero_) * 1000; }

Index<Switch> Wire::add_switch(const std::string& name, Port cpu_port) {
    port_of_.emplace_back();
    lost_.emplace_back();
    const Index<Switch> index = SwitchSet::add_switch(name, cpu_port);
    if (log_programs_)
        switch_at(index).set_log([this, name](const std::string& text) { say("info", name + ": " + text); });
    switch_at(index).set_checkpoint([this] { checkpoint(); });
    return index;
}

void Wire::start() {
    if (thread_.joinable()) throw std::logic_error("the wire runs already");
    const std::size_t share = kAllRingBytes / std::max<std::size_t>(1, ports_.size());
    ring_bytes_ = std::clamp(share, kLeastRingBytes, kRingBytes);
    for (const auto& port : ports_) {
        if (!pcap_directory_.empty()) {
            port->in = std::make_unique<PcapFile>(pcap_directory_ + "/" + port->interface + "_in.pcap");
            port->out = std::make_unique<PcapFile>(pcap_directory_ + "/" + port->interface + "_out.pcap");
        }
    }
    attach_all();
    links_.open();
    on_links();
    control_.clear();  // at the start, report only ports that are down
    control_bytes_ = 0;
    for (const auto& port : ports_)
        if (!port->up)
            control_.push_back(
                {ControlItem::Kind::Port, now_, port->switch_index, port->number.value(), false, {}});
    if (!control_.empty()) signal_event(events_);
    for (const auto& [fd, token] : {std::pair(wake_, kWakeToken), std::pair(links_.fd(), kLinksToken),
                                    std::pair(slots_, kSlotsToken)}) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = token;
        require(epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0, "epoll");
    }
    stopping_ = false;
    thread_ = std::thread([this] { run(); });
    pthread_setname_np(thread_.native_handle(), "frames");
}

void Wire::stop() {
    if (!thread_.joinable()) return;
    stopping_ = true;
    signal_event(wake_);
    thread_.join();
    close_all();
    for (const auto& port : ports_) {
        port->in.reset();
        port->out.reset();
    }
}

void Wire::run() {
    epoll_event ready[64];
    int timeout = -1;
    while (!stopping_) {
        const int count = epoll_wait(epoll_, ready, static_cast<int>(std::size(ready)), timeout);
        let_others_in();
        const std::lock_guard hold(mutex_);
        now_ = now();
        for (int i = 0; i < count; ++i) {
            const std::uint64_t token = ready[i].data.u64;
            if (token >= kFirstPortToken) on_port(Index<WirePort>(token - kFirstPortToken), ready[i].events);
            else if (token == kLinksToken) on_links();
            else if (token == kSlotsToken) on_slots();
            else clear_event(wake_);
        }
        if (now_ >= next_ageing_) look_for_aged();
        end_burst();
        constexpr Time kMillisecond = 1'000'000'000;
        if (!dirty_.empty()) timeout = 0;  // send the rest after the control plane's turn
        else
            timeout =
                next_ageing_ == kNoAgeing
                    ? -1
                    : static_cast<int>(std::clamp<Time>((next_ageing_ - now_) / kMillisecond + 1, 1, 60'000));
    }
}

void Wire::on_port(Index<WirePort> index, std::uint32_t events) {
    WirePort& port = *ports_[index];
    if (!port.socket.is_open()) return;
    if ((events & EPOLLERR) != 0)
        port.socket.take_error();  // clear it: the interface went down, which netlink reports as well
    if ((events & EPOLLOUT) != 0) {
        block(port, false);
        if (!port.dirty) dirty_.push_back(&port);
        port.dirty = true;
    }
    if ((events & EPOLLIN) != 0) receive(port);
}

void Wire::receive(WirePort& port) {
    ReceiveRing::Received received{};
    for (std::size_t i = 0; i < kReceiveBatch && (i == 0 || !others_wait()) && port.socket.peek(received);
         ++i) {
        if (received.length > received.frame.size()) {
            too_long(port, received.length);
            port.socket.release();
            continue;
        }
        port.stats.received += 1;
        port.stats.received_bytes += received.length;
        if (port.in) port.in->write(received.frame);
        if (dump_bytes_ > 0) dump_frame("in", port, received.frame);
        FrameHandle frame = pool_.acquire(received.frame.data(), received.frame.size());
        port.socket.release();
        run_frame(std::move(frame), port.switch_index, port.number);
    }
}

void Wire::run_frame(FrameHandle frame, Index<Switch> switch_index, Port port) {
    Switch& sw = *switches_[switch_index];
    const bool queued = sw.reads_queue();
    out_.clear();
    checkpoints_ = 0;
    try {
        if (queued) sw.ingress(std::move(frame), port, now_, out_);
        else sw.process(std::move(frame), port, now_, out_);
    } catch (const std::exception& error) {  // the switch continues with the next frame
        const Index<WirePort> index = find_port(switch_index, port);
        fail(sw, index ? ports_[index].get() : nullptr, error);
    }
    for (Output& o : out_) forward(std::move(o.frame), switch_index, o.port);
    out_.clear();
    if (!sw.digests().empty()) collect(switch_index);
    if (queued) flush_all();  // otherwise later frames of the burst would find this frame in the queue
}

// Stop a frame that takes too long: within its budget of copies and rounds, it may still take seconds because
// of slow tables or wide hashes.
void Wire::checkpoint() {
    if (stopping_) throw std::runtime_error("a frame was at work when the switch stopped");
    if (checkpoints_++ % kTimedCheckpoints != 0) return;
    const std::int64_t used = clock_nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    if (checkpoints_ == 1) frame_began_ = used;
    else if (used - frame_began_ > kMostFrame)
        throw std::runtime_error("a frame took more than 0.5 s of processor time, its copies included");
}

void Wire::collect(Index<Switch> switch_index) {
    std::vector<Digest>& digests = switches_[switch_index]->digests();
    for (Digest& digest : digests)
        report({ControlItem::Kind::Digest, now_, switch_index, static_cast<std::int64_t>(digest.list.at()),
                false, std::move(digest.fields)});
    digests.clear();
}

// Queue an event for the control plane, unless the queue is full: frames may cause events faster than the
// control plane takes them.
void Wire::report(ControlItem item) {
    const std::size_t bytes = item.frame.size();
    if (control_.size() < kMostControl && control_bytes_ + bytes <= kMostControlBytes) {
        control_bytes_ += bytes;
        control_.push_back(std::move(item));
        return;
    }
    LostEvents& lost = lost_[item.switch_index];
    if (lost.packet_ins + lost.digests == 0)
        say("warning", switch_at(item.switch_index).name() +
                           ": the queue of events is full; packet-ins and digests are lost");
    any_lost_ = true;
    ++(item.kind == ControlItem::Kind::Digest ? lost.digests : lost.packet_ins);
}

void Wire::taken(const ControlItem& item) {
    if (item.kind == ControlItem::Kind::Digest || item.kind == ControlItem::Kind::PacketIn)
        control_bytes_ -= item.frame.size();
    if (!control_.empty() || !any_lost_) return;
    any_lost_ = false;
    for (const auto& sw : switches_) {
        LostEvents& lost = lost_[static_cast<std::size_t>(&sw - switches_.data())];
        if (lost.packet_ins + lost.digests > 0)
            say("warning", sw->name() + ": the queue of events has lost " + std::to_string(lost.packet_ins) +
                               " packet-ins and " + std::to_string(lost.digests) + " digests");
        lost = {};
    }
}

void Wire::forward(FrameHandle frame, Index<Switch> switch_index, Port number) {
    if (number == switches_[switch_index]->cpu_port()) {
        report({ControlItem::Kind::PacketIn, now_, switch_index, 0, false, std::string(frame->view())});
        return;
    }
    const Index<WirePort> index = find_port(switch_index, number);
    if (!index) return;
    WirePort& port = *ports_[index];
    if (!port.up) {
        port.stats.refused_down += 1;
        return;
    }
    enqueue(port, std::move(frame));
}

// Yield to threads that wait for the mutex. Mutexes are not fair: without a pause, this thread would lock
// again before a waiting thread has woken up.
void Wire::let_others_in() const {
    const std::int64_t end = clock_nanoseconds() + kMostPause;
    while (mutex_.contended() && !stopping_ && clock_nanoseconds() < end) std::this_thread::yield();
}

void Wire::end_burst() {
    flush_all();
    if (!pcap_directory_.empty())
        for (const auto& port : ports_) {
            if (port->in) port->in->flush();
            if (port->out) port->out->flush();
        }
    if (!control_.empty() || !messages_.empty()) signal_event(events_);
}

void Wire::packet_out(Index<Switch> switch_index, std::string_view bytes) {
    const std::lock_guard hold(mutex_);
    const Port cpu_port = switch_at(switch_index).cpu_port();
    if (cpu_port == kNoPort)
        return say("warning",
                   switch_at(switch_index).name() + ": a packet-out is dropped, as there is no CPU port");
    now_ = now();
    run_frame(pool_.acquire(bytes.data(), bytes.size()), switch_index, cpu_port);
    end_burst();
    if (!dirty_.empty()) signal_event(wake_);
}

void Wire::watch_ageing(Index<Switch> switch_index) {
    const std::lock_guard hold(mutex_);
    if (std::find(ageing_.begin(), ageing_.end(), switch_index) == ageing_.end())
        ageing_.push_back(switch_index);
    next_ageing_ = 0;
    signal_event(wake_);
}

// Report tables with aged entries, and schedule the next check, at least kAgeingPeriod later: entries are
// reported again until the control plane has read them.
void Wire::look_for_aged() {
    next_ageing_ = kNoAgeing;
    for (const Index<Switch> index : ageing_) {
        Switch& sw = switch_at(index);
        for (std::size_t t = 0; t < sw.table_count(); ++t)
            if (sw.table_due(t, now_))
                control_.push_back(
                    {ControlItem::Kind::Idle, now_, index, static_cast<std::int64_t>(t), false, {}});
        const Time soonest = sw.next_ageing();
        if (soonest >= 0) next_ageing_ = std::min(next_ageing_, std::max(soonest, now_ + kAgeingPeriod));
    }
}

}  // namespace railyard
