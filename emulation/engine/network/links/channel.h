// SPDX-License-Identifier: Apache-2.0
// Channel: a direction of a link, with queues by VL, scheduler, credits and frames in flight.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
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

namespace railyard::switching {

class Switch;

}  // namespace railyard::switching

namespace railyard::network {

using frames::Frame, frames::FrameHandle, frames::FramePool, frames::Held;
using switching::Switch;

// Scheduler of a port's VLs. Deficit: deficit round robin (Shreedhar and Varghese), fair in bytes.
enum class Scheduler : int { Strict, RoundRobin, Deficit };

struct LinkConfig {
    Rate rate{};
    Time delay{};
    Bytes credit_bytes{};        // receive buffer of a VL; 0: no credits, drop-tail
    Bytes queue_bytes{1 << 20};  // drop-tail limit of a VL
    Scheduler scheduler = Scheduler::Strict;
    // For a link without credits: limits by VL that replace queue_bytes; null: none.
    std::shared_ptr<const QueuePolicy> policy = nullptr;
    ByLane<Bytes> quanta{};  // Deficit: bytes of a VL in a round
};

// Impairment of a channel for frames sent from now on; the default impairs nothing.
struct Impairment {
    bool blocked = false;        // loses all frames
    double loss = 0;             // probability of losing a frame
    std::optional<Rate> rate{};  // replaces the rate of the link
    Time extra_delay{};
};

// Load so far: time and bytes of all frames sent, and the longest queue of a VL.
struct ChannelLoad {
    Time busy{};
    Bytes bytes{}, max_queued_bytes{};
};

// Numbers of frames that did not arrive.
struct ChannelLosses {
    std::uint64_t lost = 0;          // in flight or queued when the link went down
    std::uint64_t impaired = 0;      // sent, and lost by impairment
    std::uint64_t refused_down = 0;  // sent to a link that was down
    std::uint64_t refused_full = 0;  // drop-tail queue full
    std::uint64_t trimmed = 0;       // payload removed by a full queue; the headers may have arrived
};

// In place of a lane: none may send.
constexpr Lane kNoLane{kVls};

struct Crossing;
struct Host;
struct Link;

// Members needed for every frame come first, in kHotLines cache lines; that order leaves gaps.
class alignas(64) Channel {  // NOLINT(clang-analyzer-optin.performance.Padding)
   public:
    Channel(LinkConfig given, std::string called);  // invalid_argument names the wrong value

    [[nodiscard]] bool lossless() const { return config.credit_bytes > Bytes(); }
    // Return true if a frame waits to be sent, pause frames included.
    [[nodiscard]] bool has_frames() const { return waiting > 0 || (pausing && !pauses->frames.empty()); }
    // Return the transmission time of a frame.
    [[nodiscard]] Time serialisation(Bytes bytes) const { return transmission_time(bytes, rate_); }

    // Enqueue a frame, trimmed if necessary. If it is refused, count it in `losses`, leave it with the caller
    // and return false. runtime_error if it is larger than the receive buffer.
    bool put(FrameHandle& frame) {
        ASSERT(frame->lane().value() < kVls);
        const bool fits = up && (lossless() ? frame->size() <= config.credit_bytes : admits(*frame));
        if (!fits && !fit(*frame)) return false;
        const Lane at = frame->lane();
        LaneState& lane = lanes[at];
        lane.queued += frame->size();
        lane.queue.push_back(std::move(frame));
        load.max_queued_bytes = std::max(load.max_queued_bytes, lane.queued);
        ready |= bit(at);
        ++waiting;
        return true;
    }
    void check_fits(const Frame& frame) const;
    // Return false if `put` would refuse or trim the frame because of a full queue.
    [[nodiscard]] bool admits(const Frame& frame) const {
        const LaneState& lane = lanes[frame.lane()];
        return lossless() || (config.policy ? config.policy->admits(frame.lane(), lane.queued,
                                                                    lane.queue.size(), frame.size())
                                            : lane.queued + frame.size() <= config.queue_bytes);
    }
    // Return true if a frame may be sent at once, without queueing; `load` then counts it as if it had been
    // queued. Collects returned credits.
    bool passes(const Frame& frame, Time now) {
        if (waiting > 0 || now < busy_until || !up || config.scheduler != Scheduler::Strict) return false;
        if (pausing && (!pauses->frames.empty() || pauses->stops(frame.lane()))) return false;
        if (lossless()) {
            collect(now);
            if (lanes[frame.lane()].credits < frame.size()) return false;
        } else if (!admits(frame)) {
            return false;
        }
        load.max_queued_bytes = std::max<Bytes>(load.max_queued_bytes, frame.size());
        return true;
    }
    // Remove the first frame of a queue; put_back undoes it.
    FrameHandle take(Lane at) {
        LaneState& lane = lanes[at];
        ASSERT(has(at) && waiting > 0);
        FrameHandle frame = lane.queue.pop_front();
        ASSERT(frame->lane() == at);
        lane.queued -= frame->size();
        ASSERT(lane.queued >= Bytes() && (lane.queued == Bytes() || !lane.queue.empty()));
        if (lane.queue.empty()) ready ^= bit(at);
        --waiting;
        return frame;
    }
    void put_back(FrameHandle frame);
    // Return the lane to serve next; kNoLane if no lane has a frame that may be sent. Repeated calls without
    // a send return the same lane.
    Lane next() {
        if (config.scheduler != Scheduler::Strict) [[unlikely]]
            return config.scheduler == Scheduler::RoundRobin ? next_in_turn() : next_by_deficit();
        // In an incast, trimmed frames would fill the link: after kHeadersPerData of them, data has a turn.
        if (headers_ == kHeadersPerData) [[unlikely]]
            if (const Lane data = highest(ready & ~header_lanes_); data != kNoLane) return data;
        return highest(ready);
    }
    struct Flying {
        Time arrival{};
        FrameHandle frame;
    };
    // Send a frame taken from lane `at`, and append it to `to`; return the end of its transmission.
    [[gnu::always_inline]] Time send(FrameHandle frame, Lane at, Time now, frames::Ring<Flying>& to) {
        ASSERT(up && now >= busy_until);  // transmissions do not overlap
        const FrameBytes bytes = frame->size();
        if (config.scheduler != Scheduler::Strict) [[unlikely]]
            end_turn(at, bytes);
        if (header_lanes_ != 0) count_headers(at);
        if (bytes != sent_bytes_) {
            sent_bytes_ = bytes;
            duration_ = serialisation(bytes);
            ASSERT(duration_ >= Time());
        }
        busy_until = now + duration_;
        load.busy += duration_;
        load.bytes += bytes;
        LaneState& lane = lanes[at];
        ++lane.sent;
        if (lossless()) {
            ASSERT_ALWAYS(lane.credits >= bytes);
            lane.credits -= bytes;
        }
        Flying flight{busy_until + config.delay, std::move(frame)};
        if (instrumented) [[unlikely]]
            instrument(flight, now);
        ASSERT(to.empty() || to.back().arrival <= flight.arrival);  // frames keep their order
        to.push_back(std::move(flight));
        return busy_until;
    }

    // Drop all frames in flight.
    void clear_wire() {
        flying.clear();
        last_arrival_ = Time();
    }

    // Credits on their way back to the sender.
    struct Returning {
        Time time{};
        FrameBytes bytes{};
        Lane lane;
    };
    // Make the credits available that have returned by `now`.
    void collect(Time now) {
        while (!returning.empty() && returning.front().time <= now) {
            const Returning credit = returning.pop_front();
            lanes[credit.lane].credits += credit.bytes;
            ASSERT_ALWAYS(lanes[credit.lane].credits <= config.credit_bytes);
        }
    }
    // Free receive buffer at `when`; its credits return a link delay later.
    void give_back(const Held& freed, Time when) {
        ASSERT_ALWAYS(lanes[freed.lane].held >= freed.bytes);
        lanes[freed.lane].held -= freed.bytes;
        return_credit({when + config.delay, freed.bytes, freed.lane});
    }
    void return_credit(Returning credit) {
        ASSERT(lossless() && credit.lane.value() < kVls);
        const bool in_order = returning.empty() || returning.back().time <= credit.time;
        returning.push_back(credit);
        if (!in_order) [[unlikely]]
            sort_last_credit();
        ASSERT(returning.front().time <= credit.time);
    }
    // Bring the channel up, with credits for the free part of the receive buffers.
    void bring_up(Time now);

    void impair(const Impairment& how);  // invalid_argument names the wrong value
    [[nodiscard]] bool impaired() const;
    void seed(std::uint64_t seed) { chance_ = seed; }
    // Record frames in `file`, in addition to earlier files; the caller keeps it until end_recordings().
    void record(frames::PcapFile& file);
    void end_recordings() { recorders_.clear(); }
    // Keep the latest frames in `recent`, which the other direction may share; null: stop.
    void keep_recent(std::shared_ptr<frames::RecentFrames> recent, Direction way);
    [[nodiscard]] const frames::RecentFrames* recent() const { return recent_.get(); }

    // The first line has what every event of the channel reads, the second what moves with frames and
    // credits.
    static constexpr std::size_t kHotLines = 3;
    Time busy_until{}, wake_at = kNever;  // kNever: no wake-up is due
    std::uint32_t waiting = 0;            // frames in all queues
    Index<Channel> index;                 // of this channel, in Links
    std::uint16_t ready = 0;              // a bit for each lane with frames

   private:
    std::uint16_t header_lanes_ = 0;  // VLs of trimmed frames, a bit each; 0 unless a queue trims
    FrameBytes sent_bytes_{};         // of the last frame sent, since most frames have the size of the last
    Time duration_{};                 // of its transmission
    // Frames of header_lanes_ sent since the last frame of another VL, at most kHeadersPerData.
    std::uint8_t headers_ = 0;

   public:
    bool up = true;
    bool instrumented = false;  // is or was impaired or recorded: send() calls instrument()
    bool pausing = false;       // has `pauses`
    Index<Switch> to_switch;    // none: the channel leads to `host`
    Port to_port;
    Index<Host> host;
    Index<Channel> successor;  // channel that now has this channel's receive buffer, after Links::plug
    Index<Crossing> crossing;  // none: both ends are in the same partition
    frames::Ring<Flying> flying;
    frames::Ring<Returning> returning;  // by time
    ChannelLoad load;
    LinkConfig config;
    ChannelLosses losses;
    std::unique_ptr<Pauses> pauses;  // of a channel with priority flow control
    // State of a lane: bytes queued, bytes of credit, bytes held in the receive buffer; frames sent.
    struct alignas(64) LaneState {
        frames::Ring<FrameHandle> queue;
        Bytes queued{}, credits{}, held{};
        std::uint64_t sent = 0;
    };
    ByLane<LaneState> lanes;
    Index<Switch> from_switch;  // none: the channel begins at `host`
    Port from_port;
    Index<Link> link;  // none: the channel joins a switch and `host`
    Direction direction = Direction::Forward;
    std::string name;

   private:
    static std::uint16_t bit(Lane lane) { return static_cast<std::uint16_t>(1u << lane.value()); }
    [[nodiscard]] bool has(Lane lane) const { return (ready & bit(lane)) != 0; }
    bool able(Lane lane) {
        if (pausing && pauses->stops(lane)) return false;
        return !lossless() || lanes[lane].credits >= lanes[lane].queue.front()->size();
    }
    // Return the highest lane of the mask that may send; kNoLane if no lane may. Lanes are in the order of
    // standard_metadata.priority, which BMv2 serves in the same order.
    Lane highest(unsigned mask) {
        while (mask != 0) {
            const Lane lane(std::bit_width(mask) - 1);
            if (able(lane)) return lane;
            mask &= ~bit(lane);
        }
        return kNoLane;
    }
    Lane next_in_turn();
    Lane next_by_deficit();
    bool fit(Frame& frame);
    bool cut(Frame& frame);
    void end_turn(Lane lane, FrameBytes bytes);
    void count_headers(Lane lane);
    void sort_last_credit();
    void instrument(Flying& flight, Time now);
    void set_rate(Rate rate);
    double draw();

    Rate rate_;  // current rate, with impairment
    Impairment wrong_;
    Time last_arrival_{};       // latest arrival of frames sent while instrumented
    std::uint64_t chance_ = 0;  // state of the random number generator
    std::vector<frames::PcapFile*> recorders_;
    std::shared_ptr<frames::RecentFrames> recent_;
    Direction direction_ = Direction::Forward;  // for `recent_`
    std::size_t turn_ = 0;                      // lane whose turn it is in round robin
    bool started_ = false;                      // the quantum of this turn has been added
    ByLane<Bytes> deficits_{};
};

}  // namespace railyard::network
