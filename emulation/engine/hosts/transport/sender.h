// SPDX-License-Identifier: Apache-2.0
// Sending end of a reliable connection, as in tests/oracle/transport.py: frames in flight, the
// round-trip estimate (RFC 6298), the retransmission timer. Retransmission is selective, by a timer only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frames/frame.h"
#include "hosts/messages/codec.h"
#include "hosts/messages/payloads.h"
#include "hosts/paths/entropies.h"
#include "hosts/paths/spray.h"
#include "hosts/transport/allowance.h"
#include "hosts/transport/credits.h"
#include "network/links/application.h"

namespace railyard {

struct TransportParameters {
    std::uint32_t window = 64, ack_every = 16;
    Time ack_delay = 0, initial_rto = 0, min_rto = 0, path_rto = 0, max_rto = 0;
    int max_retries = 10, lb_mode = 1;
    std::uint32_t first_psn = 0;
    std::uint16_t first_queue = 0;  // lowest number of the queues of all connections of the traffic
    int level = 0;                  // service level of data
    bool adaptive = false;          // frames leave congested paths
    Templates templates;
    // Makes the congestion control of a connection; none: `window` alone bounds what is under way.
    std::function<std::unique_ptr<CongestionControl>()> congestion;
    std::int64_t frame_bytes = 0;               // of the largest frame, for congestion control
    std::optional<CreditParameters> credits{};  // receivers grant credits to `congestion`
    bool go_back = false;  // after a loss all frames from the lost one on go again, on a single path
    bool lossy = false;    // full queues lose frames, which says nothing of the health of paths
    // Spraying by feedback, by its name: over so many values of lb where switches choose, else over all
    // buckets.
    std::string spray{};
    std::uint32_t entropies = 256;
    std::uint64_t seed = 0;
};

class Sender {
   public:
    Sender(const TransportParameters& parameters, const DataWriter& writer, std::uint8_t lb,
           std::unique_ptr<Entropies> entropies, Payloads& payloads);
    Sender(const Sender&) = delete;
    virtual ~Sender() { detach(); }

    // Frames from the oldest unacknowledged frame to the newest sent.
    std::uint32_t in_flight() const { return (next_psn_ - base_) & kPsnMask; }
    virtual bool has_room() const {
        return in_flight() < parameters_.window &&
               (!allowance_ || (lost_ == 0 && allowance_->admits(backlog)));
    }
    // True if congestion control bounds what is under way, which then may leave without a move of the window.
    bool limited() const { return allowance_ != nullptr; }
    // Time at which on_timeout, or `open`, is due.
    Time due() const { return allowance_ ? std::min(timer, allowance_->due()) : timer; }
    // Let the rate admit the next frame once its time has come; return whether it has.
    bool open(Time now);
    // The receiver has got the headers of a frame alone.
    void on_trim(std::uint32_t psn, Time now);
    // The receiver misses this frame, and has given up those after it.
    void go_back(std::uint32_t psn, Time now);
    // The receiver has granted so many bytes in all.
    void on_credit(std::uint64_t granted, Time now);

    // Send the next frame, after has_room; `last` if no other frame follows for now.
    virtual void send(const Message& message, std::uint32_t slice, std::uint32_t start, bool last, Time now,
                      Actions& actions);
    // Take an acknowledgement; return whether the window moved. Old or invalid ones change nothing.
    // `marks`: buckets of marked frames that have arrived since the last acknowledgement.
    virtual bool on_ack(std::uint32_t ack_psn, std::uint64_t sack, Time now, std::uint8_t flags,
                        BucketSet marks);
    // Send again what is due; sets failed_psn if the connection is given up.
    virtual void on_timeout(Time now, Actions& actions);
    // Send lost frames again, as far as congestion control admits.
    virtual void resend_lost(Time now, Actions& actions);
    // For senders that know their paths.
    virtual void rearm(Time) {}
    virtual void on_reroute(BucketSet, Time, Actions&) {}
    virtual BucketSet silent_buckets() const { return 0; }
    void detach();

    Time timer = kNever;  // time at which on_timeout is due
    Time rtt = 0, rttvar = 0;
    std::uint64_t sent = 0, retransmitted = 0, acks = 0, trimmed = 0;
    std::uint64_t backlog = 0;                // bytes that are ready to be sent, for credits
    std::uint64_t unfinished = 0;             // bytes sent and not yet cumulatively acknowledged
    std::uint64_t delivered = 0;              // bytes of payload that are cumulatively acknowledged
    std::optional<std::uint32_t> failed_psn;  // oldest frame of a connection given up

   protected:
    virtual Time estimate() const;
    virtual std::uint8_t next_lb();
    // Tell the choice of entropies what became of a frame.
    void note_path(std::uint8_t lb, PathNews news, Time now) {
        if (entropies_) entropies_->note(lb, news, now);
    }
    Sent& at(std::uint32_t psn) { return frames_[psn & (frames_.size() - 1)]; }
    bool marked(std::uint32_t place) const { return place > 0 && (sacked_ >> (place - 1) & 1) != 0; }
    void send_again(std::uint32_t psn, std::uint8_t lb, bool ack_now, Time now, Actions& actions);
    // Note a frame for resend_lost, which congestion control has admitted before.
    void note_lost(std::uint32_t psn);

    const TransportParameters& parameters_;
    std::unique_ptr<Entropies> entropies_;  // null: frames take values of lb in turn, or by shares
    std::uint8_t lb_;
    std::uint32_t base_, next_psn_, recover_;
    std::uint64_t sacked_ = 0;  // bit i: base + 1 + i is acknowledged
    bool again_ = false;        // frames before recover_ were sent twice and give no round-trip sample
    Time rto_;
    int retries_ = 0;
    std::unique_ptr<Allowance> allowance_;  // null: without congestion control
    std::uint64_t lost_ = 0;                // by slot, frames that wait to go again; only with an allowance

   private:
    void acknowledge(std::uint32_t moved, std::uint64_t news, BucketSet marks, Time now);
    void make_room();
    void sample(Time rtt_now);

    DataWriter writer_;
    Payloads& payloads_;
    std::uint64_t granted_ = 0;  // bytes, in all
    std::vector<Sent> frames_;   // by the last bits of the PSN: a power of two, at least the frames in flight
};

}  // namespace railyard
