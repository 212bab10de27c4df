// SPDX-License-Identifier: Apache-2.0
// One switch, driven by fuzz input: what a control plane may ask for in any order, and frames in between.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <memory>
#include <vector>

#include "guided.h"
#include "switch/switch.h"

namespace railyard::fuzz {

using Programs = std::vector<std::shared_ptr<const load::Program>>;

class Drive {
   public:
    // programs: those that the switch may be given; at least one.
    Drive(FuzzedDataProvider& in, const Programs& programs);

    // Steps until the input is spent, at most `most`.
    void run(unsigned most);

   private:
    void configure();
    void entry();
    void profile();
    void state();
    void copies();
    void look();
    void frame(bool whole);
    void egress();
    void leave(switching::Outputs& out, bool pending);

    const load::Program& program() const { return *switch_.program(); }
    std::size_t below(std::size_t count) { return in_.ConsumeIntegralInRange<std::size_t>(0, count - 1); }
    Port port();
    std::vector<std::uint64_t> value(unsigned bits, load::Slot slot);
    std::vector<tables::MatchValue> match(const load::TableSpec& table);
    std::vector<std::uint64_t> parameters(Index<load::Action> action);
    std::optional<tables::MeterConfig> meter();
    std::vector<switching::Replica> replicas();

    FuzzedDataProvider& in_;
    const Programs& programs_;
    frames::FramePool pool_;
    switching::ProgramShares shares_;
    switching::Switch switch_;
    Time now_{};
    GuidedFrame last_;
    std::vector<switching::Output> waiting_;  // between ingress and egress
    std::vector<std::vector<std::pair<std::vector<tables::MatchValue>, tables::EntryPriority>>>
        entered_;  // by table: matches and priorities
    std::uint64_t logged_ = 0;
    char read_ = 0;
};

}  // namespace railyard::fuzz
