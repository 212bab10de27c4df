// SPDX-License-Identifier: Apache-2.0
// Partitions of a network: switches with their hosts and links. Each thread runs some of them, one after the
// other: a part of the network stays in the cache better than the whole.
//
// A window is a span of virtual time no longer than the least delay of a link between partitions. What a
// partition does within a window reaches other partitions after the window, so all partitions run their
// windows at the same time. A merge follows, in the order in which a single queue would have run the events,
// and numbers the new events accordingly: results do not depend on the number of partitions.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "frames/frame.h"
#include "frames/ring.h"
#include "network/events/events.h"
#include "network/links/application.h"
#include "network/links/channel.h"
#include "switch/program_shares.h"

namespace railyard {

// The copies of a frame share its receive buffer, until the last copy has left.
struct Share {
    std::uint32_t copies;
    Time until;
};

// An event in a window needed the other partitions to be at its time: a network in a single partition runs
// it. The network that has thrown this cannot go on.
class PartitionError : public std::runtime_error {
   public:
    using std::runtime_error::runtime_error;
};

// A channel from a partition to another. Members that different ends write have lines of the cache of their
// own.
struct Crossing {  // NOLINT(clang-analyzer-optin.performance.Padding)
    Index<Channel> channel;
    std::uint32_t from = 0, to = 0;

    // State of the sending end in a window. `wake_at`, `busy_until` and `waiting` are the channel's at the
    // event that the merge has come to; `window` is the last in which they were read from the channel.
    alignas(64) Ring<Channel::Flying> sent;
    std::uint64_t window = 0;
    Time wake_at = -1, busy_until = 0;
    bool waiting = false;

    // The receiving end has taken the last frame that was under way before the window.
    alignas(64) bool drained = false;
};

// Part of an event in a window that the merge has to complete.
struct Effect {
    enum class Kind : std::uint8_t {
        Sent,      // a frame went into Crossing::sent
        Drained,   // the receiving end has taken all frames sent before the window
        Returned,  // credits return at `time`
        Wakes,     // a wake-up within the window, at `time`, replaced the earlier
        Woken,     // the wake-up of the channel has taken place
        Asked,     // a wake-up at `time`, after the window, unless there is an earlier one
        Blocked,   // all frames wait for credits
        Status,    // busy until `time`; `value`: whether frames wait
        Called,    // the call to the outside with number `value`
    };
    Kind kind;
    std::uint8_t vl = 0;
    std::uint32_t value = 0;
    Index<Crossing> crossing{};
    std::uint32_t created = 0;  // events that the partition had created in the window before
    Time time = 0;
};

// An event that was run in a window; counts as of its end, those of events and effects from the window's
// begin.
struct Executed {
    Time time;
    std::uint64_t number;
    std::uint32_t created, effects;
    std::int64_t network_events, waiting_frames;
};

struct LaterEvent {
    Time time;
    std::uint64_t number;
    EventKind kind;
    std::size_t index;
};

// Work of a thread in windows so far. Waiting time is what the slowest thread of each window took longer.
struct ThreadWork {
    std::uint64_t events = 0;
    double seconds = 0, waiting_seconds = 0;  // of processor time
};

struct alignas(64) Partition {
    Partition(std::uint32_t at, FramePool& frames, ProgramShares& shares, std::uint64_t& next_number)
        : index(at), pool(frames), programs(shares), numbers(&next_number) {}
    Partition(const Partition&) = delete;

    static constexpr Time kNoEnd = std::numeric_limits<Time>::max();

    bool in_window() const { return end != kNoEnd; }
    void note(Effect effect) {
        effect.created = created();
        effects.push_back(effect);
    }
    std::uint32_t created() const { return static_cast<std::uint32_t>(*numbers - first_number); }
    // Number of an event that may have been created in the window, after the merge has come to its creator.
    std::uint64_t merged(std::uint64_t number) const {
        return number < first_number ? number : merged_numbers[number - first_number];
    }

    // Let a call to the outside that an event of this thread makes wait for the merge; false outside of a
    // window.
    static bool defer(std::function<void()> call);

    std::uint32_t index;
    FramePool& pool;
    ProgramShares& programs;
    EventQueue events;
    std::uint64_t* numbers;  // next number of an event
    Time now = 0;
    Time end = kNoEnd;                                    // of the window
    std::int64_t network_events = 0, waiting_frames = 0;  // events of kind Wake and Arrive; frames in queues
    std::uint64_t without_link = 0, hops = 0, failed = 0;
    std::vector<std::uint64_t> bins;
    Outputs out, egress_out;
    std::size_t consulting = 0;                          // applications at work, one within the other
    std::vector<std::shared_ptr<Application>> replaced;  // while they were
    std::vector<Actions::Departure> departures;          // memory for answers
    List<Share> shares;
    std::vector<Index<Share>> free_shares;

    // The last window.
    std::uint64_t first_number = 0, next_number = 0;
    std::int64_t network_before = 0, waiting_before = 0;
    std::vector<Executed> executed;
    std::vector<Effect> effects;
    std::vector<std::function<void()>> calls;
    std::vector<LaterEvent> later, incoming;  // created by this partition; in the merge
    std::vector<std::uint64_t> merged_numbers;
    Time next_time = kNoEnd;  // of the first event after the window
    std::exception_ptr error;
    double seconds = 0;
};

}  // namespace railyard
