// SPDX-License-Identifier: Apache-2.0
// Partitions of a network: switches with their hosts and links. Each thread runs some partitions, one after
// the other: a part of the network stays in the cache better than the whole.
//
// A window is a span of virtual time no longer than the least delay of a link between partitions. Effects of
// a partition reach other partitions only after the window, so all partitions run a window in parallel. A
// merge follows: it goes through the events in the order of a single queue, and numbers the new events
// accordingly. Results therefore do not depend on the number of partitions.
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
#include "hosts/application.h"
#include "network/events/events.h"
#include "network/links/channel.h"
#include "switch/program_shares.h"

namespace railyard::network {

using hosts::Actions, hosts::Application;

// Receive buffer shared by the copies of a frame: copies that have not left, and the latest departure so far.
struct Share {
    std::uint32_t copies;
    Time until;
};

// An event in a window needed other partitions at its own time. The network cannot continue; run the scenario
// in a single partition.
class PartitionError : public std::runtime_error {
   public:
    using std::runtime_error::runtime_error;
};

// A channel between two partitions. Members written by different ends have separate cache lines.
struct Crossing {  // NOLINT(clang-analyzer-optin.performance.Padding)
    Index<Channel> channel;
    std::uint32_t from = 0, to = 0;

    // State of the sending end in a window: `sent` frames; `wake_at`, `busy_until` and `waiting` of the
    // channel at the merge's position; `window` in which these were last read from the channel.
    alignas(64) frames::Ring<Channel::Flying> sent;
    std::uint64_t window = 0;
    Time wake_at = kNever, busy_until{};
    bool waiting = false;

    // The receiving end has taken all frames that were in flight before the window.
    alignas(64) bool drained = false;
};

// Effect of an event in a window that the merge has to complete.
struct Effect {
    enum class Kind : std::uint8_t {
        Sent,      // a frame went into Crossing::sent
        Drained,   // the receiving end has taken all frames sent before the window
        Returned,  // credits return at `time`
        Wakes,     // the channel's wake-up is now at `time`, within the window
        Woken,     // the channel's wake-up has taken place
        Asked,     // a wake-up is wanted at `time`, after the window, unless an earlier one is pending
        Blocked,   // all frames of the channel wait for credits
        Status,    // the channel is busy until `time`; `value`: 1 if frames wait
        Called,    // a deferred call to the outside; `value`: its index in Partition::calls
    };
    Kind kind;
    Lane lane{};
    std::uint32_t value = 0;
    Index<Crossing> crossing{};
    std::uint32_t created = 0;  // events that the partition had created in the window before this effect
    Time time{};
};

// An event that ran in a window: the events that it created, its effects, and by how much it changed the
// partition's counts.
struct Executed {
    Time time;
    std::uint64_t number;
    std::uint16_t created, effects;
    std::int16_t network_events, waiting_frames;
};

struct LaterEvent {
    Time time;
    std::uint64_t number;
    EventKind kind;
    std::size_t index;
};

// Work of a thread in all windows so far. Waiting: processor time that the slowest thread of each window took
// longer than this thread.
struct ThreadWork {
    std::uint64_t events = 0;
    double seconds = 0, waiting_seconds = 0;  // of processor time
};

struct alignas(64) Partition {
    Partition(std::uint32_t at, FramePool& frames, switching::ProgramShares& shares,
              std::uint64_t& next_number)
        : index(at), pool(frames), programs(shares), numbers(&next_number) {}
    Partition(const Partition&) = delete;

    static constexpr Time kNoEnd = std::numeric_limits<Time>::max();

    [[nodiscard]] bool in_window() const { return end != kNoEnd; }
    void note(Effect effect) {
        effect.created = created();
        effects.push_back(effect);
    }
    [[nodiscard]] std::uint32_t created() const {
        return static_cast<std::uint32_t>(*numbers - first_number);
    }
    // Return the final number of an event; if the window created it, the merge must have passed its creator.
    [[nodiscard]] std::uint64_t merged(std::uint64_t number) const {
        return number < first_number ? number : merged_numbers[number - first_number];
    }

    // Keep an event for the time after the window.
    [[gnu::noinline]] void put_later(Time time, std::uint64_t number, EventKind kind, std::size_t at);
    // Defer a call to the outside until the merge, if this thread runs a window; return false if it does not.
    static bool defer(std::function<void()> call);

    std::uint32_t index;
    FramePool& pool;
    switching::ProgramShares& programs;
    EventQueue events;
    // For LookAhead. Bit i: the event at a distance of LookAhead::Distance::kBytes - i was seen to be a
    // delivery to a host; it may have moved since.
    unsigned deliveries = 0;
    std::uint64_t* numbers;  // counter of event numbers: the timeline's, or in a window `next_number`
    Time now{};
    Time end = kNoEnd;                                    // of the window; kNoEnd outside of windows
    std::int64_t network_events = 0, waiting_frames = 0;  // events of kind Wake and Arrive; frames in queues
    std::uint64_t without_link = 0, hops = 0, failed = 0;
    std::vector<Bytes> bins;  // bytes delivered to hosts
    switching::Outputs out, egress_out;
    std::size_t consulting = 0;                          // nested calls of applications
    std::vector<std::shared_ptr<Application>> replaced;  // applications replaced during these calls
    std::vector<Actions::Departure> departures;          // memory for reuse by Actions
    List<Share> shares;
    std::vector<Index<Share>> free_shares;

    // State of the last window.
    std::uint64_t first_number = 0, next_number = 0;
    std::int64_t network_before = 0, waiting_before = 0;
    std::vector<Executed> executed;
    std::vector<Effect> effects;
    std::vector<std::function<void()>> calls;
    std::vector<LaterEvent> later, incoming;  // after the window: created by this partition; by the merge
    std::vector<std::uint64_t> merged_numbers;
    Time next_time = kNoEnd;  // time of the first event after the window
    std::exception_ptr error;
};

}  // namespace railyard::network
