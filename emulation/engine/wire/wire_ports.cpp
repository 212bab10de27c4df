// SPDX-License-Identifier: Apache-2.0
// Ports of Wire: binding to interfaces, state, statistics, messages.
#include <net/if.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <system_error>

#include "wire/wire.h"

namespace railyard {

namespace {

constexpr std::uint32_t kMostPort = 65535;
constexpr std::size_t kOpeners = 64;
constexpr std::size_t kMostMessages = 10'000;     // most unread messages; more are dropped
constexpr Time kFailurePeriod = 100'000'000'000;  // least time between log lines about failed frames

unsigned mtu_of(const std::string& interface) {
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ifreq request{};
    interface.copy(request.ifr_name, IFNAMSIZ - 1);
    const int result = fd < 0 ? -1 : ioctl(fd, SIOCGIFMTU, &request);
    const int error = errno;
    if (fd >= 0) close(fd);
    if (result != 0)
        throw std::system_error(error, std::generic_category(), "the MTU of interface " + interface);
    return static_cast<unsigned>(request.ifr_mtu);
}

}  // namespace

void Wire::add_port(Index<Switch> switch_index, Port port, const std::string& interface) {
    const std::string what = "port " + to_string(port) + " (" + interface + ")";
    auto& ports = port_of_.at(switch_index);
    if (port.value() > kMostPort)
        throw std::invalid_argument(what + ": the number is above " + std::to_string(kMostPort));
    if (port == switch_at(switch_index).cpu_port()) throw std::invalid_argument(what + " is the CPU port");
    if (find_port(switch_index, port)) throw std::invalid_argument(what + ": the port is taken");
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

void Wire::set_rate(Index<Switch> switch_index, Port port, double bits_per_second) {
    if (!(bits_per_second > 0)) throw std::invalid_argument("the rate must be above 0 bit/s");
    port_at(switch_index, port).ns_per_byte = 8e9 / bits_per_second;
}

void Wire::open(WirePort& port, int ifindex, unsigned mtu) {
    try {
        port.socket.open(ifindex, mtu, ring_bytes_, send_bytes_);
    } catch (const std::system_error& error) {
        throw std::system_error(error.code(), name_of(port));
    }
    port.ifindex = ifindex;
    port.mtu = mtu;
}

void Wire::attach(WirePort& port, int ifindex, unsigned mtu) {
    open(port, ifindex, mtu);
    watch(port, EPOLL_CTL_ADD);
}

void Wire::attach_all() {
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

void Wire::close_all() {
    for_every_port([](WirePort& port) {
        port.stats.missed += port.socket.take_missed();
        port.socket.close();
    });
    for (const auto& port : ports_) detach(*port);
}

// Call act() for every port, in several threads: opening and closing a packet socket waits for an RCU grace
// period of some ten milliseconds, which concurrent calls share.
void Wire::for_every_port(const std::function<void(WirePort&)>& act) {
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
        for (std::size_t at = next++; at < ports_.size(); at = next++) act(*ports_[at]);
    };
    std::vector<std::thread> helpers;
    for (std::size_t i = 1; i < std::min(ports_.size(), kOpeners); ++i) helpers.emplace_back(work);
    work();
    for (auto& helper : helpers) helper.join();
}

void Wire::watch(WirePort& port, int operation) {
    epoll_event event{};
    event.events = port.blocked ? EPOLLIN | EPOLLOUT : EPOLLIN;
    event.data.u64 = kFirstPortToken + port_of_[port.switch_index][port.number.value()].at();
    if (epoll_ctl(epoll_, operation, port.socket.fd(), &event) != 0)
        throw std::system_error(errno, std::generic_category(), "epoll");
}

void Wire::detach(WirePort& port) {
    if (port.socket.is_open()) port.stats.missed += port.socket.take_missed();
    port.socket.close();  // which removes it from epoll
    port.ifindex = -1;
    port.blocked = false;
    clear(port);
}

void Wire::set_up(WirePort& port, bool up) {
    if (port.up == up) return;
    port.up = up;
    if (!up) clear(port);
    control_.push_back({ControlItem::Kind::Port, now_, port.switch_index, port.number.value(), up, {}});
}

void Wire::block(WirePort& port, bool blocked) {
    if (port.blocked == blocked) return;
    port.blocked = blocked;
    watch(port, EPOLL_CTL_MOD);
}

void Wire::clear(WirePort& port) {
    const auto drop = [&](Ring<FrameHandle>& frames) {
        port.stats.refused_down += frames.size();
        frames.clear();
    };
    drop(port.ready);
    for (auto& queue : port.queues) drop(queue);
}

void Wire::on_links() {
    for (const LinkChange& change : links_.read())
        for (const auto& port : ports_) {
            const bool same = port->ifindex == change.ifindex;
            if (same && change.removed) {
                set_up(*port, false);
                detach(*port);
            } else if (same || (port->ifindex < 0 && !change.removed && port->interface == change.name)) {
                try {
                    if (same && change.mtu != port->mtu) {
                        say("info", name_of(*port) + ": its MTU is " + std::to_string(change.mtu));
                        if (change.mtu > port->mtu) detach(*port);  // its ring has too small slots
                        port->mtu = change.mtu;
                        port->told_too_long = false;
                    }
                    if (port->ifindex < 0) attach(*port, change.ifindex, change.mtu);
                    set_up(*port, change.up);
                } catch (const std::system_error& error) {  // for example, the interface is gone again
                    say("warning", error.what());
                    detach(*port);
                    set_up(*port, false);
                }
            }
        }
}

std::string Wire::name_of(const WirePort& port) const {
    return switches_[port.switch_index]->name() + ": port " + to_string(port.number) + " (" + port.interface +
           ")";
}

Index<Wire::WirePort> Wire::find_port(Index<Switch> switch_index, Port number) const {
    const auto& ports = port_of_.at(switch_index);
    return number.value() < ports.size() ? ports[number.value()] : Index<WirePort>();
}

Wire::WirePort& Wire::port_at(Index<Switch> switch_index, Port port) {
    const Index<WirePort> index = find_port(switch_index, port);
    if (!index) throw std::invalid_argument("there is no port " + to_string(port));
    return *ports_[index];
}

bool Wire::up(Index<Switch> switch_index, Port port) {
    const std::lock_guard hold(mutex_);
    return port_at(switch_index, port).up;
}

WireStats Wire::stats(Index<Switch> switch_index, Port at) {
    const std::lock_guard hold(mutex_);
    WirePort& port = port_at(switch_index, at);
    port.stats.missed += port.socket.take_missed();
    return port.stats;
}

std::vector<std::pair<std::string, std::string>> Wire::take_messages() {
    const std::lock_guard hold(mutex_);
    return std::exchange(messages_, {});
}

void Wire::say(const char* level, std::string text) {
    if (messages_.size() < kMostMessages) messages_.emplace_back(level, std::move(text));
}

void Wire::fail(const Switch& sw, WirePort* port, const std::exception& error) {
    if (port != nullptr) port->stats.failed += 1;
    // Limit the rate of log lines: a frame may fail in each of thousands of copies.
    if (now_ < next_failure_) {
        ++untold_failures_;
        return;
    }
    std::string text = sw.name() + ": " + error.what();
    if (untold_failures_ > 0)
        text += "; since the last such line " + std::to_string(untold_failures_) + " more";
    say("error", std::move(text));
    untold_failures_ = 0;
    next_failure_ = now_ + kFailurePeriod;
}

void Wire::too_long(WirePort& port, std::size_t bytes) {
    port.stats.too_long += 1;
    if (std::exchange(port.told_too_long, true)) return;
    say("warning", name_of(port) + ": a frame of " + std::to_string(bytes) +
                       " bytes does not fit the MTU of " + std::to_string(port.mtu) +
                       " and is dropped, as all like it will be; raise the MTU, or turn off segmentation "
                       "offload where it"
                       " comes from (ethtool -K INTERFACE tso off gso off)");
}

void Wire::dump_frame(const char* what, const WirePort& port, std::string_view frame) {
    static const char* const kDigits = "0123456789abcdef";
    std::string text = name_of(port) + ": " + what + ", " + std::to_string(frame.size()) + " bytes:";
    for (const char c : frame.substr(0, dump_bytes_)) {
        const auto byte = static_cast<unsigned char>(c);
        text += {' ', kDigits[byte >> 4], kDigits[byte & 15]};
    }
    say("info", std::move(text));
}

}  // namespace railyard
