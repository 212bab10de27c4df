// SPDX-License-Identifier: Apache-2.0
// One direction of a link: queues by VL, scheduler, credits for the receive buffers, frames in flight.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frames/frame.h"
#include "frames/pcap_file.h"
#include "frames/recent.h"
#include "frames/ring.h"
#include "index.h"
#include "network/links/queue_policy.h"

namespace railyard {

// Scheduler of the VLs of an output. Deficit: deficit round robin (Shreedhar and Varghese), fair in bytes.
enum class Scheduler : int { Strict, RoundRobin, Deficit };

struct LinkConfig {
    std::int64_t rate_bps = 0;
    Time delay = 0;
    std::int64_t credit_bytes = 0;       // receive buffer of a VL; 0: no flow control, drop-tail
    std::int64_t queue_bytes = 1 << 20;  // drop-tail limit of a VL
    Scheduler scheduler = Scheduler::Strict;
    std::array<std::int64_t, kVls> quanta{};  // Deficit: bytes of a VL in a round
    // Limits by VL in place of queue_bytes, of a link without flow control; null: none.
    std::shared_ptr<const QueuePolicy> policy = nullptr;
};

// Impairment of a channel, for frames sent from now on; none by default.
struct Impairment {
    bool blocked = false;                    // loses all frames
    double loss = 0;                         // probability of losing a frame
    std::optional<std::int64_t> rate_bps{};  // replaces the rate of the link
    Time extra_delay = 0;
};

// Sums over the frames sent, and the longest queue.
struct ChannelLoad {
    Time busy = 0;
    std::uint64_t bytes = 0, max_queued_bytes = 0;
};

// Numbers of frames that did not arrive.
struct ChannelLosses {
    std::uint64_t lost = 0;          // in flight or queued when the link went down
    std::uint64_t impaired = 0;      // sent, and lost by impairment
    std::uint64_t refused_down = 0;  // sent to a link that was down
    std::uint64_t refused_full = 0;  // drop-tail queue full
    std::uint64_t trimmed = 0;       // cut behind their headers, which may have arrived
};

class Switch;
struct Crossing;
struct Host;
struct Link;

// The members that every frame needs stand in the first kHotLines lines of the cache; that order leaves gaps.
class alignas(64) Channel {  // NOLINT(clang-analyzer-optin.performance.Padding)
   public:
    Channel(const LinkConfig& given, std::string called);  // invalid_argument names the wrong value

    bool lossless() const { return config.credit_bytes > 0; }
    // Time on the wire, rounded up: no link exceeds its rate.
    Time serialisation(std::uint32_t bytes) const;

    // Enqueue a frame. False, counted in `losses`, if the frame is refused and stays with the caller;
    // runtime_error if it can never be sent.
    bool put(FrameHandle& frame);
    void check_fits(const Frame& frame) const;
    // False if `put` would drop the frame, or trim it.
    bool admits(const Frame& frame) const {
        const Lane& lane = lanes[frame.vl];
        return lossless() ||
               (config.policy ? config.policy->admits(frame.vl, lane.queued, lane.queue.size(), frame.length)
                              : lane.queued + frame.length <= config.queue_bytes);
    }
    // True if a frame may go on the wire at once, past an empty queue; counted in `load` as a frame that
    // waited in the queue for no time. False without effect but on credits that have returned.
    bool passes(const Frame& frame, Time now);
    // Remove the first frame of a queue; put_back undoes it.
    FrameHandle take(std::size_t vl);
    void put_back(FrameHandle frame);
    // VL to serve now; none if no VL has both a frame and credits for it. Without side effects on the
    // schedule.
    std::optional<std::size_t> next();
    // Put a frame taken from `vl` on the wire at `now`, and append it to `to`; return the end of its
    // transmission.
    struct Flying;
    Time send(FrameHandle frame, std::size_t vl, Time now, Ring<Flying>& to);

    // No frame is under way any more.
    void clear_wire() {
        flying.clear();
        last_arrival_ = 0;
    }

    // Credits on their way back.
    struct Returning {
        Time time = 0;
        std::uint32_t bytes = 0;
        std::uint8_t vl = 0;
    };
    // Add the credits that have returned by `now`.
    void collect(Time now);
    // Free a receive buffer at `when`; its credits return a link delay later.
    void give_back(const Held& freed, Time when);
    void return_credit(Returning credit);
    // Bring the link up, with credits for the free part of the receive buffers.
    void bring_up(Time now);

    void impair(const Impairment& how);  // invalid_argument names the wrong value
    bool impaired() const;
    void seed(std::uint64_t seed) { chance_ = seed; }
    void record(std::shared_ptr<PcapFile> file);  // in addition to earlier files
    void end_recordings() { recorders_.clear(); }
    // Keep the last frames in `recent`, which the other direction may share; null: no longer.
    void keep_recent(std::shared_ptr<RecentFrames> recent, int direction);
    const RecentFrames* recent() const { return recent_.get(); }

    struct Flying {
        Time arrival = 0;
        FrameHandle frame;
    };

    static constexpr std::size_t kHotLines = 3;
    Time busy_until = 0, wake_at = -1;
    std::int64_t rate_bps;      // present rate
    std::uint32_t waiting = 0;  // frames in all queues
    unsigned ready = 0;         // a bit for each VL with frames
    bool up = true;
    bool instrumented = false;             // impaired or recorded; other channels only pay for the test
    bool pausing = false;                  // has `pauses`
    Index<Switch> from_switch, to_switch;  // none: `host`
    std::uint32_t from_port = 0, to_port = 0;
    Index<Host> host;
    Index<Channel> successor;  // channel that has taken over the receive buffer
    Index<Crossing> crossing;  // none: both ends are in the same partition
    Ring<Flying> flying;
    Ring<Returning> returning;  // by time
    ChannelLoad load;
    LinkConfig config;
    ChannelLosses losses;
    std::unique_ptr<Pauses> pauses;  // of a channel with priority flow control
    // State of a VL. held: bytes in the receive buffer; sent: frames.
    struct alignas(64) Lane {
        Ring<FrameHandle> queue;
        std::int64_t queued = 0, credits = 0, held = 0;
        std::uint64_t sent = 0;
    };
    std::array<Lane, kVls> lanes;
    Index<Link> link;  // none: the channel is of the link of `host`
    int direction = 0;
    std::string name;

   private:
    bool has(std::size_t vl) const { return (ready >> vl & 1u) != 0; }
    bool able(std::size_t vl) {
        if (pausing && pauses->stops(vl)) return false;
        return lanes[vl].credits >= lanes[vl].queue.front()->length || !lossless();
    }
    std::optional<std::size_t> highest(unsigned vls);
    std::optional<std::size_t> next_in_turn();
    std::optional<std::size_t> next_by_deficit();
    bool cut(Frame& frame);
    void instrument(Flying& flight, Time now);
    double draw();

    Impairment wrong_;
    Time last_arrival_ = 0;  // of an instrumented channel's frames
    std::uint64_t chance_ = 0;
    std::vector<std::shared_ptr<PcapFile>> recorders_;
    std::shared_ptr<RecentFrames> recent_;
    int direction_ = 0;     // for `recent_`
    std::size_t turn_ = 0;  // the VL whose turn it is
    bool started_ = false;  // the quantum of this turn has been added
    std::array<std::int64_t, kVls> deficits_{};
    unsigned header_lanes_ = 0;  // VLs of trimmed frames, a bit each; none unless a queue trims
    unsigned headers_ = 0;       // frames of these VLs sent since the last frame of another VL
};

}  // namespace railyard
