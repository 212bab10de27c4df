// SPDX-License-Identifier: Apache-2.0
// Path of frames: arrival from a wire, pass through a switch, egress queue, transmission on the next wire.
// Functions that run an event get the event's partition as `p`.
#pragma once

#include <deque>
#include <exception>
#include <memory>
#include <string_view>

#include "network/ageing.h"
#include "network/events/timeline.h"
#include "network/links/links.h"
#include "switch/switch_set.h"

namespace railyard::network {

class Hosts;
class Windows;

class Queues {
   public:
    using Switches = List<Switch, std::unique_ptr<Switch>>;
    // Parts of the network that handle frames; they must outlive the Queues.
    struct Parts {
        const Switches& switches;
        Links& links;
        Hosts& hosts;
        Windows& windows;
        Ageing& ageing;
        std::deque<switching::ControlItem>& control;
    };
    explicit Queues(const Parts& parts) : parts_(parts) {}

    // See Network::set_tolerant.
    void set_tolerant(bool tolerant) { tolerant_ = tolerant; }

    // Enqueue a frame on a channel. at_once: it may leave within this call; otherwise a later event sends it.
    void enqueue(Partition& p, Index<Channel> index, FrameHandle&& frame, bool at_once);
    // Handle an event of kind Wake or Arrive.
    void on_wake(Partition& p, Index<Channel> index, Time time);
    void on_arrival(Partition& p, Index<Channel> index);
    void receive(Partition& p, FrameHandle&& frame, Index<Switch> switch_index, Port port);
    // Free the receive buffer of a frame at `when`, and clear `held`. A buffer shared by copies is freed with
    // the last copy.
    void release(Partition& p, Held& held, Time when) {
        if (held.channel) free_buffer(p, held, when);
    }
    // Bring a channel up, or take it down and drop its frames; `p` is the partition of the sending end.
    void set_up(Partition& p, Index<Channel> index, bool up);
    // Send a pause frame on a channel that is up, as a faulty sender does. stop: pause all classes. Otherwise
    // resume the classes that the sender's own receive buffer does not pause. `p`: the sender's partition.
    void send_pause(Partition& p, Index<Channel> index, bool stop);

   private:
    void wake(Partition& p, Channel& c, Time time);
    void schedule_wake(Partition& p, Channel& c, Time time);
    void wake_in_window(Partition& p, Channel& c, Time time);
    void woken_in_window(Partition& p, const Channel& c);
    void try_send(Partition& p, Channel& c);
    FrameHandle next_frame(Partition& p, Channel& c);
    void wait(Partition& p, Channel& c);
    void transmit(Partition& p, Channel& c, FrameHandle&& frame);
    void free_buffer(Partition& p, Held& given, Time when);
    // Priority flow control.
    bool pause(Partition& p, Channel& c, Frame& frame);
    void order(Partition& p, const Channel& c);
    void send_order(Partition& p, Channel& c, PauseOrder order);
    void expire(Partition& p, Channel& c);
    [[nodiscard]] Channel& reverse_of(const Channel& c) const;
    void forward(Partition& p, FrameHandle&& frame, const Switch& sw, Index<Switch> switch_index, Port port,
                 bool at_once);
    void leave(Partition& p, FrameHandle&& frame, const Switch& sw, Index<Switch> switch_index, Port port);
    void forward_later(Partition& p, FrameHandle&& frame, const Switch& sw, Index<Switch> switch_index,
                       Port port);
    void discard(Partition& p, FrameHandle frame);
    // Pass a switch's new digests to the control plane, and watch its ageing again if an aged entry was hit.
    void after_pass(Partition& p, Switch& sw, Index<Switch> index) {
        if (!sw.digests().empty()) [[unlikely]]
            pass_digests(p, sw, index);
        if (sw.take_revived()) [[unlikely]]
            parts_.ageing.watch(index);
    }
    void pass_digests(Partition& p, Switch& sw, Index<Switch> index);
    void fail(Partition& p, Index<Switch> index, const std::exception& error);
    void control(Partition& p, switching::ControlItem item);

    // departures.cpp: egress for programs that read queue metadata, and copies of a frame.
    // Pass a frame's receive buffer on to its copies, which share it.
    static void hold(Partition& p, const Held& held, const switching::Outputs& copies) {
        ASSERT(!copies.empty());
        if (!held.channel) return;
        if (copies.size() > 1) [[unlikely]]
            return share(p, held, copies);
        copies.front().frame->held = held;
    }
    static void share(Partition& p, Held held, const switching::Outputs& copies);
    bool make_room(Partition& p, Channel& c, FrameHandle& frame);
    bool dequeue(Partition& p, Channel& c, Lane lane);
    FrameHandle egress(Partition& p, FrameHandle frame, Index<Switch> switch_index, Port port,
                       const switching::QueueRecord& record);

    Parts parts_;
    bool tolerant_ = false;
};

}  // namespace railyard::network
