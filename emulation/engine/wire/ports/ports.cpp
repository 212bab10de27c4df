// SPDX-License-Identifier: Apache-2.0
#include <net/if.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "wire/descriptor.h"
#include "wire/ports/ports.h"
#include "wire/system.h"

namespace railyard::wire {

namespace {

constexpr std::uint32_t kMostPort = 65535;
constexpr std::size_t kOpeners = 64;
constexpr std::size_t kRingBytes = 2 << 20;       // receive ring of a port
constexpr std::size_t kAllRingBytes = 256 << 20;  // most bytes of all rings, in unswappable kernel memory
constexpr std::size_t kLeastRingBytes = 256 << 10;

unsigned mtu_of(const std::string& interface) {
    const std::string what = "the MTU of interface " + interface;
    const Descriptor any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), what);
    ifreq request{};
    interface.copy(request.ifr_name, IFNAMSIZ - 1);
    require(ioctl(any.number(), SIOCGIFMTU, &request) == 0, what);
    return static_cast<unsigned>(request.ifr_mtu);
}

}  // namespace

void WirePorts::add(Index<Switch> switch_index, Port port, const std::string& interface) {
    const std::string what = "port " + to_string(port) + " (" + interface + ")";
    auto& ports = by_number_.at(switch_index);
    if (port.value() > kMostPort)
        throw std::invalid_argument(what + ": the number is above " + std::to_string(kMostPort));
    if (port == switches_.at(switch_index)->cpu_port())
        throw std::invalid_argument(what + " is the CPU port");
    if (find(switch_index, port)) throw std::invalid_argument(what + ": the port is taken");
    for (const auto& other : ports_)
        if (other->interface == interface)
            throw std::invalid_argument(what + ": the interface is a port already");
    if (if_nametoindex(interface.c_str()) == 0)
        throw std::invalid_argument(what + ": there is no such interface");
    if (port.value() >= ports.size()) ports.resize(port.value() + std::size_t{1});
    ports[port.value()] = ports_.next();
    auto added = std::make_unique<WirePort>();
    added->switch_index = switch_index;
    added->number = port;
    added->interface = interface;
    ports_.push_back(std::move(added));
}

void WirePorts::open(WirePort& port, int ifindex, unsigned mtu) {
    port.socket.emplace(name_of(port), ifindex, mtu, ring_bytes_, send_bytes_);
    port.ifindex = ifindex;
    port.mtu = mtu;
}

void WirePorts::attach(WirePort& port, int ifindex, unsigned mtu) {
    open(port, ifindex, mtu);
    watch(port, EPOLL_CTL_ADD);
}

void WirePorts::attach_all(int send_bytes) {
    ring_bytes_ =
        std::clamp(kAllRingBytes / std::max<std::size_t>(1, ports_.size()), kLeastRingBytes, kRingBytes);
    send_bytes_ = send_bytes;
    std::mutex once;
    std::exception_ptr failed;
    for_every_port([&](WirePort& port) {
        try {
            open(port, static_cast<int>(if_nametoindex(port.interface.c_str())), mtu_of(port.interface));
        } catch (...) {
            const std::lock_guard hold(once);
            if (!failed) failed = std::current_exception();
        }
    });
    if (failed) {
        close_all();
        std::rethrow_exception(failed);
    }
    for (const auto& port : ports_) watch(*port, EPOLL_CTL_ADD);
}

void WirePorts::close_all() {
    for_every_port([](WirePort& port) {
        if (port.socket) port.stats.missed += port.socket->take_missed();
        port.socket.reset();
    });
    for (const auto& port : ports_) detach(*port);
}

// Call act() for every port, in several threads: opening and closing a packet socket waits for an RCU grace
// period of some ten milliseconds, which concurrent calls share.
void WirePorts::for_every_port(const std::function<void(WirePort&)>& act) {
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
        for (std::size_t at = next++; at < ports_.size(); at = next++) act(*ports_[at]);
    };
    std::vector<std::thread> helpers;
    for (std::size_t i = 1; i < std::min(ports_.size(), kOpeners); ++i) helpers.emplace_back(work);
    work();
    for (auto& helper : helpers) helper.join();
}

void WirePorts::watch(const WirePort& port, int operation) {
    epoll_event event{};
    event.events = port.blocked ? EPOLLIN | EPOLLOUT : EPOLLIN;
    event.data.u64 = first_token_ + by_number_[port.switch_index][port.number.value()].at();
    require(epoll_ctl(epoll_, operation, port.socket->fd(), &event) == 0, "epoll");
}

void WirePorts::detach(WirePort& port) {
    if (port.socket) port.stats.missed += port.socket->take_missed();
    port.socket.reset();  // which removes it from epoll
    port.ifindex = -1;
    port.blocked = false;
    port.drop_frames();
}

void WirePorts::block(WirePort& port, bool blocked) {
    if (port.blocked == blocked) return;
    port.blocked = blocked;
    watch(port, EPOLL_CTL_MOD);
}

std::string WirePorts::name_of(const WirePort& port) const {
    return switches_[port.switch_index]->name() + ": port " + to_string(port.number) + " (" + port.interface +
           ")";
}

Index<WirePort> WirePorts::find(Index<Switch> switch_index, Port port) const {
    const auto& ports = by_number_.at(switch_index);
    return port.value() < ports.size() ? ports[port.value()] : Index<WirePort>();
}

WirePort& WirePorts::at(Index<Switch> switch_index, Port port) {
    const Index<WirePort> index = find(switch_index, port);
    if (!index) throw std::invalid_argument("there is no port " + to_string(port));
    return *ports_[index];
}

}  // namespace railyard::wire
