// SPDX-License-Identifier: Apache-2.0
#include "wire/ports/packet_socket.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "wire/system.h"

namespace railyard::wire {

void PacketSocket::open(int ifindex, unsigned mtu, std::size_t ring_bytes, int send_bytes) {
    close();
    // Use protocol 0, so that nothing is received before the socket is bound to its interface.
    fd_ = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    try {
        require(fd_ >= 0, "a raw socket");
        const int on = 1;
        setsockopt(fd_, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on,
                   sizeof on);  // only faster: peek() skips outgoing frames anyway

        // Frames occupy the send buffer until they leave the queue of the interface, or of a link behind it.
        setsockopt(fd_, SOL_SOCKET, SO_SNDBUFFORCE, &send_bytes, sizeof send_bytes);

        ring_.open(fd_, mtu, ring_bytes);

        sockaddr_ll at{};
        at.sll_family = AF_PACKET;
        at.sll_protocol = htons(ETH_P_ALL);
        at.sll_ifindex = ifindex;
        require(bind(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0, "binding to it");
        packet_mreq all{};
        all.mr_ifindex = ifindex;
        all.mr_type = PACKET_MR_PROMISC;
        set_packet_option(fd_, PACKET_ADD_MEMBERSHIP, all, "promiscuous mode");
    } catch (...) {
        close();
        throw;
    }
}

void PacketSocket::close() {
    ring_.close();
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

std::uint64_t PacketSocket::take_missed() {
    tpacket_stats stats{};
    socklen_t size = sizeof stats;
    if (fd_ < 0 || getsockopt(fd_, SOL_PACKET, PACKET_STATISTICS, &stats, &size) != 0) return 0;
    return stats.tp_drops;
}

int PacketSocket::take_error() {
    int error = 0;
    socklen_t size = sizeof error;
    if (fd_ >= 0) getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
    return error;
}

}  // namespace railyard::wire
