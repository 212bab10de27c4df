// SPDX-License-Identifier: Apache-2.0
// Connections of a rank with a peer, as in tests/oracle/connections.py: a single connection, or one
// for each of several paths. A message uses one connection.
#pragma once

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

namespace railyard {

// A peer before a run.
struct PeerSpec {
    std::uint32_t rank = 0;
    std::uint16_t address = 0;
    std::vector<std::uint8_t> lbs, ack_lbs;  // by connection: to the peer, and of acknowledgements to it
    std::optional<PathShares> shares;
    // Seed of the random choice of connections; none: the connection with the fewest unfinished bytes.
    std::optional<std::string> seed;
};

// Slices of the same step, operation and task that are ready for a peer.
struct SendQueue {
    std::uint32_t send = 0;  // in RankPlan::sends
    Ring<std::uint32_t> slices;
    std::uint32_t left = 0;  // slices that have not left yet, ready or not
};

class Peer {
   public:
    // Addresses and ranks of both ends, for frames.
    struct Pair {
        std::uint16_t address = 0;
        std::uint32_t rank = 0, ranks = 0;
        std::uint16_t job = 0;
        std::uint8_t dtype = 0;
    };
    Peer(const PeerSpec& spec, const Pair& own, const TransportParameters& parameters, RoundTrips& trips,
         Payloads& payloads);

    // Connection of a frame from the peer's address, by its queues; none if they do not fit.
    std::optional<std::size_t> number(const Fields& fields) const;
    // Connection of the next message; null while its window is full. A drawn connection stays chosen until a
    // message has used it.
    Sender* pick();
    void message_sent() { drawn_ = nullptr; }
    // Slices have become ready, or have left: tell the senders what each has to send.
    void add_ready(std::int64_t bytes) {
        ready_ += bytes;
        const auto backlog = static_cast<std::uint64_t>(ready_) / senders.size();
        for (const auto& sender : senders) sender->backlog = backlog;
    }
    // Let the processor fetch what a data frame or an acknowledgement from the peer will need.
    void prefetch(bool data) const {
        if (!data) return fetch(senders.data());
        const auto* const receiver = reinterpret_cast<const char*>(receivers.data());
        fetch(receiver);
        fetch(receiver + 64);
    }

    std::uint32_t rank() const { return rank_; }
    std::uint16_t address() const { return address_; }

    std::vector<std::unique_ptr<Sender>> senders;
    std::vector<Receiver> receivers;
    std::vector<SendQueue*> active;  // queues with ready slices
    std::uint32_t left = 0;
    bool waiting = false;  // is in the agent's round robin

   private:
    std::uint32_t rank_, own_, ranks_, first_queue_;
    std::uint16_t address_;
    std::optional<PythonRandom> random_;
    Sender* drawn_ = nullptr;
    std::int64_t ready_ = 0;  // bytes of slices in `active`, with their headers
};

}  // namespace railyard
