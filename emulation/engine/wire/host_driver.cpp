// SPDX-License-Identifier: Apache-2.0
#include "wire/host_driver.h"

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <ctime>
#include <system_error>
#include <utility>

namespace railyard {

namespace {

constexpr std::size_t kBatch = 32, kFew = 2;  // frames received at a time, and at first
constexpr std::int64_t kLeastRest = 50'000;   // nanoseconds; a shorter rest costs more than it saves
constexpr std::uint64_t kWatched = std::uint64_t{1} << 63;  // marks a descriptor; other events are of hosts
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::size_t kTag = 4;  // bytes of a VLAN tag, which an interface passes beyond its MTU

std::int64_t monotonic() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<std::int64_t>(t.tv_sec) * kSecond + t.tv_nsec;
}

void require(bool done, const char* what) {
    if (!done) throw std::system_error(errno, std::generic_category(), what);
}

// Bytes of the longest frame that the interface of a bound raw socket takes.
std::size_t longest_frame(int fd) {
    sockaddr_ll at{};
    socklen_t size = sizeof at;
    require(getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) == 0, "the address of a raw socket");
    ifreq request{};
    request.ifr_ifindex = at.sll_ifindex;
    require(ioctl(fd, SIOCGIFNAME, &request) == 0, "the interface of a raw socket");
    require(ioctl(fd, SIOCGIFMTU, &request) == 0, "the MTU of a raw socket's interface");
    return ETH_HLEN + kTag + static_cast<std::size_t>(request.ifr_mtu);
}

// Data travels on all VLs but 2 and 3, which the first two bytes behind the Ethernet header tell.
bool is_data(const Frame& frame) {
    return frame.length > ETH_HLEN + 2 &&
           ((frame.data()[ETH_HLEN] & 1) != 0 || (frame.data()[ETH_HLEN + 1] & 0xC0) != 0x40);
}

// Waits as epoll_wait does, for nanoseconds.
int wait_events(int epoll, epoll_event* events, int most, std::int64_t nanoseconds) {
    const timespec timeout{static_cast<time_t>(nanoseconds / kSecond),
                           static_cast<long>(nanoseconds % kSecond)};
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

// Sleep until a time. Returns false if a signal came first.
bool sleep_until(std::int64_t time) {
    const timespec at{static_cast<time_t>(time / kSecond), static_cast<long>(time % kSecond)};
    return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) != EINTR;
}

}  // namespace

Time DilatedClock::picoseconds(std::int64_t now) const {
    const __int128 passed = (static_cast<__int128>(now) - start) * 1000;
    return static_cast<Time>(passed >= 0 ? passed / dilation : -((-passed + dilation - 1) / dilation));
}

std::int64_t DilatedClock::nanoseconds(Time time) const {
    const __int128 product = static_cast<__int128>(time) * dilation;
    const __int128 passed = product >= 0 ? (product + 999) / 1000 : -(-product / 1000);
    return static_cast<std::int64_t>(std::min<__int128>(start + passed, kForever));
}

HostDriver::HostDriver(double rate_bps, std::int64_t dilation, Time bin, std::int64_t note)
    : ns_per_byte_(8e9 / rate_bps),
      bin_(bin),
      note_(note),
      clock_{kForever, dilation},
      arrivals_(kBatch),
      epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    require(epoll_ >= 0, "an event descriptor");
}

HostDriver::~HostDriver() {
    // The frames of stations and queues return to the pool first.
    for (const auto& host : hosts_) host->guest.station->leave();
    close(epoll_);
}

std::size_t HostDriver::add(Guest guest, int fd, std::int64_t* arrived) {
    const std::size_t most = longest_frame(fd);
    hosts_.push_back(std::make_unique<Host>(std::move(guest), fd, arrived, most, ns_per_byte_));
    next_.push_back(kForever);
    most_rest_ =
        std::max(most_rest_, static_cast<std::int64_t>(static_cast<double>(most) * ns_per_byte_ / 2));
    ready_.resize(ready_.size() + 1);
    const std::size_t index = hosts_.size() - 1;
    epoll_event event{};
    event.data.u64 = index;
    require(epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0, "epoll");
    return index;
}

void HostDriver::watch(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = kWatched | static_cast<std::uint64_t>(fd);
    require(epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0, "epoll");
    ready_.resize(ready_.size() + 1);
}

void HostDriver::listen(std::size_t index, bool on) {
    epoll_event event{};
    event.events = on ? EPOLLIN : 0U;
    event.data.u64 = index;
    require(epoll_ctl(epoll_, EPOLL_CTL_MOD, hosts_[index]->fd, &event) == 0, "epoll");
}

void HostDriver::go(std::int64_t start) {
    clock_.start = start;
    looked_ = monotonic();
    for (std::size_t index = 0; index < hosts_.size(); ++index) {
        hosts_[index]->begins = next_[index] = start;
    }
}

void HostDriver::replace(std::size_t index, Guest guest, std::int64_t start) {
    Host& host = *hosts_[index];
    host.pacer.clear(monotonic());
    std::swap(host.guest, guest);
    guest.station->leave();
    listen(index, false);
    host.begins = next_[index] = start;
    host.deadline = host.note_at = kForever;
    host.asked = true;
}

void HostDriver::reroute(std::size_t index, const Routes& routes) {
    Host& host = *hosts_[index];
    auto* const participant = dynamic_cast<Participant*>(host.guest.station.get());
    if (participant == nullptr) return;
    at_ = index;
    consult(host, kForever,
            [&](Station&, Time now, Answer& answer) { participant->on_reroute(routes, now, answer); });
    next_[index] = 0;
}

void HostDriver::stop() {
    const std::int64_t now = monotonic();
    for (const auto& host : hosts_) host->pacer.stop(now);
}

// Let a host answer an event that may have waited for the driver since a time, and queue the frames of its
// answer.
template <typename Event>
void HostDriver::consult(Host& host, std::int64_t since, const Event& event) {
    Answer answer(pool_, std::move(room_));
    event(*host.guest.station, clock_.picoseconds(monotonic()), answer);
    const std::int64_t now = monotonic();
    for (Answer::Departure& departure : answer.departures)
        host.pacer.add(std::move(departure.frame), departure.vl, now, std::min(since, now));
    host.deadline = answer.deadline ? clock_.nanoseconds(*answer.deadline) : kForever;
    if (note_ > 0) host.note_at = host.noted + note_;
    answer.departures.clear();
    room_ = std::move(answer.departures);
}

void HostDriver::receive(Host& host) {
    if (receive(host, kFew)) receive(host, kBatch);
}

// Returns true if there may be more frames.
bool HostDriver::receive(Host& host, std::size_t most) {
    mmsghdr messages[kBatch];
    iovec pieces[kBatch];
    for (std::size_t i = 0; i < most; ++i) {
        // A host may have kept the frame, and interfaces differ in their MTU.
        FrameHandle& frame = arrivals_[i];
        if (!frame || frame->length < host.most) frame = pool_.acquire(host.most);
        pieces[i] = {frame->data(), host.most};
        messages[i] = {};
        messages[i].msg_hdr.msg_iov = &pieces[i];
        messages[i].msg_hdr.msg_iovlen = 1;
    }
    ++counts_.receives;
    const int count = recvmmsg(host.fd, messages, static_cast<unsigned>(most), MSG_DONTWAIT, nullptr);
    if (count < 0) {
        if (errno == EAGAIN || errno == EINTR) return false;
        throw std::system_error(errno, std::generic_category(), "receiving a frame");
    }
    counts_.received += static_cast<std::uint64_t>(count);
    for (int i = 0; i < count; ++i) {
        FrameHandle frame = std::move(arrivals_[static_cast<std::size_t>(i)]);
        frame->truncate(messages[i].msg_len);
        const bool data = is_data(*frame);
        const std::uint32_t length = frame->length;
        consult(host, since_, [&](Station& station, Time now, Answer& answer) {
            if (data) {
                if (host.bins.empty() || host.bins.back().first != now / bin_)
                    host.bins.emplace_back(now / bin_, 0);
                host.bins.back().second += length;
                *host.arrived += length;
            }
            station.on_frame(std::move(frame), now, answer);
        });
    }
    return static_cast<std::size_t>(count) == most;
}

// Time between two looks for arrived frames, a power of two; 0: the driver does not rest.
std::int64_t HostDriver::resting(std::int64_t now) const {
    if (rest_share_ <= 0 || now <= clock_.start) return 0;
    const auto share = static_cast<std::int64_t>(rest_share_ * static_cast<double>(now - clock_.start));
    const std::int64_t most = std::min(share, most_rest_);
    return most < kLeastRest ? 0
                             : static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(most)));
}

// Look for events, and wait for them for some time. Returns false if a signal came first.
bool HostDriver::look(std::int64_t nanoseconds) {
    ++counts_.waits;
    count_ = wait_events(epoll_, ready_.data(), static_cast<int>(ready_.size()), nanoseconds);
    if (count_ >= 0) return true;
    const int error = errno;
    count_ = 0;
    if (error != EINTR) throw std::system_error(error, std::generic_category(), "epoll");
    return false;
}

bool HostDriver::wait() {
    std::int64_t now = monotonic();
    std::int64_t until = now + kSecond;
    for (const std::int64_t next : next_) until = std::min(until, next);
    if (const std::int64_t rest = resting(now); rest > 0) {
        // A multiple of the rest, to which the pacers of all hosts round as well.
        const std::int64_t end = (looked_ / rest + 1) * rest;
        if (end > now && !sleep_until(end)) return false;
        since_ = looked_;
        looked_ = now = monotonic();
        const bool quiet = look(0);
        if (!quiet || count_ > 0 || until <= now) return quiet;
    }
    const bool quiet = look(std::max<std::int64_t>(0, until - now));
    since_ = looked_ = monotonic();
    return quiet;
}

HostDriver::Turn HostDriver::serve() {
    Turn turn;
    for (int i = 0; i < count_; ++i) {
        const std::uint64_t token = ready_[static_cast<std::size_t>(i)].data.u64;
        if ((token & kWatched) != 0) {
            turn.readable.push_back(static_cast<int>(token & ~kWatched));
        } else {
            at_ = token;
            receive(*hosts_[at_]);
            next_[at_] = 0;
        }
    }
    count_ = 0;
    const std::int64_t now = monotonic();
    for (std::size_t index = 0; index < hosts_.size(); ++index)
        if (next_[index] <= now) serve(index, now, turn);
    return turn;
}

void HostDriver::serve(std::size_t index, std::int64_t now, Turn& turn) {
    Host& host = *hosts_[index];
    at_ = index;
    if (now >= host.begins) {
        host.begins = kForever;
        listen(index, true);
        consult(host, now, [](Station& station, Time time, Answer& answer) { station.start(time, answer); });
    }
    if (now >= host.deadline) {
        ++counts_.timers;
        consult(host, now,
                [](Station& station, Time time, Answer& answer) { station.on_timer(time, answer); });
    }
    host.pacer.send(host.fd, monotonic());
    if (host.asked && host.begins == kForever && host.guest.ended()) {
        host.asked = false;
        turn.ended.push_back(index);
    }
    if (now >= host.note_at) {
        host.noted = now;
        host.note_at = kForever;
        turn.noted.push_back(index);
    }
    next_[index] = std::min({host.begins, host.deadline, host.note_at, host.pacer.wake(resting(now))});
}

}  // namespace railyard
