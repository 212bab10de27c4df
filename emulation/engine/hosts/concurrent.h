// SPDX-License-Identifier: Apache-2.0
// Agents of an NPU that are at work at the same time, in collectives that begin and end independently. Each
// collective has queue numbers of its own, which tell whose a frame is.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "hosts/agent.h"

namespace railyard {

class Concurrent final : public Participant {
   public:
    // Take an agent whose connections have the `queues` queue numbers from `first` on; `start` starts it.
    // invalid_argument if another agent has one of these numbers.
    void add(std::shared_ptr<Agent> agent, std::uint16_t first, std::uint32_t queues);
    // Let go of the agent with the queue numbers from `first` on; its frames are junk from now on.
    void remove(std::uint16_t first);

    // Start all agents that have not been started.
    void start(Time now, Actions& actions) override;
    void on_frame(FrameHandle frame, Time now, Actions& actions) override;
    void on_timer(Time now, Actions& actions) override;
    void on_reroute(const Routes& routes, Time now, Actions& actions) override;
    void prefetch(const Frame& frame, unsigned stage) const override;
    void detach() override;

    // Empty: each agent has an array of its own.
    std::shared_ptr<Bytes> result() const override { return std::make_shared<Bytes>(); }
    AgentStats stats() const override;
    std::optional<Time> finished() const override { return std::nullopt; }
    // None: an agent that gives up ends its own collective only.
    std::optional<Failure> failed() const override { return std::nullopt; }
    bool done() const override;
    std::uint8_t dtype() const override { return 0; }
    std::optional<ReductionStats> reduction() const override { return std::nullopt; }

    // Called with an agent's first queue number when its result is final, or once all its frames have been
    // acknowledged if it receives nothing, or when it gives up.
    std::function<void(std::uint16_t)> on_end;

   private:
    struct Member {
        std::shared_ptr<Agent> agent;
        std::uint32_t queues = 0;
        bool started = false, ended = false;
        Time deadline = kNever;
    };
    using Members = std::map<std::uint16_t, Member>;  // by first queue number

    Members::const_iterator at(std::uint32_t queue) const;
    // Let an agent answer an event.
    template <typename Event>
    void consult(std::uint16_t first, Member& member, Actions& actions, const Event& event);
    void answer_deadline(Actions& actions) const;

    Members members_;
    AgentStats past_;  // of agents that are gone
};

}  // namespace railyard
