// SPDX-License-Identifier: Apache-2.0
#include "wire/receive_ring.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "wire/system.h"

namespace railyard::wire {

namespace {

constexpr std::size_t kAddresses = 2 * std::size_t{ETH_ALEN};  // bytes before the EtherType
constexpr std::size_t kTag = 4;  // bytes of a VLAN tag, which the kernel removes from the frame
constexpr unsigned kLeastSlots = 64;
constexpr std::size_t kBlock = 1 << 16;

}  // namespace

ReceiveRing::ReceiveRing(const std::string& name, int fd, unsigned mtu, std::size_t bytes) {
    set_packet_option(fd, PACKET_VERSION, static_cast<int>(TPACKET_V2), name + ": PACKET_VERSION");
    set_packet_option(fd, PACKET_RESERVE, static_cast<unsigned>(kTag), name + ": PACKET_RESERVE");
    // The kernel writes the frame after its own header, the address and the reserve, 16-byte aligned.
    const std::size_t slot =
        TPACKET_ALIGN(TPACKET2_HDRLEN) + 32 + kTag + ETH_HLEN + 2 * kTag + std::size_t{mtu};
    tpacket_req request{};
    slot_bytes_ = TPACKET_ALIGN(slot);
    std::size_t block = kBlock;
    while (block < slot_bytes_) block *= 2;
    block_bytes_ = block;
    slots_a_block_ = static_cast<unsigned>(block_bytes_ / slot_bytes_);
    blocks_ = static_cast<unsigned>(
        std::max<std::size_t>(bytes / block_bytes_, (kLeastSlots + slots_a_block_ - 1) / slots_a_block_));
    request.tp_block_size = static_cast<unsigned>(block_bytes_);
    request.tp_block_nr = blocks_;
    request.tp_frame_size = static_cast<unsigned>(slot_bytes_);
    request.tp_frame_nr = blocks_ * slots_a_block_;
    set_packet_option(fd, PACKET_RX_RING, request, name + ": the receive ring of a raw socket");
    const std::size_t ring_bytes = block_bytes_ * blocks_;
    void* mapped = mmap(nullptr, ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    require(mapped != MAP_FAILED, name + ": mapping the receive ring of a raw socket");
    ring_ = {static_cast<std::uint8_t*>(mapped), Unmap{ring_bytes}};
}

bool ReceiveRing::peek(Received& received) {
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
            // Insert the tag before the EtherType: move the addresses into the reserve in front.
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

void ReceiveRing::release() {
    std::atomic_ref<std::uint32_t>(slot()->tp_status).store(TP_STATUS_KERNEL, std::memory_order_release);
    if (++in_block_ == slots_a_block_) {
        in_block_ = 0;
        if (++block_ == blocks_) block_ = 0;
    }
}

}  // namespace railyard::wire
