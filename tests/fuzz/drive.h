// SPDX-License-Identifier: Apache-2.0
// One switch, driven by fuzz input: what a control plane may ask for in any order, and frames in between.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <memory>
#include <vector>

#include "guided.h"
#include "switch/switch.h"

namespace railyard::fuzz {

using Programs = std::vector<std::shared_ptr<const Program>>;

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
    void leave(Outputs& out, bool pending);

    const Program& program() const { return *switch_.program(); }
    std::size_t below(std::size_t count) { return in_.ConsumeIntegralInRange<std::size_t>(0, count - 1); }
    Port port();
    std::vector<std::uint64_t> value(unsigned bits, Slot slot);
    std::vector<tables::MatchValue> match(const TableSpec& table);
    std::vector<std::uint64_t> parameters(Index<Action> action);
    std::optional<tables::MeterConfig> meter();
    std::vector<Replica> replicas();

    FuzzedDataProvider& in_;
    const Programs& programs_;
    FramePool pool_;
    ProgramShares shares_;
    Switch switch_;
    Time now_{};
    GuidedFrame last_;
    std::vector<Output> waiting_;  // between ingress and egress
    std::vector<std::vector<std::pair<std::vector<tables::MatchValue>, tables::EntryPriority>>>
        entered_;  // by table: matches and priorities
    std::uint64_t logged_ = 0;
    char read_ = 0;
};

}  // namespace railyard::fuzz
