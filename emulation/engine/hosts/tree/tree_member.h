// SPDX-License-Identifier: Apache-2.0
// Agent of an NPU in a collective that switches carry out, sans-IO. tests/oracle/tree_member.py is its
// specification: both send the same frames at the same times, in the same order.
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

namespace railyard {

// Elements `start` to `stop`; `source` sends values of them, `owner` gets the result. Ranks; -1: all.
struct TreeBlock {
    std::uint64_t start = 0, stop = 0;
    std::int32_t source = -1, owner = -1;
};
// The blocks of a tree in their order, which its members share.
struct TreeBlocks {
    std::vector<TreeBlock> all;
};
using SharedBlocks = std::shared_ptr<const TreeBlocks>;

struct TreePort {
    std::uint16_t tree = 0;
    std::uint8_t port = 0;              // of the member's own switch
    std::uint16_t next = 0;             // CNA of the first switch of the tree
    std::vector<std::uint16_t> leaves;  // leaf number of each rank
    std::uint32_t window = 1, first_block = 1;
};

struct TreeParameters {
    Time initial_rto = 0, min_rto = 0, max_rto = 0;
    int report_after = 0, max_retries = 0;
    std::uint8_t operation = 0, item_bytes = 4;
    bool scaled = false;  // sums of float32, whose members agree on a scale first
};

class TreeMember final : public Participant {
   public:
    // `data` are the bytes that frames carry, or float32 if blocks are scaled. invalid_argument if a block is
    // outside of them, or has more values than a frame.
    TreeMember(std::uint32_t rank, std::uint16_t address, Bytes data,
               const std::vector<std::pair<TreePort, SharedBlocks>>& trees, const TreeParameters& parameters);

    void start(Time now, Actions& actions) override;
    void on_frame(FrameHandle frame, Time now, Actions& actions) override;
    void on_timer(Time now, Actions& actions) override;
    void on_reroute(const Routes& /*routes*/, Time /*now*/, Actions& actions) override {
        answer_deadline(actions);
    }
    void detach() override;

    // Numbers of the blocks of a tree whose results have not come.
    std::vector<std::uint32_t> lacking(std::uint16_t tree) const;
    // Leave a tree, and take another one for blocks whose results some member lacks.
    void move(std::uint16_t tree, const TreePort& port, SharedBlocks blocks, Time now, Actions& actions);

    std::shared_ptr<Bytes> result() const override { return result_; }
    AgentStats stats() const override;
    std::optional<Time> finished() const override { return finished_; }
    std::optional<Failure> failed() const override { return failed_; }  // tree and block
    bool done() const override { return finished_.has_value(); }
    std::uint8_t dtype() const override { return 0; }
    std::optional<ReductionStats> reduction() const override { return std::nullopt; }
    std::uint64_t wrapped_blocks() const { return wrapped_blocks_; }

    std::function<void(std::uint16_t)> on_lost;  // called with a tree whose results do not come

   private:
    // A frame under way; a slot has one at a time.
    struct Sent {
        std::uint32_t frame = kNone;
        Time first = 0, deadline = 0;
        int retries = 0;
    };
    // With scales, the first `lead` frames have no numbers, and frame i has those of block i - lead.
    struct Tree {
        Tree(const TreePort& p, SharedBlocks b, const TreeParameters& parameters, std::uint16_t member);
        bool lacks(std::uint32_t frame) const { return frame >= lead && lacking[frame - lead]; }
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
    Sent* sent(Tree& tree, std::uint32_t frame) const;
    bool is_due(const Due& due);
    Time rto() const;
    Time backoff(int retries) const;
    void begin(Tree& tree, Time now, Actions& actions);
    void send(Tree& tree, std::uint32_t frame, Time now, Actions& actions);
    FrameHandle contribution(const Tree& tree, std::uint32_t frame, FramePool& pool) const;
    void take(Tree& tree, const TreeResult& result, Time now, Actions& actions);
    void store(const Tree& tree, std::uint32_t number, const std::uint8_t* values);
    void measure(const Sent& sent, Time now);
    void end(Time now, Actions& actions);
    void answer_deadline(Actions& actions);
    std::uint16_t scale_of(const TreeBlock& block) const;

    std::uint32_t rank_;
    std::uint16_t address_;
    TreeParameters parameters_;
    int bits_ = 0;  // numbers of a scale are integers up to 2 to this power
    Bytes data_;
    std::shared_ptr<Bytes> result_;
    std::vector<Tree> trees_;
    std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;  // some are out of date
    Time rtt_ = 0, rtt_var_ = 0;
    AgentStats stats_;
    std::uint64_t wrapped_blocks_ = 0;
    std::optional<Time> finished_;
    std::optional<Failure> failed_;
};

}  // namespace railyard
