// SPDX-License-Identifier: Apache-2.0
// Several agents on one NPU, in collectives that begin and end independently. Each collective has its own
// range of queue numbers; a frame's queue number selects the agent.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "hosts/agent.h"

namespace railyard::hosts {

class Concurrent final : public Participant {
   public:
    // Add an agent that owns queue numbers `first` to `first + queues - 1`; the next start() starts it.
    // invalid_argument if another agent has any of these numbers.
    void add(std::shared_ptr<Agent> agent, std::uint16_t first, std::uint32_t queues);
    // Remove the agent whose first queue number is `first`; its frames count as junk from now on.
    void remove(std::uint16_t first);

    // Start all agents that have not been started.
    void start(Time now, Actions& actions) override;
    void on_frame(FrameHandle frame, Time now, Actions& actions) override;
    void on_timer(Time now, Actions& actions) override;
    void on_reroute(const Routes& routes, Time now, Actions& actions) override;
    void prefetch(const Frame& frame, unsigned stage) const override;
    void detach() override;

    // Always empty: each agent has its own array.
    [[nodiscard]] std::shared_ptr<ByteArray> result() const override { return std::make_shared<ByteArray>(); }
    [[nodiscard]] AgentStats stats() const override;
    [[nodiscard]] std::optional<Time> finished() const override { return std::nullopt; }
    // Always none: an agent that gives up ends only its own collective.
    [[nodiscard]] std::optional<Failure> failed() const override { return std::nullopt; }
    [[nodiscard]] bool done() const override;
    [[nodiscard]] std::uint8_t dtype() const override { return 0; }
    [[nodiscard]] std::optional<ReductionStats> reduction() const override { return std::nullopt; }

    // Called with an agent's first queue number when the agent ends: its result is final, or it has given up,
    // or it receives nothing and all its frames are acknowledged.
    std::function<void(std::uint16_t)> on_end;

   private:
    struct Member {
        std::shared_ptr<Agent> agent;  // shared with the control plane, which reads its result
        std::uint32_t queues = 0;
        bool started = false, ended = false;
        Time deadline = kNever;
    };
    using Members = std::map<std::uint16_t, Member>;  // by first queue number

    [[nodiscard]] Members::const_iterator at(std::uint32_t queue) const;
    // Pass an event to an agent, note its deadline, and report its end.
    template <typename Event>
    void consult(std::uint16_t first, Member& member, Actions& actions, const Event& event);
    void answer_deadline(Actions& actions) const;

    Members members_;
    AgentStats past_;  // of removed agents
};

}  // namespace railyard::hosts
