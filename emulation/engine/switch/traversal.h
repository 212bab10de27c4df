// SPDX-License-Identifier: Apache-2.0
// Processing of a frame in a switch, with all its copies and further passes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "frames/frame.h"
#include "frames/ring.h"
#include "switch/stages/frame_state.h"

namespace railyard::switching {

struct Output {
    Port port;
    FrameHandle frame;
};
using Outputs = std::vector<Output>;

// Queue metadata of a frame. Depths are in frames.
struct QueueRecord {
    Time enqueued{}, dequeued{};
    std::uint32_t enqueue_depth = 0, dequeue_depth = 0;
};

// Runs a frame through parser, ingress, copies, egress, deparser, resubmission and recirculation, with one
// FrameState. Traversals are independent of each other; switches of the same program reuse them in turn.
class Traversal {
   public:
    explicit Traversal(std::shared_ptr<const Program> program) : state_(std::move(program)) {}

    Traversal* next_idle = nullptr;  // link of ProgramShare::idle

    // Use the state of a switch, which must have the same program.
    void attach(SwitchState& owner) { state_.owner = &owner; }

    // Implement Switch::process, Switch::ingress (`defer`) and Switch::egress; the caller has checked the
    // program. A frame that does not leave stays in its handle or returns to the pool.
    void run(FrameHandle&& frame, Port ingress_port, Time now, Outputs& out, bool defer);
    void run_egress(FrameHandle&& frame, Port port, const QueueRecord& queue, Time now, Outputs& out);

    // Run a frame up to stage `last`, without copies, to profile the stages.
    enum class Part { Copy, Parse, Ingress, Egress, Deparse };
    void run_to(Part last, Frame& frame, Port ingress_port);

   private:
    // Values of standard_metadata.instance_type, as in BMv2.
    enum Instance : std::uint64_t {
        kNormal = 0,
        kIngressClone = 1,
        kEgressClone = 2,
        kRecirculated = 4,
        kReplicated = 5,
        kResubmitted = 6
    };
    // A copy or further pass that this traversal still has to run.
    struct Waiting {
        FrameHandle frame;
        Port port;
        bool to_ingress = false;
        bool counts = false;  // uses up a pass of the budget
    };

    void finish_waiting(Outputs& out, bool defer);
    void divide_budget(Outputs& out, std::size_t first) const;
    [[gnu::always_inline]] void first_pass(FrameHandle&& frame, Port ingress_port, Time now, Outputs& out,
                                           bool defer);
    void ingress_pass(FrameHandle&& frame, Outputs& out, bool defer);
    void after_ingress(FrameHandle&& frame, Outputs& out, bool defer);
    void egress_pass(FrameHandle&& frame, Port port, const QueueRecord& queue, Outputs& out, bool defer);
    void after_egress(FrameHandle&& frame, Outputs& out, bool defer);
    [[gnu::always_inline]] void leave(FrameHandle&& frame, Outputs& out);
    void clone_ingress(Frame& frame, const CloneSession& clone, Outputs& out, bool defer);
    void clone_egress(const Frame& frame, const CloneSession& clone, Outputs& out, bool defer);
    void copy_out(const Frame& frame, const std::vector<Replica>& replicas, Outputs& out, bool defer,
                  bool counts = false);
    void run_again(FrameHandle&& frame, std::uint64_t list, Instance instance, std::uint64_t length);
    void digest(std::uint64_t id);
    void preserve(std::uint64_t list);
    void restore(std::uint64_t list);

    FrameState state_;
    frames::Ring<Waiting> waiting_;
    std::vector<std::uint64_t> preserved_;  // fields that a copy or further pass preserves
    std::vector<std::uint64_t> set_aside_;  // slots saved while copies are made
};

}  // namespace railyard::switching
