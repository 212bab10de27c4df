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
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "frames/pcap_file.h"
#include "frames/ring.h"
#include "switch/switch_set.h"
#include "wire/link_watch.h"
#include "wire/packet_socket.h"

namespace railyard {

// Counters of a port. Frames are counted unless the name says bytes.
struct WireStats {
    std::uint64_t received = 0, received_bytes = 0;
    std::uint64_t sent = 0, sent_bytes = 0;
    std::uint64_t missed = 0;        // lost at a full receive ring
    std::uint64_t too_long = 0;      // received or to be sent, longer than the MTU
    std::uint64_t refused_down = 0;  // to be sent while the port was down
    std::uint64_t refused_full = 0;  // to be sent while the queue was full, here or in the kernel
    std::uint64_t failed =
        0;  // received or queued at this port, and dropped since the program failed or exceeded its budget
    std::uint64_t refused_odd = 0;  // other errors: too short to be sent, or of a priority without a queue
};

class Wire : public SwitchSet {
   public:
    // Length of a queue: BMv2's default, so that programs read similar queue depths.
    static constexpr std::size_t kQueueFrames = 64;
    static constexpr std::size_t kQueues = kPriorities;
    static constexpr Port kNoPort{0xffffffff};  // CPU port of a switch without a CPU port

    Wire();
    ~Wire() override;

    Index<Switch> add_switch(const std::string& name, Port cpu_port) override;
    Time now() const override;
    void packet_out(Index<Switch> switch_index, std::string_view bytes) override;
    void watch_ageing(Index<Switch> switch_index) override;
    void taken(const ControlItem& item) override;

    // The functions from here to hold() configure the wire before start(); log_programs() also before
    // add_switch().
    // Bind a port to an interface. std::invalid_argument if the interface does not exist, or the port or the
    // interface is taken.
    void add_port(Index<Switch> switch_index, Port port, const std::string& interface);
    // Pace the frames that leave by a port at a rate.
    void set_rate(Index<Switch> switch_index, Port port, double bits_per_second);
    // Record the frames of every port in INTERFACE_in.pcap and INTERFACE_out.pcap.
    void record(const std::string& directory) { pcap_directory_ = directory; }
    // Add log messages of programs, or the first `bytes` of every frame, to take_messages().
    void log_programs() { log_programs_ = true; }
    void dump(std::size_t bytes) { dump_bytes_ = bytes; }
    // Set the number of queues of a port; frames of higher priorities are dropped.
    void set_queues(std::size_t queues) { queues_ = queues; }
    // Let frames for a slow interface wait in the port's queues, of up to `frames` each, and only one frame
    // at a time in the kernel: queue metadata then reflect the link.
    void hold(std::size_t frames) {
        queue_frames_ = frames;
        send_bytes_ = 1;
    }
    // Open the interfaces and start the thread. std::system_error if an interface cannot be opened; then
    // nothing runs.
    void start();
    void stop();

    int event_fd() const { return events_; }
    bool up(Index<Switch> switch_index, Port port);
    WireStats stats(Index<Switch> switch_index, Port port);
    // Remove and return the messages for the user, in order: level and text.
    std::vector<std::pair<std::string, std::string>> take_messages();

   private:
    // Values that identify descriptors in epoll events.
    static constexpr std::uint64_t kWakeToken = 0, kLinksToken = 1, kSlotsToken = 2, kFirstPortToken = 3;

    struct WirePort {
        Index<Switch> switch_index;
        Port number;
        std::string interface;
        int ifindex = -1;
        unsigned mtu = 0;
        bool up = false;
        bool blocked = false;  // the kernel accepts no more frames until the socket is writable
        bool dirty = false;    // is in dirty_: has frames to send
        bool told_too_long = false;
        bool waits = false;        // is in waiting_: its next frame waits for its slot
        double ns_per_byte = 0;    // 0: no pacing
        std::int64_t slot_at = 0;  // nanoseconds, earliest time at which the next frame may leave
        PacketSocket socket;
        std::array<Ring<FrameHandle>, kQueues> queues;
        Ring<FrameHandle> ready;  // dequeued, after egress
        bool idle() const {
            return ready.empty() && std::all_of(queues.begin(), queues.end(),
                                                [](const auto& frames) { return frames.empty(); });
        }
        std::unique_ptr<PcapFile> in, out;
        WireStats stats;
    };

    void run();
    void on_port(Index<WirePort> index, std::uint32_t events);
    void on_links();
    void open(WirePort& port, int ifindex, unsigned mtu);
    void attach_all();
    void close_all();
    void for_every_port(const std::function<void(WirePort&)>& act);  // in many threads
    void attach(WirePort& port, int ifindex, unsigned mtu);
    void watch(WirePort& port, int operation);  // EPOLL_CTL_ADD or EPOLL_CTL_MOD
    void detach(WirePort& port);
    void set_up(WirePort& port, bool up);
    void receive(WirePort& port);
    void run_frame(FrameHandle frame, Index<Switch> switch_index, Port port);
    void forward(FrameHandle frame, Index<Switch> switch_index, Port number);
    void enqueue(WirePort& port, FrameHandle frame);
    void dequeue(WirePort& port, std::size_t most);
    void egress(WirePort& port, FrameHandle frame, std::uint32_t depth);
    void flush(WirePort& port);
    void flush_all();
    void sent(WirePort& port, std::size_t count);
    bool must_wait(WirePort& port);  // true if the next frame must wait for its slot, or there is no frame
    void on_slots();
    void set_timer();
    void block(WirePort& port, bool blocked);
    void clear(WirePort& port);
    void too_long(WirePort& port, std::size_t bytes);
    void collect(Index<Switch> switch_index);
    void report(ControlItem item);
    void end_burst();
    bool others_wait() const { return stopping_ || mutex_.contended(); }
    void let_others_in() const;
    void checkpoint();  // throws if the current frame has taken too long, or the wire stops
    void fail(const Switch& sw, WirePort* port, const std::exception& error);
    void look_for_aged();
    void say(const char* level, std::string text);
    void dump_frame(const char* what, const WirePort& port, std::string_view frame);
    std::string name_of(const WirePort& port) const;
    Index<WirePort> find_port(Index<Switch> switch_index, Port number) const;  // none: no such port
    WirePort& port_at(Index<Switch> switch_index, Port port);

    // Events lost because the queue to the control plane was full, and not logged yet.
    struct LostEvents {
        std::uint64_t packet_ins = 0, digests = 0;
    };

    std::int64_t zero_;
    Time now_ = 0;
    List<WirePort, std::unique_ptr<WirePort>> ports_;
    List<Switch, std::vector<Index<WirePort>>> port_of_;  // by port number
    std::vector<WirePort*> dirty_, waiting_;
    std::vector<Index<Switch>> ageing_;
    Time next_ageing_ = std::numeric_limits<Time>::max();
    bool flushing_ = false;
    std::size_t egress_left_ = 0;   // egress passes left in this flush
    std::int64_t flush_began_ = 0;  // nanoseconds
    unsigned checkpoints_ = 0;      // checkpoints of the current frame so far
    std::int64_t frame_began_ = 0;  // nanoseconds of processor time at the current frame's first checkpoint
    Outputs out_, egress_out_;
    List<Switch, LostEvents> lost_;
    bool any_lost_ = false;
    std::size_t control_bytes_ = 0;  // bytes of waiting packet-ins and digests
    std::vector<std::pair<std::string, std::string>> messages_;
    Time next_failure_ = 0;  // earliest time of the next log line about a failed frame
    std::uint64_t untold_failures_ = 0;
    std::string pcap_directory_;
    std::size_t dump_bytes_ = 0;
    std::size_t ring_bytes_ = 0;
    bool log_programs_ = false;
    std::size_t queues_ = kQueues;
    std::size_t queue_frames_ = kQueueFrames;
    int send_bytes_ = 16 << 20;  // send buffer of a socket: large, so that the interface's queue is the limit
    LinkWatch links_;
    int events_ = -1, wake_ = -1, epoll_ = -1, slots_ = -1;
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

}  // namespace railyard
