// SPDX-License-Identifier: Apache-2.0
// Credits that a receiver grants to its senders, as receiver credit congestion control of Ultra Ethernet does
// (Specification 1.0, section 3.6.14): grants follow each other at the rate of the receiver's link, so that
// the senders together send what the link carries. Byte counts are cumulative over a connection.
#pragma once

#include <algorithm>
#include <cstdint>

#include "frames/ring.h"
#include "network/links/application.h"

namespace railyard {

class Receiver;

struct CreditParameters {
    std::int64_t initial = 0;  // bytes that a sender may send before the first grant
    std::int64_t rate = 0;     // of all grants together, bit/s
};

// Credit of a connection at its receiver.
struct Credit {
    std::uint64_t asked = 0;    // bytes that the sender has sent or has ready
    std::uint64_t refused = 0;  // bytes that came trimmed, and will be sent again
    std::uint64_t granted = 0;
    bool known = false;                 // the sender has asked
    bool active = false, idle = false;  // waits in this queue
};

class CreditGrants {
   public:
    CreditGrants(const CreditParameters& parameters, std::int64_t frame_bytes)
        : parameters_(parameters),
          frame_bytes_(static_cast<std::uint64_t>(frame_bytes)),
          spare_(std::max(frame_bytes_, static_cast<std::uint64_t>(parameters.initial))) {}

    // A data frame has come with the low 24 bits of what its sender asks for. A sender without credit for
    // the frame is told its credit at once, since a grant may have been lost.
    void ask(Receiver& receiver, std::uint32_t asked, bool without, Time now, Actions& actions);
    // A frame of so many bytes came trimmed.
    void refuse(Receiver& receiver, std::uint64_t bytes);
    // Grant what is due.
    void run(Time now, Actions& actions);
    Time due() const { return active_.empty() && idle_.empty() ? kNever : next_; }

   private:
    void enqueue(Receiver& receiver);

    CreditParameters parameters_;
    // An active sender gets credit for a frame more than it asks for, so that a last, smaller frame has room;
    // an idle one for its next message.
    std::uint64_t frame_bytes_, spare_;
    Time next_ = 0;           // time from which the next grant may leave
    Ring<Receiver*> active_;  // senders that have more to send than credit
    Ring<Receiver*> idle_;    // senders whose initial credit is to be restored, after all others
};

}  // namespace railyard
