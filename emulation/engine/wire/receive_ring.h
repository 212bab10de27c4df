// SPDX-License-Identifier: Apache-2.0
// Ring of received frames that a raw socket shares with the kernel, so that receiving needs no system call.
#pragma once

#include <linux/if_packet.h>
#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace railyard::wire {

class ReceiveRing {
   public:
    // Give a raw socket a ring for frames of up to `mtu` bytes after their Ethernet header and VLAN tags. The
    // ring has about `bytes` of unswappable memory, but at least 64 frames. Frames already waiting in the
    // socket are lost. The caller must keep the socket open. std::system_error, which begins with `name`,
    // tells what failed.
    ReceiveRing(const std::string& name, int fd, unsigned mtu, std::size_t bytes);

    struct Received {
        std::string_view frame;  // with its VLAN tag
        std::size_t length;      // length on the wire; larger than the frame if the ring truncated it
    };
    // Get the next frame; return false if there is none. release() returns its slot to the kernel.
    bool peek(Received& received);
    void release();
    // Return true if a frame may have arrived: the next slot belongs to this process.
    [[nodiscard]] bool filled() const {
        const auto status = std::atomic_ref<std::uint32_t>(slot()->tp_status).load(std::memory_order_relaxed);
        return (status & TP_STATUS_USER) != 0;
    }
    // Address of the next slot, which filled() reads.
    const void* next() const { return slot(); }

   private:
    struct Unmap {
        std::size_t bytes;
        void operator()(std::uint8_t* ring) const { munmap(ring, bytes); }
    };

    [[nodiscard]] tpacket2_hdr* slot() const {
        return reinterpret_cast<tpacket2_hdr*>(ring_.get() + block_ * block_bytes_ + in_block_ * slot_bytes_);
    }

    std::unique_ptr<std::uint8_t, Unmap> ring_;
    std::size_t block_bytes_ = 0, slot_bytes_ = 0;
    unsigned blocks_ = 0, slots_a_block_ = 0, block_ = 0, in_block_ = 0;
};

}  // namespace railyard::wire
