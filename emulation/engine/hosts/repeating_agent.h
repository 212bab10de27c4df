// SPDX-License-Identifier: Apache-2.0
// Agent of an NPU in a training job, which alternates computation and a collective.
// tests/oracle/repeating.py is its specification.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "hosts/agent.h"

namespace railyard::hosts {

// A number of iterations, each with `compute` ps of computation, whose last `overlap` ps run while sending.
struct IterationProfile {
    std::uint32_t iterations = 1;
    Time compute{}, overlap{};
};

// Times of an iteration: its begin, the begin and the end of sending, its end. `checksum`: CRC-32 of the
// result.
struct IterationReport {
    Time begun{}, send{}, sent{}, end{};
    std::uint32_t checksum = 0;
};

class RepeatingAgent final : public Participant {
   public:
    RepeatingAgent(std::shared_ptr<const Rank> rank, ByteArray data, const IterationProfile& profile,
                   TransportParameters parameters, const std::optional<Reduction>& reduction = {});

    void start(Time now, Actions& actions) override;
    void on_frame(FrameHandle frame, Time now, Actions& actions) override;
    void on_timer(Time now, Actions& actions) override;
    void on_reroute(const Routes& routes, Time now, Actions& actions) override;
    [[nodiscard]] bool isolated() const override { return !on_done && !on_iteration; }
    void detach() override;

    // Return the array of the current iteration.
    [[nodiscard]] std::shared_ptr<ByteArray> result() const override;
    [[nodiscard]] AgentStats stats() const override;
    [[nodiscard]] Deliveries delivered() const override;
    [[nodiscard]] std::optional<Time> finished() const override { return finished_; }
    [[nodiscard]] std::optional<Failure> failed() const override;
    [[nodiscard]] bool done() const override { return finished_.has_value(); }
    [[nodiscard]] std::uint8_t dtype() const override { return rank_->dtype; }
    [[nodiscard]] std::optional<ReductionStats> reduction() const override {
        return unit_ ? std::optional(unit_->stats()) : std::nullopt;
    }
    [[nodiscard]] std::uint32_t longest() const { return agents_.front().agent->longest(); }
    [[nodiscard]] const std::vector<IterationReport>& log() const { return log_; }
    // Set the service level of data and its frame templates for iterations without an agent yet.
    void set_level(int level, const Templates& templates);

    std::function<void(std::uint32_t)> on_iteration;  // called at an iteration's end, with its number

   private:
    struct Iteration {
        std::uint32_t number;
        std::unique_ptr<Agent> agent;
    };
    struct Deadline {
        std::uint32_t number;
        Time time;
    };

    [[nodiscard]] Agent* find(std::uint32_t number) const;
    Agent& agent(std::uint32_t number);
    // Return the iteration of a frame; the current iteration, which counts it as junk, if it has none.
    std::uint32_t number_of(const Frame& frame);
    void begin(std::uint32_t number, Time now);
    void go_on(Time now, Actions& actions);
    void take(std::uint32_t number, const Actions& actions);
    void answer_deadline(Actions& actions) const;
    [[nodiscard]] Time lost() const { return unit_ ? unit_->core() : Time(); }
    // Return the end of the computation before sending, or of the overlapped part once sending has begun.
    // Cores that reduce prolong the computation.
    [[nodiscard]] Time computed() const {
        return send_ + (sending_ ? profile_.overlap : Time()) + lost() - core_;
    }

    std::shared_ptr<const Rank> rank_;
    ByteArray data_;
    IterationProfile profile_;
    TransportParameters parameters_;
    std::shared_ptr<ReductionUnit> unit_;
    Time core_{};                      // core time lost to reduction when this part of the computation began
    std::vector<Iteration> agents_;    // in the order of their creation
    std::vector<Deadline> deadlines_;  // in the order of their agents' first answers
    AgentStats past_;                  // of removed agents
    Deliveries past_delivered_;        // of removed agents
    std::vector<IterationReport> log_;
    std::uint32_t at_ = 0;
    bool sending_ = false;
    Time begun_{}, send_{};
    std::optional<Time> sent_, finished_;
};

}  // namespace railyard::hosts
