// SPDX-License-Identifier: Apache-2.0
// Sending end of a reliable connection: frames in flight, the round-trip estimate (RFC 6298), the
// retransmission timer. Without congestion control, only the timer triggers retransmissions; they are
// selective. tests/oracle/transport.py is the specification.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frames/frame.h"
#include "hosts/application.h"
#include "hosts/messages/codec.h"
#include "hosts/messages/payloads.h"
#include "hosts/paths/entropies.h"
#include "hosts/paths/spray.h"
#include "hosts/transport/allowance.h"
#include "hosts/transport/credits.h"
#include "hosts/transport/frame_set.h"

namespace railyard::hosts {

struct TransportParameters {
    std::uint32_t window = 64, ack_every = 16;
    Time ack_delay{}, initial_rto{}, min_rto{}, path_rto{}, max_rto{};
    int max_retries = 10, lb_mode = 1;
    std::uint32_t first_psn = 0;
    std::uint16_t first_queue = 0;  // lowest number of the queues of all connections of the traffic
    int level = 0;                  // service level of data
    bool adaptive = false;          // frames leave congested paths
    Templates templates;
    // Creates the congestion control of a connection; none: only `window` bounds the frames in flight.
    std::function<std::unique_ptr<CongestionControl>()> congestion{};
    Bytes frame_bytes{};                        // size of the largest frame, for congestion control
    std::optional<CreditParameters> credits{};  // receivers grant credits to `congestion`
    bool go_back = false;  // after a loss, retransmit all frames from the lost frame on; single path
    bool lossy = false;    // full queues drop frames, so a loss does not show that a path has failed
    // Name of the spraying algorithm (make_entropies); empty: none. It chooses among `entropies` values of
    // the header field lb (load balancing) if switches choose the paths, otherwise among all buckets.
    std::string spray{};
    std::uint32_t entropies = 256;
    std::uint64_t seed = 0;

    // VL of data, the first of the two of its service level.
    [[nodiscard]] Vl vl() const { return Vl(2 * level); }
};

class Sender {
   public:
    Sender(const TransportParameters& parameters, const DataWriter& writer, std::uint8_t lb,
           std::unique_ptr<Entropies> entropies, Payloads& payloads);
    Sender(const Sender&) = delete;
    virtual ~Sender() { detach(); }

    // Return the number of frames from the oldest unacknowledged frame to the newest sent.
    [[nodiscard]] std::uint32_t in_flight() const { return (next_psn_ - base_) & kPsnMask; }
    [[nodiscard]] virtual bool has_room() const {
        return in_flight() < parameters_.window &&
               (!allowance_ || (lost_.empty() && allowance_->admits(backlog)));
    }
    // Return true if congestion control limits the connection. An acknowledgement may then admit frames even
    // if it does not move the window.
    [[nodiscard]] bool limited() const { return allowance_ != nullptr; }
    // Return the time at which on_timeout or `open` must be called.
    [[nodiscard]] Time due() const { return allowance_ ? std::min(timer, allowance_->due()) : timer; }
    // Lift the limits of congestion control whose time has come; return false if there are none.
    bool open(Time now);
    // Take the report that a frame arrived trimmed, as headers without payload.
    void on_trim(std::uint32_t psn, Time now);
    // Take the report that this frame is missing: it and all later frames in flight are lost.
    void go_back(std::uint32_t psn, Time now);
    // Take a grant; `granted`: cumulative bytes.
    void on_credit(Bytes granted, Time now);

    // Send the next frame; has_room must be true. `last`: no other frame is ready.
    virtual void send(const Message& message, std::uint32_t slice, std::uint32_t start, bool last, Time now,
                      Actions& actions);
    // Take an acknowledgement; return whether the window moved. An old or invalid acknowledgement changes
    // nothing. `marks`: buckets of marked frames that have arrived since the last acknowledgement.
    // Bit i of `map` stands for PSN ack_psn + 1 + skipped + i.
    virtual bool on_ack(std::uint32_t ack_psn, std::uint64_t map, Time now, std::uint8_t flags,
                        BucketSet marks, std::uint32_t skipped = 0);
    // Retransmit the frames that are due, or give up the connection and set failed_psn.
    virtual void on_timeout(Time now, Actions& actions);
    // Retransmit lost frames while congestion control admits frames.
    virtual void resend_lost(Time now, Actions& actions);
    // PathSender overrides the next three.
    virtual void rearm(Time) {}
    virtual void on_reroute(BucketSet, Time, Actions&) {}
    [[nodiscard]] virtual BucketSet silent_buckets() const { return 0; }
    // Release the payloads of all frames.
    void detach();

    Time timer = kNever;  // time at which on_timeout is due
    Time rtt{}, rttvar{};
    std::uint64_t sent = 0, retransmitted = 0, acks = 0, trimmed = 0;
    Bytes backlog{};                          // bytes that are ready to be sent, for credits
    Bytes unfinished{};                       // bytes sent and not yet cumulatively acknowledged
    Bytes delivered{};                        // bytes of payload that are cumulatively acknowledged
    std::optional<std::uint32_t> failed_psn;  // oldest frame of a connection given up

   protected:
    [[nodiscard]] virtual Time estimate() const;
    // Send the next frame with a load-balance value, and return its record.
    Sent& send_by(std::uint8_t lb, const Message& message, std::uint32_t slice, std::uint32_t start,
                  bool last, Time now, Actions& actions);
    // Report the fate of a frame to the spraying algorithm.
    void note_path(std::uint8_t lb, PathNews news, Time now) {
        if (entropies_) entropies_->note(lb, news, now);
    }
    Sent& at(std::uint32_t psn) { return frames_[psn & (frames_.size() - 1)]; }
    // Return true if the frame at this distance from the oldest is selectively acknowledged.
    [[nodiscard]] bool marked(std::uint32_t distance) const { return sacked_.has(distance); }
    // Return the index of a frame in flight in tables of the window's size.
    [[nodiscard]] std::uint32_t slot(std::uint32_t psn) const { return psn & last_slot_; }
    void send_again(std::uint32_t psn, std::uint8_t lb, bool ack_now, Time now, Actions& actions);
    // Note that a frame is lost, for congestion control and resend_lost. Needs an allowance.
    void note_lost(std::uint32_t psn);

    const TransportParameters& parameters_;
    std::unique_ptr<Entropies> entropies_;  // null: no spraying algorithm
    std::uint8_t lb_;
    std::uint32_t base_, next_psn_, recover_;
    std::uint32_t last_slot_;  // number of slots, a power of two, less 1
    FrameSet sacked_;          // selectively acknowledged frames, by distance from the oldest
    bool again_ = false;       // frames before recover_ may have been sent twice: no round-trip samples
    Time rto_;
    int retries_ = 0;
    std::unique_ptr<Allowance> allowance_;  // null: without congestion control
    FrameSet lost_;                         // frames that wait for retransmission, by slot

   private:
    void acknowledge(std::uint32_t moved, std::uint32_t from, std::uint64_t news, BucketSet marks, Time now);
    std::uint8_t next_lb();
    void make_room();
    void sample(Time rtt_now);

    DataWriter writer_;
    Payloads& payloads_;
    Bytes granted_{};           // cumulative bytes
    std::vector<Sent> frames_;  // by the low bits of the PSN; the size is a power of two
};

}  // namespace railyard::hosts
