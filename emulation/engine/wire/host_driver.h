// SPDX-License-Identifier: Apache-2.0
// Driver of sans-IO hosts in real time, with a raw socket per host, an epoll set and a dilated clock. A
// thread calls wait() and serve() in turn.
#pragma once

#include <poll.h>
#include <sys/epoll.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "frames/frame.h"
#include "hosts/agent.h"
#include "hosts/application.h"
#include "wire/descriptor.h"
#include "wire/pacer.h"
#include "wire/receive_ring.h"

namespace railyard::wire {

// Scenario time since `start` (nanoseconds of CLOCK_MONOTONIC); a second of it takes `dilation` real seconds.
struct DilatedClock {
    Nanoseconds start = kNoTime;
    std::int64_t dilation = 1;

    [[nodiscard]] Time picoseconds(Nanoseconds now) const;
    [[nodiscard]] Nanoseconds nanoseconds(
        Time time) const;  // earliest real time at which picoseconds() >= `time`
};

// Counts for measurements: polls for events, rings found with frames, frames, and timers.
struct DriverCounts {
    std::uint64_t waits = 0, receives = 0, received = 0, timers = 0;
};

// Pairs of a time bin's number and the bytes of data that arrived in it, in order of time.
using Bins = std::vector<std::pair<std::int64_t, Bytes>>;

class HostDriver {
   public:
    // Args: rate_bps: rate of each host in real bits per second. dilation: of the clock. bin: width of the
    // bins of arrived bytes, picoseconds of scenario time. note: if positive, serve() reports each active
    // host in Turn::noted, at most once in `note` nanoseconds.
    HostDriver(double rate_bps, std::int64_t dilation, Time bin, Nanoseconds note);
    HostDriver(const HostDriver&) = delete;
    HostDriver& operator=(const HostDriver&) = delete;
    ~HostDriver();

    // An application, and a function that returns whether it has ended, called after its events.
    struct Attachment {
        std::shared_ptr<hosts::Application> application;
        std::function<bool()> ended;
    };
    // Add a host with a bound raw socket, which the caller keeps open; return its index. Arrived bytes of
    // data are added to `*arrived`. Frames that arrive after go() wait in a ring of about `ring_bytes`;
    // earlier frames may be lost. std::system_error, here or in go(), if the socket cannot be used.
    std::size_t add(Attachment attachment, int fd, std::int64_t* arrived, std::size_t ring_bytes);
    // Save turns by resting between two polls for frames: for up to `share` of the run's duration, and at
    // most for the transmission time of the longest frame. The duration counts as the time since go(), but at
    // least `least_run` nanoseconds. Lateness thus stays below `share` of the run, however long it will be.
    void rest(double share, Nanoseconds least_run) {
        rest_share_ = share;
        least_run_ = least_run;
    }
    // Let scenario time and all hosts begin at `start`.
    void go(Nanoseconds start);
    // Replace a host's application by one that begins at `start`; frames waiting to be sent are dropped.
    void replace(std::size_t index, Attachment attachment, Nanoseconds start);
    // Tell a host of changed routes.
    void reroute(std::size_t index, const hosts::Routes& routes);
    // Carry out the actions that `fill` adds for a host: its agent acts without a frame or deadline.
    void act(std::size_t index, const std::function<void(hosts::Actions&)>& fill);
    // Let wait() return whenever a descriptor is readable; serve() then reports the descriptor.
    void watch(int fd);

    // Wait until a host has an event or a watched descriptor is readable. Return false if a signal came
    // first.
    bool wait();
    // Result of serve(): readable descriptors, hosts that have just ended, and active hosts to report.
    struct Turn {
        std::vector<int> readable;
        std::vector<std::size_t> ended, noted;
    };
    Turn serve();

    [[nodiscard]] const Bins& bins(std::size_t host) const { return hosts_[host]->bins; }
    [[nodiscard]] const Pace& pace(std::size_t host) const { return hosts_[host]->pacer.pace(); }
    void stop();  // ends the pace measurements of all hosts
    [[nodiscard]] const DriverCounts& counts() const { return counts_; }
    [[nodiscard]] std::size_t at() const { return at_; }  // host of the current or last event

   private:
    struct Host {
        Host(Attachment g, int f, std::int64_t* a, double ns_per_byte)
            : attachment(std::move(g)), fd(f), arrived(a), pacer(ns_per_byte) {}
        Attachment attachment;
        int fd;  // the caller of add() owns it
        std::int64_t* arrived;
        std::optional<ReceiveRing> ring;  // from go() on
        Pacer pacer;
        Nanoseconds begins = kNoTime, deadline = kNoTime;
        Nanoseconds noted{}, note_at = kNoTime;
        bool listens = false;    // the host has begun and takes frames
        bool asked = true;       // the host has not been reported as ended
        bool consulted = false;  // the host had an event since the last call of attachment.ended()
        Bins bins;
    };
    struct Arrival {
        std::size_t host;
        frames::FrameHandle frame;
    };

    template <typename Event>
    void consult(Host& host, Nanoseconds since, const Event& event);
    void receive();
    void receive(Host& host, frames::FrameHandle frame);
    [[nodiscard]] Nanoseconds resting(Nanoseconds now) const;
    void look();
    bool wait_for_events(Nanoseconds nanoseconds);
    void serve(std::size_t index, Nanoseconds now, Turn& turn);
    void listen(std::size_t index, bool on);

    double ns_per_byte_;
    Time bin_;
    Nanoseconds note_;
    DilatedClock clock_;
    frames::FramePool pool_;
    std::vector<hosts::Actions::Departure> room_;
    std::vector<std::unique_ptr<Host>> hosts_;
    std::vector<std::future<void>> opening_;  // rings being opened
    std::vector<Nanoseconds> next_;           // by host, time of its next event; 0: now
    std::vector<epoll_event> ready_;
    std::vector<pollfd> watched_;
    std::vector<std::size_t> arrived_;  // hosts with frames in their rings
    std::vector<int> readable_;         // watched descriptors
    std::vector<Arrival> arrivals_;     // frames taken from the rings
    double rest_share_ = 0;
    Nanoseconds most_rest_{}, least_run_{};
    Nanoseconds looked_{};  // time of the last poll for frames
    Nanoseconds since_{};   // time of the poll before it: frames found now arrived later
    Descriptor epoll_;
    std::size_t at_ = 0;
    DriverCounts counts_;
};

}  // namespace railyard::wire
