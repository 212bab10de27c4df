// SPDX-License-Identifier: Apache-2.0
// Agent of an NPU in an in-network reduction, sans-IO. tests/oracle/tree_member.py is its specification: both
// send the same frames at the same times, in the same order.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <tuple>
#include <vector>

#include "hosts/agent.h"
#include "hosts/tree/tree_frame.h"

namespace railyard::hosts {

// Elements `start` up to `stop`, exclusive. Rank `source` sends values, rank `owner` gets the result; -1:
// all.
struct TreeBlock {
    std::uint64_t start = 0, stop = 0;
    std::int32_t source = -1, owner = -1;
};
// The blocks of a tree in order, shared by all its members.
struct TreeBlocks {
    std::vector<TreeBlock> all;
};
using SharedBlocks = std::shared_ptr<const TreeBlocks>;

struct TreePort {
    std::uint16_t tree = 0;
    Port port;                                  // egress port of the member's own switch
    std::uint16_t next = 0;                     // CNA of the first switch of the tree
    std::vector<std::uint16_t> leaves;          // leaf number of each rank
    std::uint32_t window = 1, first_block = 1;  // frames under way at most; block number of frame 0
};

struct TreeParameters {
    Time initial_rto{}, min_rto{}, max_rto{};
    int report_after = 0, max_retries = 0;  // retries before on_lost is called, and before the member fails
    std::uint8_t operation = 0, item_bytes = 4;
    bool scaled = false;  // float32 sums: members first agree on a scale, then send integers
};

class TreeMember final : public Participant {
   public:
    // `data` has values in the byte order of frames, or native float32 if blocks are scaled.
    // invalid_argument if a block is outside of `data`, or has more values than a frame.
    TreeMember(std::uint32_t rank, std::uint16_t address, ByteArray data,
               const std::vector<std::pair<TreePort, SharedBlocks>>& trees, const TreeParameters& parameters);

    void start(Time now, Actions& actions) override;
    void on_frame(FrameHandle frame, Time now, Actions& actions) override;
    void on_timer(Time now, Actions& actions) override;
    void on_reroute(const Routes& /*routes*/, Time /*now*/, Actions& actions) override {
        answer_deadline(actions);
    }
    void detach() override;

    // Return the indices of a tree's blocks whose results have not arrived.
    [[nodiscard]] std::vector<std::uint32_t> lacking(std::uint16_t tree) const;
    // Replace the tree of this number by the tree of `port`, which carries `blocks`: those that some member
    // lacks. invalid_argument if the member is not in the former.
    void move(std::uint16_t number, const TreePort& port, SharedBlocks blocks, Time now, Actions& actions);

    [[nodiscard]] std::shared_ptr<ByteArray> result() const override { return result_; }
    [[nodiscard]] AgentStats stats() const override;
    [[nodiscard]] std::optional<Time> finished() const override { return finished_; }
    [[nodiscard]] std::optional<Failure> failed() const override { return failed_; }  // tree and block
    [[nodiscard]] bool done() const override { return finished_.has_value(); }
    [[nodiscard]] std::uint8_t dtype() const override { return 0; }
    [[nodiscard]] std::optional<ReductionStats> reduction() const override { return std::nullopt; }
    [[nodiscard]] std::uint64_t wrapped_blocks() const { return wrapped_blocks_; }

    std::function<void(std::uint16_t)> on_lost;  // called with the number of a tree that gives no results

   private:
    // The frame under way in a slot.
    struct Sent {
        std::uint32_t frame = kNone;
        Time first{}, deadline{};
        int retries = 0;
    };
    // Frame i carries the values of block i - lead. If values are scaled, the first `lead` frames carry only
    // scales.
    struct Tree {
        Tree(TreePort p, SharedBlocks b, const TreeParameters& parameters, std::uint16_t member);
        [[nodiscard]] bool lacks(std::uint32_t frame) const { return frame >= lead && lacking[frame - lead]; }
        TreePort port;
        SharedBlocks blocks;
        std::uint32_t lead, step, frames;
        std::vector<bool> lacking;
        std::size_t open;  // blocks that lack a result
        std::vector<std::uint16_t> scales;
        std::vector<Sent> slots;
        bool reported = false;
        ContributionWriter writer;
    };
    using Due = std::tuple<Time, std::uint16_t, std::uint32_t>;  // deadline, tree, frame

    Tree* find(std::uint16_t tree);
    [[nodiscard]] Sent* sent(Tree& tree, std::uint32_t frame) const;
    bool is_due(const Due& due);
    [[nodiscard]] Time rto() const;
    [[nodiscard]] Time backoff(int retries) const;
    void begin(Tree& tree, Time now, Actions& actions);
    void send(Tree& tree, std::uint32_t frame, Time now, Actions& actions);
    [[nodiscard]] FrameHandle contribution(const Tree& tree, std::uint32_t frame, FramePool& pool) const;
    void take(Tree& tree, const TreeResult& result, Time now, Actions& actions);
    void store(const Tree& tree, std::uint32_t number, const std::uint8_t* values);
    void measure(const Sent& sent, Time now);
    void end(Time now, Actions& actions);
    void answer_deadline(Actions& actions);
    [[nodiscard]] std::uint16_t scale_of(const TreeBlock& block) const;

    std::uint32_t rank_;
    std::uint16_t address_;
    TreeParameters parameters_;
    int bits_ = 0;  // scaled values are integers of magnitude up to 2^bits_
    ByteArray data_;
    std::shared_ptr<ByteArray> result_;
    std::vector<Tree> trees_;
    std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;  // may have outdated items, see is_due
    Time rtt_{}, rtt_var_{};
    AgentStats stats_;
    std::uint64_t wrapped_blocks_ = 0;
    std::optional<Time> finished_;
    std::optional<Failure> failed_;
};

}  // namespace railyard::hosts
