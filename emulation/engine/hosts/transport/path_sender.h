// SPDX-License-Identifier: Apache-2.0
// Sending end of a connection that knows its paths, as in tests/oracle/paths/sender.py: losses are
// found by order on a path, by age, or by silence, and lost frames go again at once.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "hosts/paths/path_delays.h"
#include "hosts/paths/spray.h"
#include "hosts/transport/sender.h"

namespace railyard {

class PathSender final : public Sender {
   public:
    PathSender(const TransportParameters& parameters, const DataWriter& writer, Spray spray,
               std::unique_ptr<Entropies> entropies, const std::vector<PathTiming>& timings,
               RoundTrips& trips, Payloads& payloads);

    // Also false while all paths are slow and few more frames may be under way.
    bool has_room() const override;
    void send(const Message& message, std::uint32_t slice, std::uint32_t start, bool last, Time now,
              Actions& actions) override;
    // Also finds lost frames, for resend_lost. The flag says that a frame sent again has arrived since the
    // last acknowledgement.
    bool on_ack(std::uint32_t ack_psn, std::uint64_t sack, Time now, std::uint8_t flags,
                BucketSet marks) override;
    void on_timeout(Time now, Actions& actions) override;
    void resend_lost(Time now, Actions& actions) override;
    // Shorten a timer that was set before the agent had measured any round trip.
    void rearm(Time now) override;
    // Ask by a probe, the newest frame under way in these buckets, which frames arrived by former routes.
    void on_reroute(BucketSet buckets, Time now, Actions& actions) override;
    // Buckets whose paths are silent or avoided, once timeouts call for other paths.
    BucketSet silent_buckets() const override;

   protected:
    Time estimate() const override;
    std::uint8_t next_lb() override { return lb_; }  // `send` has chosen it

   private:
    void arrived(std::uint32_t psn, Time now, bool again, BucketSet marks);
    void find_lost(bool answered, Time now);
    std::uint8_t other_lb(std::uint32_t psn, Time now);
    bool took_former_route(const Sent& frame) const { return frame.order < moved_[frame.lb % kBuckets]; }
    void again_by(const std::vector<std::uint32_t>& psns, Time now, bool other, Actions& actions);

    Spray spray_;
    RoundTrips& trips_;
    std::unique_ptr<PathDelays> delays_;  // null: frames do not leave congested paths
    std::int64_t order_ = 0;
    int asks_ = 0;                                // times that timeouts have begun anew since the last news
    ByPath<std::int64_t> top_{-1};                // order of the last frame known to have arrived
    ByPath<Time> silent_{-1};                     // time of the probe, of a path on which a frame timed out
    std::array<std::int64_t, kBuckets> moved_{};  // order of the first frame on the present route
    bool asked_ = false;                          // a probe asks which frames arrived by former routes
    Time next_timeout_ = 0;                       // time of the next timeout; probes go before
    Time newest_ = 0;                             // time at which a frame was sent that has arrived
    Time heard_ = 0;                              // time of the last news
    Time late_at_ = kNever;             // time at which a frame has waited too long on a congested path
    std::vector<std::uint32_t> found_;  // PSNs of lost frames that nothing has been done about
};

}  // namespace railyard
