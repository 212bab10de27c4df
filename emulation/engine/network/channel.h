// SPDX-License-Identifier: Apache-2.0
// One direction of a link: queues a VL, who of them is next, the credits of the far end's buffers, frames on the wire.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frames/frame.h"
#include "frames/pcap_file.h"
#include "frames/ring.h"

namespace railyard {

// What standard_metadata.priority can name; a network may have two lanes of each (Network::set_lanes).
constexpr int kPriorities = 8;
constexpr int kVls = 2 * kPriorities;

// Which VL an output serves next. Deficit: Shreedhar and Varghese's deficit round robin, fair in bytes.
enum class Scheduler : int { Strict, RoundRobin, Deficit };

struct LinkConfig {
    std::int64_t rate_bps = 0;
    Time delay = 0;
    std::int64_t credit_bytes = 0;       // receive buffer a VL; 0: no flow control, drop-tail
    std::int64_t queue_bytes = 1 << 20;  // drop-tail limit a VL
    Scheduler scheduler = Scheduler::Strict;
    std::array<std::int64_t, kVls> quanta{};  // of Deficit: bytes of a VL in a round
};

// What is wrong with a channel, for frames that begin to be sent from now on; the default is nothing.
struct Impairment {
    bool blocked = false;  // all of them vanish
    double loss = 0;       // the probability that one does
    std::optional<std::int64_t> rate_bps;  // instead of the link's own
    Time extra_delay = 0;
};

struct ChannelStats {
    std::uint64_t frames = 0, bytes = 0;
    Time busy = 0;
    std::uint64_t max_queued_bytes = 0;
    std::uint64_t lost = 0;          // on the wire or in the queue when the link went down
    std::uint64_t impaired = 0;      // sent, and vanished for what is wrong with the channel
    std::uint64_t refused_down = 0;  // sent to a link that was down
    std::uint64_t refused_full = 0;  // drop-tail queue full
    std::array<std::uint64_t, kVls> frames_by_vl{};
};

class Channel {
   public:
    Channel(const LinkConfig& config, std::string name);  // invalid_argument names what is wrong with it

    bool lossless() const { return config.credit_bytes > 0; }
    // Rounded up, so that no link is ever faster than it says.
    Time serialisation(std::uint32_t bytes) const;

    // False when the frame is refused, and counted as such; the caller keeps it then. runtime_error when it can never be sent.
    bool put(FrameHandle& frame);
    void check_fits(const Frame& frame) const;
    // Out of its queue, to be sent or looked at; put_back undoes it.
    FrameHandle take(int vl);
    void put_back(FrameHandle frame);
    // The VL to serve now, -1 when none has both a frame and the credits for it. Asking twice changes nothing.
    int next();
    // What was taken from `vl` goes on the wire at `now`: until when that takes.
    Time send(FrameHandle frame, int vl, Time now);

    // Credits that are back by `now` count again.
    void collect(Time now);
    // A buffer of the far end is free from `when` on; its credit is back a link delay later.
    void give_back(const Held& held, Time when);
    // With the credits for what of the far end's buffers is free.
    void bring_up(Time now);

    void impair(const Impairment& how);  // invalid_argument names what is wrong with it
    void seed(std::uint64_t seed) { chance_ = seed; }
    void record(std::shared_ptr<PcapFile> file);  // and in those it is recorded in already
    void end_recordings() { recorders_.clear(); }

    struct Flying {
        Time arrival = 0;
        FrameHandle frame;
        bool lost = false;  // it takes its time and its place, and is not there at the end
    };

    LinkConfig config;
    std::int64_t rate_bps;  // as it is now
    bool up = true;
    bool instrumented = false;  // impaired or recorded, ever: all others pay one branch for it
    unsigned ready = 0;  // a bit for each VL with frames
    std::size_t waiting = 0;
    Time busy_until = 0, wake_at = -1;
    int link = -1, direction = 0;     // host links: -1, host number
    int to_switch = -1, to_port = 0;  // or
    int to_host = -1;
    int from_switch = -1, from_port = 0;
    int successor = -1;  // the channel that leads to the same receive buffer now
    Ring<Flying> flying;
    struct Returning {
        Time time;
        std::int64_t bytes;
        int vl;
        bool operator<(const Returning& o) const { return time > o.time; }
    };
    std::vector<Returning> returning;  // a heap
    ChannelStats stats;
    std::array<std::int64_t, kVls> queued{}, credits{}, held{};  // held: in the receiver's buffer
    std::array<Ring<FrameHandle>, kVls> queues;
    std::string name;

   private:
    bool has(int vl) const { return (ready >> vl & 1u) != 0; }
    bool able(int vl) { return credits[static_cast<std::size_t>(vl)] >= queues[static_cast<std::size_t>(vl)].front()->length || !lossless(); }
    int next_in_turn();
    int next_by_deficit();
    void instrument(Flying& flight, Time now);
    double draw();

    Impairment wrong_;
    std::uint64_t chance_ = 0;
    std::vector<std::shared_ptr<PcapFile>> recorders_;
    int turn_ = 0;          // the VL whose turn it is
    bool started_ = false;  // it has had the quantum of this turn
    std::array<std::int64_t, kVls> deficits_{};
};

}  // namespace railyard
