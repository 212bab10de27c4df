// SPDX-License-Identifier: Apache-2.0
// Switches on Linux interfaces, in real time. A single thread handles the frames of all switches.
// Notifications for the control plane wait in control(); an eventfd signals them. Time is CLOCK_MONOTONIC
// since construction, in picoseconds, which exceed 63 bits after 106 days.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "frames/pcap_file.h"
#include "frames/ring.h"
#include "switch/switch_set.h"
#include "wire/control_events.h"
#include "wire/descriptor.h"
#include "wire/messages.h"
#include "wire/ports/link_watch.h"
#include "wire/ports/port.h"
#include "wire/ports/ports.h"
#include "wire/ports/slot_timer.h"

namespace railyard::wire {

// Settings of a Wire, to be made before start(); `log_programs` also before add_switch().
struct WireSettings {
    // Length of a queue: BMv2's default, so that programs read similar queue depths.
    static constexpr std::size_t kQueueFrames = 64;

    // Record the frames of every port in INTERFACE_in.pcap and INTERFACE_out.pcap; empty: no recordings.
    std::string pcap_directory{};
    // Add log messages of programs, or the first bytes of every frame, to the messages for the user.
    bool log_programs = false;
    std::size_t dump_bytes = 0;
    std::size_t queues = kPriorities;  // of a port; frames of higher priorities are dropped
    std::size_t queue_frames = kQueueFrames;
    int send_bytes = 16 << 20;  // send buffer of a socket: large, so that the interface's queue is the limit

    // Let frames for a slow interface wait in the port's queues, of up to `frames` each, and only one frame
    // at a time in the kernel: queue metadata then reflect the link.
    void hold(std::size_t frames) {
        queue_frames = frames;
        send_bytes = 1;
    }
};

class Wire : public switching::SwitchSet {
   public:
    static constexpr Port kNoPort{0xffffffff};  // CPU port of a switch without a CPU port

    Wire();
    ~Wire() override;

    Index<Switch> add_switch(const std::string& name, Port cpu_port) override;
    [[nodiscard]] Time now() const override;
    void packet_out(Index<Switch> switch_index, std::string_view bytes) override;
    void watch_ageing(Index<Switch> switch_index) override;
    void taken(const switching::ControlItem& item) override { control_events_.taken(item); }

    WireSettings settings;

    // Bind a port to an interface, before start(). std::invalid_argument if the interface does not exist, or
    // the port or the interface is taken.
    void add_port(Index<Switch> switch_index, Port port, const std::string& interface) {
        ports_.add(switch_index, port, interface);
    }
    // Pace the frames that leave by a port at a rate; call it before start().
    void set_rate(Index<Switch> switch_index, Port port, double bits_per_second);
    // Open the interfaces and start the thread. std::system_error if an interface cannot be opened; then
    // nothing runs.
    void start();
    void stop();

    [[nodiscard]] int event_fd() const { return events_.number(); }
    bool up(Index<Switch> switch_index, Port port);
    WireStats stats(Index<Switch> switch_index, Port at);
    // Remove and return the messages for the user, in order: level and text.
    std::vector<Messages::Message> take_messages();

   private:
    // Values that identify descriptors in epoll events.
    static constexpr std::uint64_t kWakeToken = 0, kLinksToken = 1, kSlotsToken = 2, kFirstPortToken = 3;

    void run();
    void on_port(Index<WirePort> index, std::uint32_t events);
    void on_links();
    void set_up(WirePort& port, bool up);
    void receive(WirePort& port);
    void run_frame(frames::FrameHandle frame, Index<Switch> switch_index, Port port);
    void forward(frames::FrameHandle frame, Index<Switch> switch_index, Port number);
    void enqueue(WirePort& port, frames::FrameHandle frame);
    void dequeue(WirePort& port, std::size_t most);
    void egress(WirePort& port, frames::FrameHandle frame, std::uint32_t depth);
    void make_dirty(WirePort& port);
    void flush(WirePort& port);
    void flush_all();
    void sent(WirePort& port, std::size_t count);
    bool must_wait(WirePort& port);  // true if the next frame must wait for its slot, or there is no frame
    void on_slots();
    void too_long(WirePort& port, std::size_t bytes);
    void collect(Index<Switch> switch_index);
    void end_burst();
    [[nodiscard]] bool others_wait() const { return stopping_ || mutex_.contended(); }
    void let_others_in() const;
    void checkpoint();  // throws if the current frame has taken too long, or the wire stops
    void look_for_aged();
    void dump(const char* what, const WirePort& port, std::string_view frame);

    Nanoseconds zero_;
    Time now_{};
    std::vector<WirePort*> dirty_;  // ports with frames to send
    std::vector<Index<Switch>> ageing_;
    Time next_ageing_ = std::numeric_limits<Time>::max();
    bool flushing_ = false;
    std::size_t egress_left_ = 0;  // egress passes left in this flush
    Nanoseconds flush_began_{};
    unsigned checkpoints_ = 0;   // checkpoints of the current frame so far
    Nanoseconds frame_began_{};  // processor time at the current frame's first checkpoint
    switching::Outputs out_, egress_out_;
    std::optional<LinkWatch> links_;  // since start()
    Descriptor events_, wake_, epoll_;
    SlotTimer slots_;
    WirePorts ports_;
    Messages messages_;
    ControlEvents control_events_{control_, messages_};
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

}  // namespace railyard::wire
