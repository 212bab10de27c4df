// SPDX-License-Identifier: Apache-2.0
#include "wire/host_driver.h"

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <ctime>
#include <string>
#include <system_error>
#include <utility>

#include "index.h"
#include "wire/system.h"

namespace railyard::wire {

namespace {

constexpr std::size_t kReceivedAtOnce = 32;  // most frames received from a host's ring at a time
constexpr Nanoseconds kLeastRest = std::chrono::microseconds(50);  // a shorter rest costs more than it saves
constexpr int kMostEmpty = 64;  // polls in a row without an event, after which the driver blocks in epoll
constexpr std::uint64_t kWatched = std::uint64_t{1} << 63;  // marks events of watched descriptors
constexpr Nanoseconds kSecond = std::chrono::seconds(1);

// Return name and MTU of the interface to which a raw socket is bound.
std::pair<std::string, unsigned> interface_of(int fd) {
    sockaddr_ll at{};
    socklen_t size = sizeof at;
    require(getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) == 0, "the address of a raw socket");
    ifreq request{};
    request.ifr_ifindex = at.sll_ifindex;
    require(ioctl(fd, SIOCGIFNAME, &request) == 0, "the interface of a raw socket");
    std::string name = request.ifr_name;  // before ifr_mtu
    require(ioctl(fd, SIOCGIFMTU, &request) == 0, "the MTU of interface " + name);
    return {std::move(name), static_cast<unsigned>(request.ifr_mtu)};
}

// Return true for data frames: those on all VLs but 2 and 3. The VL is in the first two bytes of the LPH.
bool is_data(const frames::Frame& frame) {
    return frame.length > ETH_HLEN + 2 &&
           ((frame.data()[ETH_HLEN] & 1) != 0 || (frame.data()[ETH_HLEN + 1] & 0xC0) != 0x40);
}

// Call epoll_wait with a timeout.
int wait_events(int epoll, epoll_event* events, int most, Nanoseconds most_time) {
    const timespec timeout = to_timespec(most_time);
#ifdef SYS_epoll_pwait2
    static bool missing = false;  // before Linux 5.11
    if (!missing) {
        const auto count = syscall(SYS_epoll_pwait2, epoll, events, most, &timeout, nullptr, 0);
        if (count >= 0 || errno != ENOSYS) return static_cast<int>(count);
        missing = true;
    }
#endif
    pollfd set{epoll, POLLIN, 0};
    const int count = ppoll(&set, 1, &timeout, nullptr);
    return count > 0 ? epoll_wait(epoll, events, most, 0) : count;
}

// Sleep until a time; return false if a signal came first.
bool sleep_until(Nanoseconds time) {
    const timespec at = to_timespec(time);
    return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) != EINTR;
}

}  // namespace

Time DilatedClock::picoseconds(Nanoseconds now) const {
    const __int128 passed = (static_cast<__int128>(now.count()) - start.count()) * 1000;
    return Time(
        static_cast<std::int64_t>(passed >= 0 ? passed / dilation : -((-passed + dilation - 1) / dilation)));
}

Nanoseconds DilatedClock::nanoseconds(Time time) const {
    const __int128 product = static_cast<__int128>(time.value()) * dilation;
    const __int128 passed = product >= 0 ? (product + 999) / 1000 : -(-product / 1000);
    return Nanoseconds(
        static_cast<std::int64_t>(std::min<__int128>(start.count() + passed, kNoTime.count())));
}

HostDriver::HostDriver(double rate_bps, std::int64_t dilation, Time bin, Nanoseconds note)
    : ns_per_byte_(8e9 / rate_bps),
      bin_(bin),
      note_(note),
      clock_{kNoTime, dilation},
      epoll_(epoll_create1(EPOLL_CLOEXEC), "the epoll set of the hosts' sockets") {}

HostDriver::~HostDriver() {
    // Return the applications' frames to the pool before it is destroyed.
    for (const auto& host : hosts_) host->attachment.application->detach();
}

std::size_t HostDriver::add(Attachment attachment, int fd, std::int64_t* arrived, std::size_t ring_bytes) {
    auto [name, mtu] = interface_of(fd);
    hosts_.push_back(std::make_unique<Host>(std::move(attachment), fd, arrived, ns_per_byte_));
    // Open rings in parallel: for each, the kernel waits for an RCU grace period, which concurrent calls
    // share.
    opening_.push_back(
        std::async(std::launch::async, [ring = &hosts_.back()->ring, name = std::move(name), fd, mtu = mtu,
                                        ring_bytes] { ring->emplace(name, fd, mtu, ring_bytes); }));
    next_.push_back(kNoTime);
    const double longest = static_cast<double>(ETH_HLEN + mtu) * ns_per_byte_;
    most_rest_ = std::max(most_rest_, Nanoseconds(static_cast<std::int64_t>(longest)));
    ready_.resize(ready_.size() + 1);
    const std::size_t index = hosts_.size() - 1;
    epoll_event event{};
    event.data.u64 = index;
    require(epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, fd, &event) == 0, "epoll");
    return index;
}

void HostDriver::watch(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = kWatched | static_cast<std::uint64_t>(fd);
    require(epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, fd, &event) == 0, "epoll");
    ready_.resize(ready_.size() + 1);
    watched_.push_back({fd, POLLIN, 0});
}

void HostDriver::listen(std::size_t index, bool on) {
    epoll_event event{};
    event.events = on ? EPOLLIN : 0U;
    event.data.u64 = index;
    require(epoll_ctl(epoll_.number(), EPOLL_CTL_MOD, hosts_[index]->fd, &event) == 0, "epoll");
    hosts_[index]->listens = on;
}

void HostDriver::go(Nanoseconds start) {
    for (std::future<void>& ring : opening_) ring.get();
    opening_.clear();
    clock_.start = start;
    looked_ = clock_nanoseconds();
    for (std::size_t index = 0; index < hosts_.size(); ++index) {
        hosts_[index]->begins = next_[index] = start;
    }
}

void HostDriver::replace(std::size_t index, Attachment attachment, Nanoseconds start) {
    Host& host = *hosts_[index];
    host.pacer.clear(clock_nanoseconds());
    std::swap(host.attachment, attachment);
    attachment.application->detach();
    listen(index, false);
    host.begins = next_[index] = start;
    host.deadline = host.note_at = kNoTime;
    host.asked = true;
}

void HostDriver::reroute(std::size_t index, const hosts::Routes& routes) {
    Host& host = *hosts_[index];
    auto* const participant = dynamic_cast<hosts::Participant*>(host.attachment.application.get());
    if (participant == nullptr) return;
    at_ = index;
    consult(host, kNoTime, [&](hosts::Application&, Time now, hosts::Actions& actions) {
        participant->on_reroute(routes, now, actions);
    });
    next_[index] = {};
}

void HostDriver::act(std::size_t index, const std::function<void(hosts::Actions&)>& fill) {
    at_ = index;
    consult(*hosts_[index], kNoTime,
            [&](hosts::Application&, Time, hosts::Actions& actions) { fill(actions); });
    next_[index] = {};
}

void HostDriver::stop() {
    const Nanoseconds now = clock_nanoseconds();
    for (const auto& host : hosts_) host->pacer.stop(now);
}

// Call a host's application for an event, and queue the frames of its actions. `since`: earliest time at
// which the event may have happened.
template <typename Event>
void HostDriver::consult(Host& host, Nanoseconds since, const Event& event) {
    hosts::Actions actions(pool_, std::move(room_));
    host.consulted = true;
    event(*host.attachment.application, clock_.picoseconds(clock_nanoseconds()), actions);
    const Nanoseconds now = clock_nanoseconds();
    for (hosts::Actions::Departure& departure : actions.departures)
        host.pacer.add(std::move(departure.frame), departure.vl, now, std::min(since, now));
    host.deadline = actions.deadline ? clock_.nanoseconds(*actions.deadline) : kNoTime;
    if (note_ > Nanoseconds(0)) host.note_at = host.noted + note_;
    actions.departures.clear();
    room_ = std::move(actions.departures);
}

// Receive the frames of all hosts. Take them from the rings before any application runs, so that prefetching
// for several frames overlaps.
void HostDriver::receive() {
    for (const std::size_t index : arrived_) {
        Host& host = *hosts_[index];
        next_[index] = {};
        ++counts_.receives;
        ReceiveRing::Received received{};
        for (std::size_t i = 0; i < kReceivedAtOnce && host.ring->peek(received); ++i) {
            frames::FrameHandle frame = pool_.acquire(received.frame.data(), received.frame.size());
            host.ring->release();
            arrivals_.push_back({index, std::move(frame)});
        }
    }
    arrived_.clear();
    for (unsigned stage = 0; stage < hosts::Application::kStages; ++stage)
        for (const Arrival& arrival : arrivals_)
            hosts_[arrival.host]->attachment.application->prefetch(*arrival.frame, stage);
    for (Arrival& arrival : arrivals_) {
        at_ = arrival.host;
        receive(*hosts_[at_], std::move(arrival.frame));
    }
    counts_.received += arrivals_.size();
    arrivals_.clear();
}

void HostDriver::receive(Host& host, frames::FrameHandle frame) {
    const bool data = is_data(*frame);
    const Bytes length = frame->size();
    consult(host, since_, [&](hosts::Application& application, Time now, hosts::Actions& actions) {
        if (data) {
            if (host.bins.empty() || host.bins.back().first != now / bin_)
                host.bins.emplace_back(now / bin_, Bytes());
            host.bins.back().second += length;
            *host.arrived += length.value();
        }
        application.on_frame(std::move(frame), now, actions);
    });
}

// Return the time between two polls for frames, a power of two; 0: the driver does not rest.
Nanoseconds HostDriver::resting(Nanoseconds now) const {
    if (rest_share_ <= 0 || now <= clock_.start) return {};
    const Nanoseconds run = std::max(now - clock_.start, least_run_);
    const Nanoseconds share(static_cast<std::int64_t>(rest_share_ * static_cast<double>(run.count())));
    const Nanoseconds most = std::min(share, most_rest_);
    if (most < kLeastRest) return {};
    return Nanoseconds(std::bit_floor(static_cast<std::uint64_t>(most.count())));
}

// Poll for events with epoll, and wait for up to `nanoseconds`; return false if a signal came first.
bool HostDriver::wait_for_events(Nanoseconds nanoseconds) {
    ++counts_.waits;
    const int count =
        wait_events(epoll_.number(), ready_.data(), static_cast<int>(ready_.size()), nanoseconds);
    if (count < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "epoll");
    for (int i = 0; i < count; ++i) {
        const std::uint64_t token = ready_[static_cast<std::size_t>(i)].data.u64;
        if ((token & kWatched) != 0) readable_.push_back(static_cast<int>(token & ~kWatched));
        else arrived_.push_back(token);
    }
    return count >= 0;
}

// Poll for events without waiting; frames need no system call.
void HostDriver::look() {
    ++counts_.waits;
    for (pollfd& each : watched_) each.revents = 0;
    if (poll(watched_.data(), watched_.size(), 0) > 0)
        for (const pollfd& each : watched_)
            if (each.revents != 0) readable_.push_back(each.fd);
    for (const auto& host : hosts_) fetch(host->ring->next());
    for (std::size_t index = 0; index < hosts_.size(); ++index)
        if (hosts_[index]->listens && hosts_[index]->ring->filled()) arrived_.push_back(index);
}

bool HostDriver::wait() {
    Nanoseconds now = clock_nanoseconds();
    Nanoseconds until = now + kSecond;
    for (const Nanoseconds next : next_) until = std::min(until, next);
    const Nanoseconds rest = resting(now);
    for (int empty = 0; rest > Nanoseconds(0) && empty < kMostEmpty; ++empty) {
        // Wake at a multiple of the rest, to which the pacers of all hosts round their times, too.
        const Nanoseconds end = (looked_ / rest + 1) * rest;
        if (end > now && !sleep_until(end)) return false;
        since_ = looked_;
        looked_ = now = clock_nanoseconds();
        look();
        if (!arrived_.empty() || !readable_.empty() || until <= now) return true;
    }
    const bool quiet = wait_for_events(std::max(Nanoseconds(0), until - now));
    since_ = looked_ = clock_nanoseconds();
    return quiet;
}

HostDriver::Turn HostDriver::serve() {
    Turn turn;
    std::swap(turn.readable, readable_);
    receive();
    const Nanoseconds now = clock_nanoseconds();
    for (unsigned stage = 0; stage < Pacer::kStages; ++stage)
        for (std::size_t index = 0; index < hosts_.size(); ++index)
            if (next_[index] <= now) hosts_[index]->pacer.prefetch(stage);
    for (std::size_t index = 0; index < hosts_.size(); ++index)
        if (next_[index] <= now) serve(index, now, turn);
    return turn;
}

void HostDriver::serve(std::size_t index, Nanoseconds now, Turn& turn) {
    Host& host = *hosts_[index];
    at_ = index;
    if (now >= host.begins) {
        host.begins = kNoTime;
        listen(index, true);
        consult(host, now, [](hosts::Application& application, Time time, hosts::Actions& actions) {
            application.start(time, actions);
        });
    }
    if (now >= host.deadline) {
        ++counts_.timers;
        consult(host, now, [](hosts::Application& application, Time time, hosts::Actions& actions) {
            application.on_timer(time, actions);
        });
    }
    host.pacer.send(host.fd, clock_nanoseconds());
    if (std::exchange(host.consulted, false) && host.asked && host.begins == kNoTime &&
        host.attachment.ended()) {
        host.asked = false;
        turn.ended.push_back(index);
    }
    if (now >= host.note_at) {
        host.noted = now;
        host.note_at = kNoTime;
        turn.noted.push_back(index);
    }
    next_[index] = std::min({host.begins, host.deadline, host.note_at, host.pacer.wake(resting(now))});
}

}  // namespace railyard::wire
