// SPDX-License-Identifier: Apache-2.0
// Sends one frame over and over into one interface and counts what comes out of another, with at most
// `window` frames under way. A closed loop measures a switch that keeps up with its sender on a machine of
// few cores: an open one would spend the cores on frames that are then dropped.
//
//   veth_load TX_INTERFACE RX_INTERFACE FRAME_HEX WINDOW SECONDS
//
// Writes one JSON object: frames sent, received and lost, seconds, and the processor seconds of this process.
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

namespace {

constexpr unsigned kSlots = 8192, kBatch = 64;
constexpr double kPatience = 0.02;  // seconds without any frame until those under way count as lost

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "veth_load: %s: %s\n", what, std::strerror(errno));
    std::exit(2);
}

double clock_seconds() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

sockaddr_ll address_of(const char* interface, int protocol) {
    sockaddr_ll at{};
    at.sll_family = AF_PACKET;
    at.sll_protocol = htons(static_cast<std::uint16_t>(protocol));
    at.sll_ifindex = static_cast<int>(if_nametoindex(interface));
    if (at.sll_ifindex == 0) fail(interface);
    return at;
}

int sender(const char* interface) {
    const int fd = socket(AF_PACKET, SOCK_RAW, 0);
    if (fd < 0) fail("socket");
    const int on = 1, bytes = 16 << 20;
    setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes);
    const sockaddr_ll at = address_of(interface, 0);
    if (bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) fail(interface);
    return fd;
}

struct Receiver {
    int fd;
    std::uint8_t* ring;
    std::size_t slot_bytes;
    unsigned at = 0;

    Receiver(const char* interface, std::size_t longest) : fd(socket(AF_PACKET, SOCK_RAW, 0)) {
        if (fd < 0) fail("socket");
        const int version = TPACKET_V2, on = 1;
        setsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version);
        setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on);
        slot_bytes = 256;
        while (slot_bytes < longest + 128) slot_bytes *= 2;
        tpacket_req request{};
        request.tp_frame_size = static_cast<unsigned>(slot_bytes);
        request.tp_block_size = static_cast<unsigned>(std::max<std::size_t>(slot_bytes, 1 << 16));
        request.tp_frame_nr = kSlots;
        request.tp_block_nr = static_cast<unsigned>(kSlots * slot_bytes / request.tp_block_size);
        if (setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &request, sizeof request) != 0) fail("PACKET_RX_RING");
        void* mapped = mmap(nullptr, kSlots * slot_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (mapped == MAP_FAILED) fail("mmap");
        ring = static_cast<std::uint8_t*>(mapped);
        const sockaddr_ll where = address_of(interface, ETH_P_ALL);
        if (bind(fd, reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0) fail(interface);
    }

    std::uint64_t drain() {
        for (std::uint64_t count = 0;; ++count) {
            auto* header = reinterpret_cast<tpacket2_hdr*>(ring + at * slot_bytes);
            std::atomic_ref<std::uint32_t> status(header->tp_status);
            if ((status.load(std::memory_order_acquire) & TP_STATUS_USER) == 0) return count;
            status.store(TP_STATUS_KERNEL, std::memory_order_release);
            at = (at + 1) % kSlots;
        }
    }
};

}  // namespace

int main(int count, char** arguments) {
    if (count != 6) {
        std::fprintf(stderr, "usage: veth_load TX_INTERFACE RX_INTERFACE FRAME_HEX WINDOW SECONDS\n");
        return 2;
    }
    const std::string hex = arguments[3];
    std::vector<std::uint8_t> frame(hex.size() / 2);
    for (std::size_t i = 0; i < frame.size(); ++i)
        frame[i] = static_cast<std::uint8_t>(std::strtoul(hex.substr(2 * i, 2).c_str(), nullptr, 16));
    const auto window = static_cast<std::uint64_t>(std::atoll(arguments[4]));
    const double wanted = std::atof(arguments[5]);

    const int out = sender(arguments[1]);
    Receiver in(arguments[2], frame.size());
    iovec piece{frame.data(), frame.size()};
    std::vector<mmsghdr> messages(kBatch);
    for (mmsghdr& m : messages) m.msg_hdr.msg_iov = &piece, m.msg_hdr.msg_iovlen = 1;

    std::uint64_t sent = 0, received = 0, lost = 0;
    const double start = clock_seconds();
    double now = start, last = start;
    while (now - start < wanted) {
        const std::uint64_t under_way = sent - received - lost;
        const auto room =
            static_cast<unsigned>(std::min<std::uint64_t>(kBatch, window - std::min(window, under_way)));
        // Half a window at least, so that few frames are sent at a time only where the window is small.
        if (room > 0 && (room == kBatch || room >= window / 2)) {
            const int done = sendmmsg(out, messages.data(), room, MSG_DONTWAIT);
            if (done > 0) sent += static_cast<std::uint64_t>(done);
            else if (errno != EAGAIN && errno != ENOBUFS) fail("sendmmsg");
        }
        const std::uint64_t came = in.drain();
        received += came;
        now = clock_seconds();
        if (came > 0) {
            last = now;
        } else if (sent - received - lost >= window / 2 + 1) {
            pollfd wait{in.fd, POLLIN, 0};
            poll(&wait, 1, 5);
            now = clock_seconds();
            if (now - last > kPatience) lost = sent - received, last = now;
        }
    }
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const double cpu = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                       1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    std::printf(
        "{\"sent\": %lu, \"received\": %lu, \"lost\": %lu, \"seconds\": %.6f, \"cpu_seconds\": %.6f}\n",
        static_cast<unsigned long>(sent), static_cast<unsigned long>(received),
        static_cast<unsigned long>(lost), now - start, cpu);
}
