// SPDX-License-Identifier: Apache-2.0
// The way of frames: off the wire, through a switch, into the queue of an output, onto the next wire. Every
// function that runs an event gets the partition whose event it is.
#pragma once

#include <deque>
#include <exception>
#include <memory>
#include <string_view>

#include "network/ageing.h"
#include "network/events/timeline.h"
#include "network/links/links.h"
#include "switch/switch_set.h"

namespace railyard {

class Hosts;
class Windows;

class Queues {
   public:
    using Switches = List<Switch, std::unique_ptr<Switch>>;
    // Parts of a network that frames need; they last as long as the queues.
    struct Parts {
        const Switches& switches;
        Links& links;
        Hosts& hosts;
        Windows& windows;
        Ageing& ageing;
        std::deque<ControlItem>& control;
    };
    explicit Queues(const Parts& parts) : parts_(parts) {}

    // Behaviour of a frame that its program stops, as by a failed assert or a round without end: throw, or be
    // dropped and reported to the control plane as a log line.
    void set_tolerant(bool tolerant) { tolerant_ = tolerant; }

    // Enqueue a frame. at_once: it may leave immediately; otherwise a later event sends it.
    void enqueue(Partition& p, Index<Channel> index, FrameHandle frame, bool at_once);
    // An event of kind Wake or Arrive.
    void on_wake(Partition& p, Index<Channel> index, Time time);
    void on_arrival(Partition& p, Index<Channel> index);
    void receive(Partition& p, FrameHandle frame, Index<Switch> switch_index, std::uint32_t port);
    // Free the receive buffer of a frame at `when`, or of its last copy to leave.
    void release(Partition& p, const Held& held, Time when);
    // Bring a channel up, or down with all its frames; `p` has the end that sends.
    void set_up(Partition& p, Index<Channel> index, bool up);
    // Send a pause frame on a channel that is up, as a faulty end does: every class has to stop, or those go
    // on that this end's own receive buffer does not pause. `p` has that end.
    void send_pause(Partition& p, Index<Channel> index, bool stop);

   private:
    void wake(Partition& p, Channel& c, Index<Channel> index, Time time);
    void try_send(Partition& p, Index<Channel> index);
    // Priority flow control: an arrival is a pause frame, or finds no room; a pause frame has to go; pauses
    // that last for too long end.
    bool pause(Partition& p, Index<Channel> index, Frame& frame);
    void order(Partition& p, Index<Channel> index);
    void send_order(Partition& p, Index<Channel> index, PauseOrder order);
    void expire(Partition& p, Channel& c);
    [[nodiscard]] Index<Channel> reverse_of(const Channel& c) const;
    void transmit(Partition& p, Index<Channel> index, FrameHandle frame, std::size_t vl);
    void forward(Partition& p, FrameHandle frame, Index<Switch> switch_index, std::uint32_t port,
                 bool at_once = true);
    void discard(Partition& p, FrameHandle frame);
    void after_pass(Partition& p, Switch& sw, Index<Switch> index);
    void fail(Partition& p, Index<Switch> index, const std::exception& error);
    void control(Partition& p, ControlItem item);

    // departures.cpp: egress of programs that read queue metadata, and frames with several copies.
    static void hold(Partition& p, const Held& held, const Outputs& copies);
    bool dequeue(Partition& p, Index<Channel> index, std::size_t vl);
    FrameHandle egress(Partition& p, FrameHandle frame, Index<Switch> switch_index, std::uint32_t port,
                       const QueueRecord& record);

    Parts parts_;
    bool tolerant_ = false;
};

}  // namespace railyard
