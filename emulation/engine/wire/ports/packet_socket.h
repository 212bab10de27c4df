// SPDX-License-Identifier: Apache-2.0
// Raw socket of an interface for whole Ethernet frames; it receives through a ring shared with the kernel.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/receive_ring.h"

namespace railyard::wire {

class PacketSocket {
   public:
    PacketSocket() = default;
    PacketSocket(const PacketSocket&) = delete;
    PacketSocket& operator=(const PacketSocket&) = delete;
    ~PacketSocket() { close(); }

    // Open the socket for frames of up to `mtu` bytes after their Ethernet header and VLAN tags, with a
    // receive ring of about `ring_bytes`, and a send buffer of `send_bytes`, or of one frame if that is
    // larger. Throws std::system_error.
    void open(int ifindex, unsigned mtu, std::size_t ring_bytes, int send_bytes);
    void close();
    [[nodiscard]] bool is_open() const { return fd_ >= 0; }
    [[nodiscard]] int fd() const { return fd_; }

    // See ReceiveRing.
    bool peek(ReceiveRing::Received& received) { return ring_.peek(received); }
    void release() { ring_.release(); }

    // Return the number of frames lost at a full ring since the last call.
    std::uint64_t take_missed();
    // Return and clear the pending error of the socket; 0: none.
    int take_error();

   private:
    int fd_ = -1;
    ReceiveRing ring_;
};

}  // namespace railyard::wire
