// SPDX-License-Identifier: Apache-2.0
// Connections of a rank with a peer: a single connection, or a connection for each of several paths. Each
// message uses one connection. tests/oracle/connections.py is the specification.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frames/ring.h"
#include "hosts/paths/spray.h"
#include "hosts/random/python_random.h"
#include "hosts/transport/receiver.h"
#include "hosts/transport/sender.h"

namespace railyard::hosts {

// Description of a peer before a run.
struct PeerSpec {
    std::uint32_t rank = 0;
    std::uint16_t address = 0;
    // For each connection, first load-balance value of data frames to the peer, and of acknowledgements.
    std::vector<std::uint8_t> lbs, ack_lbs;
    std::optional<PathShares> shares;  // none: the connections do not know their paths
    // Seed of the random choice of a message's connection; none: choose the connection with the fewest
    // unfinished bytes.
    std::optional<std::string> seed;
};

// Slices of the same step, operation and task that are ready for a peer.
struct SendQueue {
    std::uint32_t send = 0;  // in RankPlan::sends
    frames::Ring<std::uint32_t> slices;
    std::uint32_t left = 0;  // slices that have not been sent, ready or not
};

class Peer {
   public:
    // Address, rank and job of this end, for frames.
    struct Pair {
        std::uint16_t address = 0;
        std::uint32_t rank = 0, ranks = 0;
        std::uint16_t job = 0;
        std::uint8_t dtype = 0;
    };
    Peer(const PeerSpec& spec, const Pair& own, const TransportParameters& parameters, RoundTrips& trips,
         Payloads& payloads);

    // Return the connection of a frame from the peer's address, by the frame's queue numbers; none if they
    // belong to no connection.
    [[nodiscard]] std::optional<std::size_t> number(const Fields& fields) const {
        const std::uint32_t queue = fields.dst_q - first_queue_;
        const std::uint32_t number = queue < ranks_ ? 0 : queue / ranks_;  // most often 0; divisions are slow
        const std::uint32_t first = number * ranks_;
        const std::size_t count = fields.opcode == kOpcodeData ? receivers.size() : senders.size();
        if (queue - first != rank_ || fields.src_q != first_queue_ + first + own_ || number >= count)
            return std::nullopt;
        return number;
    }
    // Return the connection of the next message; null while the window of that connection is full. A
    // connection drawn at random remains the choice until a message uses it.
    Sender* pick() {
        Sender* const sender = senders.size() == 1 ? senders[0].get() : choose();
        return sender->has_room() ? sender : nullptr;
    }
    void message_sent() { drawn_ = nullptr; }
    // Add the bytes of slices that became ready; negative: that were sent. Tell each sender its part of the
    // backlog, which only congestion control asks for.
    void add_ready(Bytes bytes) {
        if (!senders[0]->limited()) return;
        ready_ += bytes;
        const Bytes backlog = ready_ / senders.size();
        for (const auto& sender : senders) sender->backlog = backlog;
    }
    // Prefetch the memory that a data frame or an acknowledgement from the peer will need.
    void prefetch(bool data) const {
        if (!data) return fetch(senders.data());
        const auto* const receiver = reinterpret_cast<const char*>(receivers.data());
        fetch(receiver);
        fetch(receiver + 64);
    }

    [[nodiscard]] std::uint32_t rank() const { return rank_; }
    [[nodiscard]] std::uint16_t address() const { return address_; }

    // Return the first time at which one of the connections needs a call.
    [[nodiscard]] Time due() const {
        Time first = kNever;
        for (const Receiver& receiver : receivers) first = std::min(first, receiver.ack_at);
        for (const auto& sender : senders) first = std::min(first, sender->due());
        return first;
    }

    std::vector<std::unique_ptr<Sender>> senders;
    std::vector<Receiver> receivers;
    std::vector<SendQueue*> active;  // queues with ready slices
    std::uint32_t left = 0;
    std::uint32_t place = 0;  // in the agent's list of peers
    bool waiting = false;     // the peer is in the agent's round robin

   private:
    Sender* choose();

    std::uint32_t rank_, own_, ranks_, first_queue_;
    std::uint16_t address_;
    std::optional<PythonRandom> random_;
    Sender* drawn_ = nullptr;
    Bytes ready_;  // bytes of slices in `active`, with their headers
};

// Peers of a rank, by address: a hash table, at most half full.
class PeersByAddress {
   public:
    // Take the peers of a rank, which must outlive this object.
    void set(const std::vector<std::unique_ptr<Peer>>& peers);
    // Return the peer with an address; null if there is none.
    [[nodiscard]] Peer* find(std::uint16_t address) const {
        for (std::size_t at = place_of(address);; at = next_place(at)) {
            const Cell& cell = cells_[at];
            if (cell.address == address || cell.peer == nullptr) return cell.peer;
        }
    }

   private:
    struct Cell {
        std::uint16_t address = 0;
        Peer* peer = nullptr;  // null: the cell is free
    };
    // Return the place at which the search for an address begins (Fibonacci hashing).
    [[nodiscard]] std::size_t place_of(std::uint16_t address) const {
        return (address * 0x9E3779B1u) >> shift_;
    }
    [[nodiscard]] std::size_t next_place(std::size_t place) const {
        return (place + 1) & (cells_.size() - 1);
    }

    int shift_ = 31;
    std::vector<Cell> cells_{2};  // their number is 2^(32 - shift_)
};

}  // namespace railyard::hosts
