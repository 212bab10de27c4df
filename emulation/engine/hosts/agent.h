// SPDX-License-Identifier: Apache-2.0
// Agent of an NPU in a collective or a traffic graph, sans-IO. tests/oracle/agent.py and slices.py
// are its specification: both send the same frames at the same times, in the same order.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "frames/ring.h"
#include "hosts/application.h"
#include "hosts/held_phases.h"
#include "hosts/messages/payloads.h"
#include "hosts/reduction/reduction.h"
#include "hosts/schedule/schedule.h"
#include "hosts/schedule/tasks.h"
#include "hosts/transport/peer.h"

namespace railyard::hosts {

// Constant data of a rank of a collective or traffic graph, shared by its agents of all iterations.
struct Rank {
    std::uint32_t rank = 0, ranks = 0;
    std::uint16_t address = 0;
    std::uint8_t dtype = 0;
    std::shared_ptr<const SliceTable> table;  // ranks with equal slices share it
    std::optional<RankPlan> plan;
    std::vector<Task> tasks;      // empty for a collective
    std::vector<PeerSpec> peers;  // in the order of the round robin
    bool overlap = true;          // false: sends of a step wait for all arrivals of earlier steps
};

// Pairs of a destination's address and the buckets whose route to it has changed.
using Routes = std::vector<std::pair<std::uint16_t, BucketSet>>;

// A connection given up after too many retries: the peer's rank, the oldest unacknowledged PSN, and the time.
struct Failure {
    std::uint32_t peer = 0, psn = 0;
    Time at{};
};

struct AgentStats {
    std::uint64_t sent = 0, retransmitted = 0, received = 0, duplicates = 0, acks_sent = 0, acks_received = 0;
    std::uint64_t marked = 0;
    std::uint64_t trimmed = 0;                  // frames sent whose payload a switch has cut off
    Time rtt{};                                 // largest smoothed round trip
    std::map<std::string, std::uint64_t> junk;  // discarded frames by reason

    AgentStats& operator+=(const AgentStats& other);
};

// Pairs of a peer's rank and the payload bytes that the peer has acknowledged.
using Deliveries = std::vector<std::pair<std::uint32_t, Bytes>>;

// An application that takes part in a collective.
class Participant : public Application {
   public:
    virtual void on_reroute(const Routes& routes, Time now, Actions& actions) = 0;
    [[nodiscard]] virtual std::shared_ptr<ByteArray> result() const = 0;
    [[nodiscard]] virtual AgentStats stats() const = 0;
    [[nodiscard]] virtual std::uint64_t received() const { return stats().received; }  // data frames
    [[nodiscard]] virtual Deliveries delivered() const { return {}; }
    [[nodiscard]] virtual std::optional<Time> finished() const = 0;  // time at which the result became final
    [[nodiscard]] virtual std::optional<Failure> failed() const = 0;
    [[nodiscard]] virtual bool done() const = 0;  // the result is final and all sent frames are acknowledged
    [[nodiscard]] virtual std::uint8_t dtype() const = 0;
    [[nodiscard]] virtual std::optional<ReductionStats> reduction()
        const = 0;  // none without a reduction model

    std::function<void()> on_done;
    // Called with a peer's address and its silent buckets, to ask the control plane for other paths.
    std::function<void(std::uint16_t, BucketSet)> on_repath;
};

class Agent final : public Participant {
   public:
    // All agents of an NPU share `unit`. Null: reductions take no time and no memory traffic is counted.
    Agent(std::shared_ptr<const Rank> rank, std::shared_ptr<ByteArray> data, std::uint16_t job,
          TransportParameters parameters, std::shared_ptr<ReductionUnit> unit = nullptr);

    void start(Time now, Actions& actions) override;
    void on_frame(FrameHandle frame, Time now, Actions& actions) override;
    void on_timer(Time now, Actions& actions) override;
    void on_reroute(const Routes& routes, Time now, Actions& actions) override;
    void prefetch(const Frame& frame, unsigned stage) const override;
    [[nodiscard]] bool isolated() const override { return !on_done; }
    void detach() override;

    [[nodiscard]] std::shared_ptr<ByteArray> result() const override { return payloads_.shared(); }
    [[nodiscard]] AgentStats stats() const override;
    [[nodiscard]] std::uint64_t received() const override { return received_; }
    [[nodiscard]] Deliveries delivered() const override;
    [[nodiscard]] std::optional<Time> finished() const override { return finished_; }
    [[nodiscard]] std::optional<Failure> failed() const override { return failed_; }
    [[nodiscard]] bool done() const override;
    [[nodiscard]] bool receives() const { return plan_.phases > 0; }
    [[nodiscard]] std::uint8_t dtype() const override { return rank_->dtype; }
    [[nodiscard]] std::optional<ReductionStats> reduction() const override {
        return unit_ ? std::optional(unit_->stats()) : std::nullopt;
    }
    [[nodiscard]] std::uint32_t longest()
        const;  // largest number, over the peers, of frames still to be sent
    [[nodiscard]] std::vector<Progress::Span> times() const;  // of each task

   private:
    [[nodiscard]] const CellPlan& plan_of(std::uint32_t index) const { return *plans_[table_.cell[index]]; }
    void answer_deadline(Actions& actions) const;
    void tell();
    void ask(std::uint16_t address, BucketSet silent) const;
    void on_data(Peer& peer, std::size_t number, const Fields& fields, FrameHandle frame, Time now,
                 Actions& actions);
    void on_ack(Peer& peer, std::size_t number, const Fields& fields, Time now, Actions& actions);
    void on_trimmed(Peer& peer, std::size_t number, const Fields& fields, Time now, Actions& actions);
    void make_ready(Peer& peer);
    // Note a time at which a connection with a peer needs on_timer.
    void expect(const Peer& peer, Time due) {
        Time& first = due_[peer.place];
        first = std::min(first, due);
        deadline_ = std::min(deadline_, due);
    }
    void settle(std::uint32_t index, Time now);
    void apply(std::uint32_t index, const Phase& phase, std::span<const FrameHandle> frames, Time now);
    void finish(std::uint32_t index, const Phase& phase, Time now);
    void release(std::uint32_t index, std::uint32_t applied);
    void release_by(std::uint32_t index, const std::vector<std::uint32_t>& sends);
    void enqueue(std::uint32_t index, std::uint32_t send);
    void work(Time now, Actions& actions);
    void pump(Time now, Actions& actions);
    void copy(std::uint32_t index, std::uint32_t send, Time now, FramePool& pool);
    void left(std::uint32_t index, std::uint32_t send, Time now);
    [[nodiscard]] bool computing() const { return progress_ && progress_->computing(); }

    // The members that each frame needs come first, so that they share few cache lines.
    std::optional<Failure> failed_;
    std::shared_ptr<const Rank> rank_;
    const RankPlan& plan_;     // of rank_, and so are the CellPlans of plans_
    const SliceTable& table_;  // of rank_
    PeersByAddress by_address_;
    std::vector<const CellPlan*> plans_;  // by cell
    std::vector<SliceState> slices_;
    Payloads payloads_;
    Time deadline_ = kNever;                // may be earlier than the first timer; on_timer then does nothing
    std::unique_ptr<Progress> progress_;    // null: the tasks do not depend on each other
    std::unique_ptr<Reducer> reducer_;      // null: reductions take no time
    std::unique_ptr<CreditGrants> grants_;  // to senders, if congestion control needs credits
    std::unique_ptr<StepBarrier> barrier_;  // null: steps overlap
    frames::Ring<Peer*> ready_;
    frames::Ring<std::pair<std::uint32_t, std::uint32_t>>
        local_;                   // slices to copy inside the array, with their sends
    std::size_t open_;            // phases not applied yet, over all slices
    std::uint64_t received_ = 0;  // data frames, each once
    std::uint16_t job_;
    bool started_ = false;
    std::optional<Time> finished_;
    RoundTrips trips_;
    std::vector<SendQueue> queues_;  // by send
    std::vector<std::unique_ptr<Peer>> peers_;
    std::vector<Time> due_;  // by peer, Peer::due() or an earlier time
    HeldPhases held_;
    std::vector<std::uint32_t> send_of_;      // by task; kNone for all but sends
    std::vector<const std::uint8_t*> terms_;  // for reuse
    std::vector<std::uint8_t> room_;
    std::shared_ptr<ReductionUnit> unit_;
    TransportParameters parameters_;
    std::map<std::string, std::uint64_t> junk_;
};

}  // namespace railyard::hosts
