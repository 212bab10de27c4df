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

namespace railyard {

namespace {

constexpr std::size_t kBatch = 64;                // frames received or sent in a row from one port
constexpr std::size_t kRingBytes = 2 << 20;       // receive ring of a port
constexpr std::size_t kAllRingBytes = 256 << 20;  // limit of all rings, in unswappable kernel memory
constexpr std::size_t kLeastRingBytes = 256 << 10;
constexpr std::size_t kMostControl = 10'000;  // pending notifications; more are dropped
constexpr std::size_t kMostEgress =
    1024;  // egress passes of queued frames in a row, before the control plane has its turn
constexpr std::int64_t kMostPause = 2'000'000;    // nanoseconds
constexpr std::int64_t kMostFlush = 5'000'000;    // nanoseconds of egress passes while another thread waits
constexpr std::int64_t kMostFrame = 500'000'000;  // nanoseconds of processor time for a frame
constexpr unsigned kTimedCheckpoints = 16;        // the clock is read at each of so many checkpoints
constexpr Time kAgeingPeriod = 100'000'000'000;   // 100 ms
constexpr Time kNever = std::numeric_limits<Time>::max();

std::int64_t clock_nanoseconds(clockid_t clock = CLOCK_MONOTONIC) {
    timespec t{};
    clock_gettime(clock, &t);
    return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

void require(bool done, const std::string& what) {
    if (!done) throw std::system_error(errno, std::generic_category(), what);
}

void signal_event(int fd) {
    const std::uint64_t increment = 1;
    [[maybe_unused]] const ssize_t written =
        write(fd, &increment, sizeof increment);  // a full counter is already signalled
}

void clear_event(int fd) {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = read(fd, &count, sizeof count);
}

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

Index<Switch> Wire::add_switch(const std::string& name, std::uint32_t cpu_port) {
    port_of_.emplace_back();
    const Index<Switch> index = SwitchSet::add_switch(name, cpu_port);
    if (log_programs_)
        switch_at(index).on_log = [this, name](const std::string& text) { say("info", name + ": " + text); };
    switch_at(index).on_checkpoint = [this] { checkpoint(); };
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
    control_.clear();  // at the start, only ports that are down are reported
    for (const auto& port : ports_)
        if (!port->up)
            control_.push_back({ControlItem::Kind::Port, now_, port->switch_index, port->number, false, {}});
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
            if (token >= kFirstPortToken) on_port(Index<Port>(token - kFirstPortToken), ready[i].events);
            else if (token == kLinksToken) on_links();
            else if (token == kSlotsToken) on_slots();
            else clear_event(wake_);
        }
        if (now_ >= next_ageing_) look_for_aged();
        end_burst();
        constexpr Time kMillisecond = 1'000'000'000;
        if (!dirty_.empty()) timeout = 0;  // more to send, after the control plane has had its turn
        else
            timeout =
                next_ageing_ == kNever
                    ? -1
                    : static_cast<int>(std::clamp<Time>((next_ageing_ - now_) / kMillisecond + 1, 1, 60'000));
    }
}

void Wire::on_port(Index<Port> index, std::uint32_t events) {
    Port& port = *ports_[index];
    if (!port.socket.is_open()) return;
    if ((events & EPOLLERR) != 0)
        port.socket.take_error();  // the interface went down; netlink tells the rest
    if ((events & EPOLLOUT) != 0) {
        block(port, false);
        if (!port.dirty) dirty_.push_back(&port);
        port.dirty = true;
    }
    if ((events & EPOLLIN) != 0) receive(port);
}

void Wire::receive(Port& port) {
    PacketSocket::Received received{};
    for (std::size_t i = 0; i < kBatch && (i == 0 || !others_wait()) && port.socket.peek(received); ++i) {
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

void Wire::run_frame(FrameHandle frame, Index<Switch> switch_index, std::uint32_t port) {
    Switch& sw = *switches_[switch_index];
    const bool queued = sw.reads_queue();
    out_.clear();
    checkpoints_ = 0;
    try {
        if (queued) sw.ingress(std::move(frame), port, now_, out_);
        else sw.process(std::move(frame), port, now_, out_);
    } catch (const std::exception& error) {  // the switch goes on
        const Index<Port> index = find_port(switch_index, port);
        fail(sw, index ? ports_[index].get() : nullptr, error);
    }
    for (Output& o : out_) forward(std::move(o.frame), switch_index, o.port);
    out_.clear();
    if (!sw.digests().empty()) collect(switch_index);
    if (queued) flush_all();  // the rest of the burst does not count as queued
}

// A frame whose copies and rounds are within its budget may still take seconds, by slow tables or wide
// hashes.
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
        if (control_.size() < kMostControl)
            control_.push_back({ControlItem::Kind::Digest, now_, switch_index,
                                static_cast<std::int64_t>(digest.list.at()), false,
                                std::move(digest.fields)});
    digests.clear();
}

void Wire::forward(FrameHandle frame, Index<Switch> switch_index, std::uint32_t number) {
    if (number == switches_[switch_index]->cpu_port()) {
        if (control_.size() < kMostControl)
            control_.push_back(
                {ControlItem::Kind::PacketIn, now_, switch_index, 0, false, std::string(frame->view())});
        return;
    }
    const Index<Port> index = find_port(switch_index, number);
    if (!index) return;
    Port& port = *ports_[index];
    if (!port.up) {
        port.stats.refused_down += 1;
        return;
    }
    enqueue(port, std::move(frame));
}

void Wire::enqueue(Port& port, FrameHandle frame) {
    if (frame->vl >= queues_) {
        port.stats.refused_odd += 1;
        return;
    }
    auto& queue = port.queues[frame->vl];
    if (queue.size() >= queue_frames_ && !flushing_) flush_all();
    if (queue.size() >= queue_frames_) {
        port.stats.refused_full += 1;
        return;
    }
    if (frame->pending) {
        frame->phv->enqueued = now_;
        frame->phv->enqueue_depth = static_cast<std::uint32_t>(queue.size());
    }
    if (port.ns_per_byte > 0 && port.idle()) port.slot_at = std::max(port.slot_at, zero_ + now_ / 1000);
    queue.push_back(std::move(frame));
    if (!port.dirty) dirty_.push_back(&port);
    port.dirty = true;
}

// Make up to `most` frames ready, highest priority first. A pending frame is sent alone, so that the queue
// metadata that its program reads are exact.
void Wire::dequeue(Port& port, std::size_t most) {
    for (std::size_t q = kQueues; q-- > 0;) {
        auto& queue = port.queues[q];
        while (!queue.empty() && port.ready.size() < most) {
            if (queue.front()->pending && (!port.ready.empty() || egress_left_ == 0)) return;
            FrameHandle frame = queue.pop_front();
            if (frame->pending) {
                --egress_left_;
                egress(port, std::move(frame), static_cast<std::uint32_t>(queue.size()));
            } else port.ready.push_back(std::move(frame));
        }
    }
}

void Wire::egress(Port& port, FrameHandle frame, std::uint32_t depth) {
    Switch& sw = *switches_[port.switch_index];
    egress_out_.clear();
    checkpoints_ = 0;
    try {
        const QueueRecord record{frame->phv->enqueued, now_, frame->phv->enqueue_depth, depth};
        sw.egress(std::move(frame), port.number, record, now_, egress_out_);
    } catch (const std::exception& error) {
        fail(sw, &port, error);
    }
    for (Output& o : egress_out_) {
        if (o.port == port.number && !o.frame->pending) port.ready.push_back(std::move(o.frame));
        else forward(std::move(o.frame), port.switch_index, o.port);
    }
    egress_out_.clear();
    if (!sw.digests().empty()) collect(port.switch_index);
    if (others_wait() && clock_nanoseconds() - flush_began_ > kMostFlush) egress_left_ = 0;
}

// Send queued frames, until all are sent, kMostEgress egress passes have run, or another thread has waited.
void Wire::flush_all() {
    flushing_ = true;
    egress_left_ = kMostEgress;
    flush_began_ = clock_nanoseconds();
    while (!dirty_.empty() && egress_left_ > 0) {
        Port& port = *dirty_.back();
        dirty_.pop_back();
        port.dirty = false;
        flush(port);
        if (egress_left_ == 0 && !port.dirty) {
            port.dirty = true;
            dirty_.push_back(&port);
        }
    }
    flushing_ = false;
}

// Mutexes are not fair: without a pause this thread would lock again before a waiting thread has woken up.
void Wire::let_others_in() const {
    const std::int64_t end = clock_nanoseconds() + kMostPause;
    while (mutex_.contended() && !stopping_ && clock_nanoseconds() < end) std::this_thread::yield();
}

void Wire::flush(Port& port) {
    mmsghdr messages[kBatch];
    iovec pieces[kBatch];
    const bool paced = port.ns_per_byte > 0;
    const std::size_t most = paced ? 1 : kBatch;
    while (!port.blocked) {
        if (paced && must_wait(port)) return;
        if (port.ready.empty()) dequeue(port, most);
        const std::size_t count = std::min(port.ready.size(), most);
        if (count == 0) return;
        for (std::size_t i = 0; i < count; ++i) {
            Frame* const frame = port.ready[i].get();
            pieces[i] = {frame->data(), frame->length};
            messages[i] = {};
            messages[i].msg_hdr.msg_iov = &pieces[i];
            messages[i].msg_hdr.msg_iovlen = 1;
        }
        const int done = sendmmsg(port.socket.fd(), messages, static_cast<unsigned>(count), MSG_DONTWAIT);
        if (done > 0) {
            sent(port, static_cast<std::size_t>(done));
            continue;
        }
        if (errno == EINTR) continue;
        if (errno == EAGAIN) return block(port, true);
        // The error concerns the first frame.
        const FrameHandle frame = port.ready.pop_front();
        if (errno == EMSGSIZE) too_long(port, frame->length);
        else if (errno == ENOBUFS) port.stats.refused_full += 1;
        else if (errno == ENETDOWN || errno == ENXIO) port.stats.refused_down += 1;
        else port.stats.refused_odd += 1;
    }
}

void Wire::sent(Port& port, std::size_t count) {
    port.stats.sent += count;
    for (std::size_t i = 0; i < count; ++i) {
        const FrameHandle frame = port.ready.pop_front();
        port.stats.sent_bytes += frame->length;
        // A late frame does not delay the next slot.
        port.slot_at += static_cast<std::int64_t>(static_cast<double>(frame->length) * port.ns_per_byte);
        if (port.out) port.out->write(frame->view());
        if (dump_bytes_ > 0) dump_frame("out", port, frame->view());
    }
}

bool Wire::must_wait(Port& port) {
    if (port.idle()) return true;
    if (port.slot_at <= clock_nanoseconds()) return false;
    if (!std::exchange(port.waits, true)) waiting_.push_back(&port);
    set_timer();
    return true;
}

void Wire::on_slots() {
    clear_event(slots_);
    const std::int64_t now = clock_nanoseconds();
    for (Port* const port : waiting_) {
        if (port->slot_at > now) continue;
        port->waits = false;
        if (!std::exchange(port->dirty, true)) dirty_.push_back(port);
    }
    std::erase_if(waiting_, [](const Port* port) { return !port->waits; });
    set_timer();
}

void Wire::set_timer() {
    if (waiting_.empty()) return;
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    for (const Port* const port : waiting_) first = std::min(first, port->slot_at);
    itimerspec at{};
    at.it_value = {first / 1'000'000'000, first % 1'000'000'000};
    require(timerfd_settime(slots_, TFD_TIMER_ABSTIME, &at, nullptr) == 0, "a timer");
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
    const std::uint32_t cpu_port = switch_at(switch_index).cpu_port();
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

// Report tables with aged entries, and schedule the next check. Entries stay due until the control plane has
// read them: reports have a minimum period.
void Wire::look_for_aged() {
    next_ageing_ = kNever;
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
