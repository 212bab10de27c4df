// SPDX-License-Identifier: Apache-2.0
// Raw socket of one interface: whole Ethernet frames in both directions, received through a ring shared with
// the kernel.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/receive_ring.h"

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

    // See ReceiveRing.
    bool peek(ReceiveRing::Received& received) { return ring_.peek(received); }
    void release() { ring_.release(); }

    // Frames lost since the last call because the ring was full.
    std::uint64_t take_missed();
    // Read and clear the pending error of the socket.
    int take_error();

   private:
    int fd_ = -1;
    ReceiveRing ring_;
};

}  // namespace railyard
