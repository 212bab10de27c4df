// SPDX-License-Identifier: Apache-2.0
#include "wire/ports/packet_socket.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include "wire/system.h"

namespace railyard::wire {

Descriptor PacketSocket::opened(const std::string& name, int send_bytes) {
    // Use protocol 0, so that nothing is received before the socket is bound to its interface.
    Descriptor raw(socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), name + ": a raw socket");
    const int on = 1;
    setsockopt(raw.number(), SOL_PACKET, PACKET_IGNORE_OUTGOING, &on,
               sizeof on);  // only faster: peek() skips outgoing frames anyway
    // Frames occupy the send buffer until they leave the queue of the interface, or of a link behind it.
    setsockopt(raw.number(), SOL_SOCKET, SO_SNDBUFFORCE, &send_bytes, sizeof send_bytes);
    return raw;
}

PacketSocket::PacketSocket(const std::string& name, int ifindex, unsigned mtu, std::size_t ring_bytes,
                           int send_bytes)
    : socket_(opened(name, send_bytes)), ring_(name, fd(), mtu, ring_bytes) {
    sockaddr_ll at{};
    at.sll_family = AF_PACKET;
    at.sll_protocol = htons(ETH_P_ALL);
    at.sll_ifindex = ifindex;
    require(bind(fd(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0,
            name + ": binding a raw socket");
    packet_mreq all{};
    all.mr_ifindex = ifindex;
    all.mr_type = PACKET_MR_PROMISC;
    set_packet_option(fd(), PACKET_ADD_MEMBERSHIP, all, name + ": promiscuous mode");
}

std::uint64_t PacketSocket::take_missed() {
    tpacket_stats stats{};
    socklen_t size = sizeof stats;
    if (getsockopt(fd(), SOL_PACKET, PACKET_STATISTICS, &stats, &size) != 0) return 0;
    return stats.tp_drops;
}

int PacketSocket::take_error() {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(fd(), SOL_SOCKET, SO_ERROR, &error, &size);
    return error;
}

}  // namespace railyard::wire
