// SPDX-License-Identifier: Apache-2.0
// Switches on Linux interfaces, in real time. One thread carries the frames of all switches; notifications
// for the control plane wait in control(), signalled on an eventfd. Time is CLOCK_MONOTONIC since
// construction, in picoseconds, which exceed 63 bits after 106 days.
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

struct WireStats {
    std::uint64_t received = 0, received_bytes = 0;
    std::uint64_t sent = 0, sent_bytes = 0;
    std::uint64_t missed = 0;        // lost at a full receive ring
    std::uint64_t too_long = 0;      // did not fit the MTU, in or out
    std::uint64_t refused_down = 0;  // for a port that is down
    std::uint64_t refused_full = 0;  // for a queue that is full, here or in the kernel
    std::uint64_t failed =
        0;  // dropped: the program failed, or exceeded its passes, on a frame received or queued here
    std::uint64_t refused_odd = 0;  // shorter than an Ethernet header, or of a priority without a queue
};

class Wire : public SwitchSet {
   public:
    // Length of BMv2's egress queues by default: programs that read depths see similar values.
    static constexpr std::size_t kQueueFrames = 64;
    static constexpr int kQueues = 8;
    static constexpr std::uint32_t kNoPort = 0xffffffff;  // the CPU port of a switch that has none

    Wire();
    ~Wire() override;

    Index<Switch> add_switch(const std::string& name, std::uint32_t cpu_port) override;
    Time now() const override;
    void packet_out(Index<Switch> switch_index, std::string_view bytes) override;
    void watch_ageing(Index<Switch> switch_index) override;
    void taken(const ControlItem& item) override;

    // Before start(), and log_programs() before add_switch().
    // std::invalid_argument: no such interface, or the port or the interface is taken.
    void add_port(Index<Switch> switch_index, std::uint32_t port, const std::string& interface);
    // Let frames leave by a port at this rate, one by one; before start().
    void set_rate(Index<Switch> switch_index, std::uint32_t port, double bits_per_second);
    // Frames of every port go to INTERFACE_in.pcap and INTERFACE_out.pcap.
    void record(const std::string& directory) { pcap_directory_ = directory; }
    // Put log messages of programs, and the first `bytes` of every frame, into messages().
    void log_programs() { log_programs_ = true; }
    void dump(std::size_t bytes) { dump_bytes_ = bytes; }
    // Number of queues of a port; frames of higher priorities are dropped.
    void set_queues(int queues) { queues_ = queues; }
    // Let frames wait here for a slow interface, up to `frames` in each queue, and not in the kernel, which
    // then holds a frame at a time: queue metadata are those of the link.
    void hold(std::size_t frames) {
        queue_frames_ = frames;
        send_bytes_ = 1;
    }
    // std::system_error when an interface cannot be opened; then nothing runs.
    void start();
    void stop();

    int event_fd() const { return events_; }
    bool up(Index<Switch> switch_index, std::uint32_t port);
    WireStats stats(Index<Switch> switch_index, std::uint32_t number);
    // Messages for a person, in order: level and text.
    std::vector<std::pair<std::string, std::string>> take_messages();

   private:
    // Tokens of descriptors in epoll.
    static constexpr std::uint64_t kWakeToken = 0, kLinksToken = 1, kSlotsToken = 2, kFirstPortToken = 3;

    struct Port {
        Index<Switch> switch_index;
        std::uint32_t number;
        std::string interface;
        int ifindex = -1;
        unsigned mtu = 0;
        bool up = false;
        bool blocked = false;  // the kernel accepts no more frames until the socket is writable
        bool dirty = false;    // stands in dirty_: has frames to send
        bool told_too_long = false;
        bool waits = false;        // stands in waiting_: has frames to send, but not yet
        double ns_per_byte = 0;    // 0: as fast as the interface takes them
        std::int64_t slot_at = 0;  // nanoseconds, when the next frame may leave
        PacketSocket socket;
        std::array<Ring<FrameHandle>, kQueues> queues;
        Ring<FrameHandle> ready;  // dequeued, and past egress
        bool idle() const {
            return ready.empty() && std::all_of(queues.begin(), queues.end(),
                                                [](const auto& frames) { return frames.empty(); });
        }
        std::unique_ptr<PcapFile> in, out;
        WireStats stats;
    };

    void run();
    void on_port(Index<Port> index, std::uint32_t events);
    void on_links();
    void open(Port& port, int ifindex, unsigned mtu);
    void attach_all();
    void close_all();
    void for_every_port(const std::function<void(Port&)>& act);  // in many threads
    void attach(Port& port, int ifindex, unsigned mtu);
    void watch(Port& port, int operation);  // EPOLL_CTL_ADD or EPOLL_CTL_MOD
    void detach(Port& port);
    void set_up(Port& port, bool up);
    void receive(Port& port);
    void run_frame(FrameHandle frame, Index<Switch> switch_index, std::uint32_t port);
    void forward(FrameHandle frame, Index<Switch> switch_index, std::uint32_t number);
    void enqueue(Port& port, FrameHandle frame);
    void dequeue(Port& port, std::size_t most);
    void egress(Port& port, FrameHandle frame, std::uint32_t depth);
    void flush(Port& port);
    void flush_all();
    void sent(Port& port, std::size_t count);
    bool must_wait(Port& port);  // for the slot of its next frame; true also without a frame
    void on_slots();
    void set_timer();
    void block(Port& port, bool blocked);
    void clear(Port& port);
    void too_long(Port& port, std::size_t bytes);
    void collect(Index<Switch> switch_index);
    void report(ControlItem item);
    void end_burst();
    bool others_wait() const { return stopping_ || mutex_.contended(); }
    void let_others_in() const;
    void checkpoint();  // throws when the frame at work has taken too long, or the wire stops
    void fail(const Switch& sw, Port* port, const std::exception& error);
    void look_for_aged();
    void say(const char* level, std::string text);
    void dump_frame(const char* what, const Port& port, std::string_view frame);
    std::string name_of(const Port& port) const;
    Index<Port> find_port(Index<Switch> switch_index, std::uint32_t number) const;  // none: no such port
    Port& port_at(Index<Switch> switch_index, std::uint32_t port);

    // Events that found the queue to the control plane full, until the log has their number.
    struct LostEvents {
        std::uint64_t packet_ins = 0, digests = 0;
    };

    std::int64_t zero_;
    Time now_ = 0;
    List<Port, std::unique_ptr<Port>> ports_;
    List<Switch, std::vector<Index<Port>>> port_of_;  // by port number
    std::vector<Port*> dirty_, waiting_;
    std::vector<Index<Switch>> ageing_;
    Time next_ageing_ = std::numeric_limits<Time>::max();
    bool flushing_ = false;
    std::size_t egress_left_ = 0;   // egress passes left in this flush
    std::int64_t flush_began_ = 0;  // nanoseconds
    unsigned checkpoints_ = 0;      // of the frame at work
    std::int64_t frame_began_ = 0;  // nanoseconds of processor time at its first checkpoint
    Outputs out_, egress_out_;
    List<Switch, LostEvents> lost_;
    bool any_lost_ = false;
    std::size_t control_bytes_ = 0;  // of packet-ins and digests that wait
    std::vector<std::pair<std::string, std::string>> messages_;
    Time next_failure_ = 0;  // earliest time of the next log line about a failed frame
    std::uint64_t untold_failures_ = 0;
    std::string pcap_directory_;
    std::size_t dump_bytes_ = 0;
    std::size_t ring_bytes_ = 0;
    bool log_programs_ = false;
    int queues_ = kQueues;
    std::size_t queue_frames_ = kQueueFrames;
    int send_bytes_ = 16 << 20;  // the queue of the interface should be the limit
    LinkWatch links_;
    int events_ = -1, wake_ = -1, epoll_ = -1, slots_ = -1;
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

}  // namespace railyard
