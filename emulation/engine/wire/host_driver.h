// SPDX-License-Identifier: Apache-2.0
// Driver of sans-IO hosts in real time: a raw socket for each, one epoll set, and a dilated clock. A thread
// alternates wait() and serve().
#pragma once

#include <poll.h>
#include <sys/epoll.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "frames/frame.h"
#include "hosts/agent.h"
#include "network/links/application.h"
#include "wire/pacer.h"
#include "wire/receive_ring.h"

namespace railyard {

// Scenario time since `start`, nanoseconds of CLOCK_MONOTONIC: a second takes `dilation` seconds.
struct DilatedClock {
    std::int64_t start = kNoTime, dilation = 1;

    Time picoseconds(std::int64_t now) const;
    std::int64_t nanoseconds(Time time) const;  // the first at which picoseconds() is at least `time`
};

// Numbers of looks for events, of rings with frames that these found, of frames, and of timers, for
// measurements.
struct DriverCounts {
    std::uint64_t waits = 0, receives = 0, received = 0, timers = 0;
};

// Bytes of data that have arrived, by number of the bin, in order of time.
using Bins = std::vector<std::pair<std::int64_t, std::uint64_t>>;

class HostDriver {
   public:
    // Each host sends `rate_bps` real bits per second, and the bytes that arrive are counted in bins of `bin`
    // picoseconds. A positive `note` lets serve() report each active host at most once in so many
    // nanoseconds.
    HostDriver(double rate_bps, std::int64_t dilation, Time bin, std::int64_t note);
    HostDriver(const HostDriver&) = delete;
    HostDriver& operator=(const HostDriver&) = delete;
    ~HostDriver();

    // An application and the question whether it has ended, which is put after each of its events.
    struct Attachment {
        std::shared_ptr<Application> application;
        std::function<bool()> ended;
    };
    // Add a host at a bound raw socket, which the caller keeps open. `arrived` points to a count of bytes of
    // data. The kernel keeps frames that arrive after go() in a ring of about `ring_bytes` until the host
    // begins or takes them; frames that arrive before may be lost. std::system_error, here or by go()
    std::size_t add(Attachment attachment, int fd, std::int64_t* arrived, std::size_t ring_bytes);
    // Let turns that follow each other closely become one: between two looks for arrived frames the driver
    // rests for up to `share` of the run, and for no more than the time that the longest frame takes
    // at the rate. The run lasts for `least_run` nanoseconds from go() on, or for the time since go() if that
    // is longer. Lateness then stays below that share of the run, however long the run will be.
    void rest(double share, std::int64_t least_run) {
        rest_share_ = share;
        least_run_ = least_run;
    }
    // Let scenario time and all hosts begin at `start`.
    void go(std::int64_t start);
    // Replace a host by one that begins at `start`; frames that wait to be sent are dropped.
    void replace(std::size_t index, Attachment attachment, std::int64_t start);
    // Tell a host of changed routes.
    void reroute(std::size_t index, const Routes& routes);
    // Carry out the actions that `fill` adds for a host whose agent acted without a frame or a deadline.
    void act(std::size_t index, const std::function<void(Actions&)>& fill);
    // Let serve() return whenever a descriptor is readable.
    void watch(int fd);

    // Wait until a host or a watched descriptor has something to do. Returns false if a signal came first.
    bool wait();
    // Results of an events' turn: readable descriptors, hosts that have ended since they began, hosts to
    // note.
    struct Turn {
        std::vector<int> readable;
        std::vector<std::size_t> ended, noted;
    };
    Turn serve();

    const Bins& bins(std::size_t host) const { return hosts_[host]->bins; }
    const Pace& pace(std::size_t host) const { return hosts_[host]->pacer.pace(); }
    void stop();  // end the measurements of all hosts
    const DriverCounts& counts() const { return counts_; }
    std::size_t at() const { return at_; }  // the host whose event is or was served last

   private:
    struct Host {
        Host(Attachment g, int f, std::int64_t* a, double ns_per_byte)
            : attachment(std::move(g)), fd(f), arrived(a), pacer(ns_per_byte) {}
        Attachment attachment;
        int fd;
        std::int64_t* arrived;
        ReceiveRing ring;
        Pacer pacer;
        std::int64_t begins = kNoTime, deadline = kNoTime;
        std::int64_t noted = 0, note_at = kNoTime;
        bool listens = false;    // the host has begun and takes frames
        bool asked = true;       // the host has not been reported as ended
        bool consulted = false;  // an event came since the question whether the host has ended
        Bins bins;
    };
    struct Arrival {
        std::size_t host;
        FrameHandle frame;
    };

    template <typename Event>
    void consult(Host& host, std::int64_t since, const Event& event);
    void receive();
    void receive(Host& host, FrameHandle frame);
    std::int64_t resting(std::int64_t now) const;
    void look();
    bool wait_for_events(std::int64_t nanoseconds);
    void serve(std::size_t index, std::int64_t now, Turn& turn);
    void listen(std::size_t index, bool on);

    double ns_per_byte_;
    Time bin_;
    std::int64_t note_;
    DilatedClock clock_;
    FramePool pool_;
    std::vector<Actions::Departure> room_;
    std::vector<std::unique_ptr<Host>> hosts_;
    std::vector<std::future<void>> opening_;  // of rings
    std::vector<std::int64_t> next_;          // of each host, the time of its next event; 0: now
    std::vector<epoll_event> ready_;
    std::vector<pollfd> watched_;
    std::vector<std::size_t> arrived_;  // hosts with frames in their rings
    std::vector<int> readable_;         // watched descriptors
    std::vector<Arrival> arrivals_;     // frames taken from the rings
    double rest_share_ = 0;
    std::int64_t most_rest_ = 0, least_run_ = 0;
    std::int64_t looked_ = 0;  // when the driver last looked for arrived frames
    std::int64_t since_ = 0;   // no frame that is found now arrived before
    int epoll_;
    std::size_t at_ = 0;
    DriverCounts counts_;
};

}  // namespace railyard
