// SPDX-License-Identifier: Apache-2.0
// Raw socket of one interface: whole Ethernet frames in both directions, received through a ring shared with
// the kernel.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <linux/if_packet.h>

namespace railyard {

class PacketSocket {
   public:
    PacketSocket() = default;
    PacketSocket(const PacketSocket&) = delete;
    PacketSocket& operator=(const PacketSocket&) = delete;
    ~PacketSocket() { close(); }

    // Frames of up to `mtu` bytes after their Ethernet header and VLAN tags, in `ring_bytes` of memory at
    // most. The kernel holds `send_bytes` of frames to be sent, a frame at least. std::system_error tells
    // what failed.
    void open(int ifindex, unsigned mtu, std::size_t ring_bytes, int send_bytes);
    void close();
    bool is_open() const { return fd_ >= 0; }
    int fd() const { return fd_; }

    struct Received {
        std::string_view frame;  // its VLAN tag put back
        std::size_t length;      // length on the wire; larger than the frame if the ring truncated it
    };
    // Get the next frame, if any. release() returns its slot to the kernel.
    bool peek(Received& received);
    void release();

    // Frames lost since the last call because the ring was full.
    std::uint64_t take_missed();
    // Read and clear the pending error of the socket.
    int take_error();

   private:
    tpacket2_hdr* slot() const {
        return reinterpret_cast<tpacket2_hdr*>(ring_ + block_ * block_bytes_ + in_block_ * slot_bytes_);
    }

    int fd_ = -1;
    std::uint8_t* ring_ = nullptr;
    std::size_t ring_bytes_ = 0, block_bytes_ = 0, slot_bytes_ = 0;
    unsigned blocks_ = 0, slots_a_block_ = 0, block_ = 0, in_block_ = 0;
};

}  // namespace railyard
