// SPDX-License-Identifier: Apache-2.0
#include "wire/packet_socket.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace railyard {

namespace {

constexpr std::size_t kAddresses = 2 * std::size_t{ETH_ALEN};  // bytes before the type of a frame
constexpr std::size_t kTag = 4;  // bytes of a VLAN tag, which the kernel takes out of the frame
constexpr unsigned kLeastSlots = 64;
constexpr std::size_t kBlock = 1 << 16;

void require(bool done, const char* what) {
    if (!done) throw std::system_error(errno, std::generic_category(), what);
}

template <typename Value>
void set(int fd, int option, const Value& value, const char* what) {
    require(setsockopt(fd, SOL_PACKET, option, &value, sizeof value) == 0, what);
}

}  // namespace

void PacketSocket::open(int ifindex, unsigned mtu, std::size_t ring_bytes, int send_bytes) {
    close();
    // Protocol 0: nothing is received before the socket is bound to its one interface.
    fd_ = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    try {
        require(fd_ >= 0, "a raw socket");
        set(fd_, PACKET_VERSION, static_cast<int>(TPACKET_V2), "PACKET_VERSION");
        set(fd_, PACKET_RESERVE, static_cast<unsigned>(kTag), "PACKET_RESERVE");
        const int on = 1;
        setsockopt(fd_, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on,
                   sizeof on);  // an optimisation: peek() skips outgoing frames, too

        // Frames count against the sender until they leave the queue of the interface or of a link behind it.
        setsockopt(fd_, SOL_SOCKET, SO_SNDBUFFORCE, &send_bytes, sizeof send_bytes);

        // The kernel puts the frame behind its header, the address and the reserve, on a 16 byte boundary.
        const std::size_t slot =
            TPACKET_ALIGN(TPACKET2_HDRLEN) + 32 + kTag + ETH_HLEN + 2 * kTag + std::size_t{mtu};
        tpacket_req request{};
        slot_bytes_ = TPACKET_ALIGN(slot);
        block_bytes_ = kBlock;
        while (block_bytes_ < slot_bytes_) block_bytes_ *= 2;
        slots_a_block_ = static_cast<unsigned>(block_bytes_ / slot_bytes_);
        blocks_ = static_cast<unsigned>(std::max<std::size_t>(
            ring_bytes / block_bytes_, (kLeastSlots + slots_a_block_ - 1) / slots_a_block_));
        request.tp_block_size = static_cast<unsigned>(block_bytes_);
        request.tp_block_nr = blocks_;
        request.tp_frame_size = static_cast<unsigned>(slot_bytes_);
        request.tp_frame_nr = blocks_ * slots_a_block_;
        set(fd_, PACKET_RX_RING, request, "its receive ring");
        ring_bytes_ = block_bytes_ * blocks_;
        void* mapped = mmap(nullptr, ring_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
        require(mapped != MAP_FAILED, "mapping its receive ring");
        ring_ = static_cast<std::uint8_t*>(mapped);
        block_ = in_block_ = 0;

        sockaddr_ll at{};
        at.sll_family = AF_PACKET;
        at.sll_protocol = htons(ETH_P_ALL);
        at.sll_ifindex = ifindex;
        require(bind(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0, "binding to it");
        packet_mreq all{};
        all.mr_ifindex = ifindex;
        all.mr_type = PACKET_MR_PROMISC;
        set(fd_, PACKET_ADD_MEMBERSHIP, all, "promiscuous mode");
    } catch (...) {
        close();
        throw;
    }
}

void PacketSocket::close() {
    if (ring_ != nullptr) munmap(std::exchange(ring_, nullptr), ring_bytes_);
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

bool PacketSocket::peek(Received& received) {
    for (;;) {
        tpacket2_hdr* header = slot();
        const auto status = std::atomic_ref<std::uint32_t>(header->tp_status).load(std::memory_order_acquire);
        if ((status & TP_STATUS_USER) == 0) return false;
        auto* frame = reinterpret_cast<std::uint8_t*>(header) + header->tp_mac;
        const auto* from = reinterpret_cast<const sockaddr_ll*>(reinterpret_cast<std::uint8_t*>(header) +
                                                                TPACKET_ALIGN(sizeof(tpacket2_hdr)));
        if (from->sll_pkttype == PACKET_OUTGOING) {
            release();
            continue;
        }
        std::size_t kept = header->tp_snaplen, length = header->tp_len;
        if ((status & TP_STATUS_VLAN_VALID) != 0 && kept >= kAddresses) {
            // The addresses move into the reserve in front; the tag stands between them and the type.
            const std::uint16_t tpid =
                (status & TP_STATUS_VLAN_TPID_VALID) != 0 ? header->tp_vlan_tpid : std::uint16_t{ETH_P_8021Q};
            std::memmove(frame - kTag, frame, kAddresses);
            frame -= kTag;
            const std::uint16_t tag[] = {htons(tpid), htons(header->tp_vlan_tci)};
            std::memcpy(frame + kAddresses, tag, kTag);
            kept += kTag;
            length += kTag;
        }
        received = {{reinterpret_cast<const char*>(frame), kept}, length};
        return true;
    }
}

void PacketSocket::release() {
    std::atomic_ref<std::uint32_t>(slot()->tp_status).store(TP_STATUS_KERNEL, std::memory_order_release);
    if (++in_block_ == slots_a_block_) {
        in_block_ = 0;
        if (++block_ == blocks_) block_ = 0;
    }
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

}  // namespace railyard
