// SPDX-License-Identifier: Apache-2.0
// Raw socket of an interface for whole Ethernet frames; it receives through a ring shared with the kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "wire/descriptor.h"
#include "wire/receive_ring.h"

namespace railyard::wire {

class PacketSocket {
   public:
    // Open a socket for frames of up to `mtu` bytes after their Ethernet header and VLAN tags, with a receive
    // ring of about `ring_bytes`, and a send buffer of `send_bytes`, or of one frame if that is larger.
    // std::system_error, which begins with `name`, tells what failed.
    PacketSocket(const std::string& name, int ifindex, unsigned mtu, std::size_t ring_bytes, int send_bytes);

    [[nodiscard]] int fd() const { return socket_.number(); }

    // See ReceiveRing.
    bool peek(ReceiveRing::Received& received) { return ring_.peek(received); }
    void release() { ring_.release(); }

    // Return the number of frames lost at a full ring since the last call.
    std::uint64_t take_missed();
    // Return and clear the pending error of the socket; 0: none.
    int take_error();

   private:
    // Open the socket, with its send buffer but not bound to an interface.
    static Descriptor opened(const std::string& name, int send_bytes);

    Descriptor socket_;
    ReceiveRing ring_;
};

}  // namespace railyard::wire
