// SPDX-License-Identifier: Apache-2.0
// Receiving end of a reliable connection: received PSNs, and the time of the next acknowledgement.
// tests/oracle/transport.py is the specification.
#pragma once

#include <cstdint>
#include <optional>

#include "hosts/messages/codec.h"
#include "hosts/paths/spray.h"
#include "hosts/transport/credits.h"
#include "hosts/transport/frame_set.h"
#include "hosts/transport/sender.h"

namespace railyard::hosts {

class Receiver {
   public:
    // Verdict on a frame. Beyond: the PSN is outside any window. Early: the frame follows a gap and is
    // discarded, since the sender goes back (go_back).
    enum class Accepted : std::uint8_t { New, Duplicate, Beyond, Early };

    Receiver(const TransportParameters& parameters, const AckWriter& writer, std::uint8_t lb,
             std::optional<Spray> paths);

    // Take a frame, and set ack_at.
    Accepted accept(std::uint32_t psn, std::uint8_t flags, Time now);
    // Note that a frame with this load-balance value was marked; the next acknowledgement tells the sender.
    void note_mark(std::uint8_t lb) {
        ++marked;
        marks_ = static_cast<BucketSet>(marks_ | 1u << lb % kBuckets);
    }
    // Return the buckets whose paths have lost acknowledgements, after several duplicates in a row; otherwise
    // none.
    BucketSet silent_buckets();
    // Return true if the last acknowledgement took one of these buckets, or if this end has asked for other
    // paths since. Always false if the paths are not known.
    [[nodiscard]] bool last_by(BucketSet buckets) const {
        if (!paths_ || wants_path_) return wants_path_;
        return last_ >= 0 && (buckets >> last_ % static_cast<int>(kBuckets) & 1u) != 0;
    }
    void acknowledge(Time now, Actions& actions);
    // Take a trimmed frame: tell the sender that the payload is missing. If the whole frame has arrived,
    // acknowledge instead. Return whether the payload is missing.
    bool refuse(std::uint32_t psn, Time now, Actions& actions);
    // Ask the sender to go back to the first missing frame; once for each missing frame.
    void ask_back(Time now, Actions& actions);
    // Tell the sender its credit.
    void grant(Time now, Actions& actions);

    Credit credit;
    Time ack_at = kNever;  // latest time of the next acknowledgement
    std::uint64_t acks = 0, duplicates = 0, marked = 0, refused = 0;

   private:
    std::uint8_t next_lb(Time now);
    // Return the number of frames between the first missing frame and the map of an acknowledgement.
    [[nodiscard]] std::uint32_t skipped() const;

    const TransportParameters& parameters_;
    std::uint8_t lb_, echo_ = 0;
    BucketSet marks_ = 0;      // buckets of marked frames since the last acknowledgement
    int last_ = -1;            // load-balance value of the last acknowledgement; -1: none
    int repeated_ = 0;         // retransmitted duplicates in a row, a single count for each acknowledgement
    bool wants_path_ = false;  // this end has asked for other paths since the last acknowledgement
    std::uint32_t expected_, unacknowledged_ = 0;
    std::optional<std::uint32_t> asked_back_;  // first missing PSN for which ask_back has asked
    // Newest PSN that asked for an acknowledgement while earlier frames were missing; acknowledged again once
    // they have arrived.
    std::optional<std::uint32_t> owed_;
    FrameSet received_;     // numbers i of the received frames expected + 1 + i
    std::uint32_t newest_;  // PSN of the frame that arrived last; the map of an acknowledgement ends there
    AckWriter writer_;
    std::optional<Spray> paths_;
};

}  // namespace railyard::hosts
