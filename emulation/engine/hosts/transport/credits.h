// SPDX-License-Identifier: Apache-2.0
// Credits that a receiver grants to its senders, by receiver credit congestion control of Ultra Ethernet
// (Specification 1.0, section 3.6.14). The receiver paces its grants at the rate of its link; all senders
// together then send at that rate. Byte counts are cumulative over a connection.
#pragma once

#include <algorithm>
#include <cstdint>

#include "frames/ring.h"
#include "hosts/application.h"

namespace railyard::hosts {

class Receiver;

struct CreditParameters {
    Bytes initial{};  // bytes that a sender may send before the first grant
    Rate rate{};      // of all grants together
};

// Credit of a connection at its receiver, in bytes.
struct Credit {
    Bytes asked{};    // for which the sender has asked: sent or ready
    Bytes refused{};  // of frames that arrived trimmed; the sender retransmits them
    Bytes granted{};
    bool known = false;                 // the sender has asked for credit
    bool active = false, idle = false;  // the receiver waits in the queue of this name
};

class CreditGrants {
   public:
    CreditGrants(const CreditParameters& parameters, Bytes frame_bytes)
        : parameters_(parameters),
          frame_bytes_(frame_bytes),
          spare_(std::max(frame_bytes_, parameters.initial)) {}

    // Take the request of a data frame; `asked`: low 24 bits of the sender's cumulative request in bytes.
    // `without`: the sender had no credit for the frame. A grant may have been lost, so repeat the sender's
    // credit at once.
    void ask(Receiver& receiver, std::uint32_t asked, bool without, Time now, Actions& actions);
    // Note that a frame of `bytes` arrived trimmed.
    void refuse(Receiver& receiver, Bytes bytes);
    // Send the grants that are due by `now`.
    void run(Time now, Actions& actions);
    // Return the time at which `run` must be called.
    [[nodiscard]] Time due() const { return active_.empty() && idle_.empty() ? kNever : next_; }

   private:
    void enqueue(Receiver& receiver);

    CreditParameters parameters_;
    // Credit beyond the request. An active sender gets one frame more, so that a smaller last frame fits; an
    // idle sender gets its initial credit, or one frame if that is more, for its next message.
    Bytes frame_bytes_{}, spare_{};
    Time next_{};                     // time from which the next grant may leave
    frames::Ring<Receiver*> active_;  // connections whose senders need more credit; served first
    frames::Ring<Receiver*> idle_;    // connections whose initial credit is to be restored
};

}  // namespace railyard::hosts
