// SPDX-License-Identifier: Apache-2.0
// Sending end of a connection that knows its paths. It detects losses by the order of frames on a path, by
// age, or by silence, and retransmits lost frames at once. tests/oracle/paths/sender.py is the specification
// and explains the three.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "hosts/paths/path_delays.h"
#include "hosts/paths/spray.h"
#include "hosts/transport/sender.h"

namespace railyard::hosts {

class PathSender final : public Sender {
   public:
    PathSender(const TransportParameters& parameters, const DataWriter& writer, Spray spray,
               std::unique_ptr<Entropies> entropies, const std::vector<PathTiming>& timings,
               RoundTrips& trips, Payloads& payloads);

    // Return true if the window has room and not all paths are slow. If all are slow, only few frames may be
    // in flight.
    [[nodiscard]] bool has_room() const override;
    void send(const Message& message, std::uint32_t slice, std::uint32_t start, bool last, Time now,
              Actions& actions) override;
    // Take an acknowledgement as a Sender does, and collect lost frames for resend_lost. The flag
    // kRetransmission says that a retransmitted frame has arrived since the last acknowledgement.
    bool on_ack(std::uint32_t ack_psn, std::uint64_t map, Time now, std::uint8_t flags, BucketSet marks,
                std::uint32_t skipped = 0) override;
    void on_timeout(Time now, Actions& actions) override;
    void resend_lost(Time now, Actions& actions) override;
    // Shorten a timer that was set before the agent had measured any round trip.
    void rearm(Time now) override;
    // Note that these buckets have new routes. Retransmit the newest frame in flight in these buckets: its
    // acknowledgement tells which frames have arrived by the former routes.
    void on_reroute(BucketSet buckets, Time now, Actions& actions) override;
    // Return the buckets whose paths are silent or avoided; none before several timeouts in a row.
    [[nodiscard]] BucketSet silent_buckets() const override;

   protected:
    [[nodiscard]] Time estimate() const override;

   private:
    void arrived(std::uint32_t base, std::uint64_t news, Time now, bool again, BucketSet marks);
    void find_lost(bool answered, Time now);
    std::uint8_t other_lb(std::uint32_t psn, Time now);
    [[nodiscard]] bool took_former_route(const Sent& frame) const {
        return frame.order < moved_[frame.lb % kBuckets];
    }
    void again_by(const std::vector<std::uint32_t>& psns, Time now, bool other, Actions& actions);

    Spray spray_;
    RoundTrips& trips_;
    std::unique_ptr<PathDelays> delays_;  // null: frames do not leave congested paths
    std::int64_t order_ = 0;
    // Resets of the count of timeouts by new routes since the last acknowledgement of a new frame.
    int asks_ = 0;
    ByPath<std::int64_t> top_{-1};      // order of the last frame known to have arrived
    std::int64_t highest_ = -1;         // maximum of top_
    ByPath<Time> silent_{kUnset};       // time of the first timeout; kUnset: the path is not silent
    bool asked_ = false;                // on_reroute has sent a frame that is not acknowledged
    Time next_timeout_{};               // time of the next timeout; probes leave before
    Time newest_{};                     // sending time of the newest frame known to have arrived
    Time heard_{};                      // time of the last acknowledgement of a new frame
    Time late_at_ = kNever;             // time at which the oldest frame is late on a congested path
    std::vector<std::uint32_t> found_;  // PSNs of lost frames, for resend_lost
    std::array<std::int64_t, kBuckets> moved_{};  // by bucket, order of the first frame on the present route
};

}  // namespace railyard::hosts
