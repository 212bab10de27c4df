// SPDX-License-Identifier: Apache-2.0
#include "switch/traversal.h"

#include <algorithm>
#include <utility>

#include "switch/stages/calculations.h"
#include "switch/stages/deparser.h"
#include "switch/stages/parser.h"
#include "switch/stages/pipeline.h"

namespace railyard::switching {

// Save the fields of a field list, which a copy or further pass keeps.
void Traversal::preserve(std::uint64_t list) {
    preserved_.clear();
    const FieldList* fields = Program::field_list(state_.program.field_lists, static_cast<int>(list));
    if (fields == nullptr) return;
    for (const Piece& f : fields->fields)
        if (f.kind == Piece::Kind::Field)
            for (unsigned i = 0; i < limbs(f.bits); ++i) preserved_.push_back(state_.slots[f.slot + i]);
}

void Traversal::restore(std::uint64_t list) {
    const FieldList* fields = Program::field_list(state_.program.field_lists, static_cast<int>(list));
    if (fields == nullptr) return;
    std::size_t at = 0;
    for (const Piece& f : fields->fields)
        if (f.kind == Piece::Kind::Field)
            for (unsigned i = 0; i < limbs(f.bits); ++i) state_.slots[f.slot + i] = preserved_[at++];
    ASSERT(at == preserved_.size());
}

void Traversal::run_to(Part last, Frame& frame, Port ingress_port) {
    if (last >= Part::Parse) {
        state_.begin(frame, ingress_port, Time(), state_.program.standard);
        Parser(state_).parse(frame);
    }
    if (last >= Part::Ingress) Pipeline(state_).ingress();
    if (last >= Part::Egress) Pipeline(state_).egress();
    if (last >= Part::Deparse) Deparser(state_).deparse(frame);
}

inline void Traversal::leave(FrameHandle&& frame, Outputs& out) {
    ASSERT(frame->stored <= frame->length);
    if (state_.truncate != 0) frame->truncate(state_.truncate);
    out.push_back({state_.port, std::move(frame)});
}

inline void Traversal::first_pass(FrameHandle&& frame, Port ingress_port, Time now, Outputs& out,
                                  bool defer) {
    const load::Translation& translation = state_.program.translation;
    if (defer || translation.pass == nullptr) {
        state_.begin(*frame, ingress_port, now, state_.program.standard);
        return ingress_pass(std::move(frame), out, defer);
    }
    switch (translation.pass(state_, *frame, ingress_port, now)) {
        case load::PassEnd::Left: return leave(std::move(frame), out);
        case load::PassEnd::Dropped: return;
        case load::PassEnd::Ingress: return after_ingress(std::move(frame), out, false);
        case load::PassEnd::Egress: return after_egress(std::move(frame), out, false);
    }
}

void Traversal::run(FrameHandle&& frame, Port ingress_port, Time now, Outputs& out, bool defer) {
    ASSERT(waiting_.empty() && !frame->pending);
    const std::size_t first = out.size();
    try {
        first_pass(std::move(frame), ingress_port, now, out, defer);
        if (!waiting_.empty()) finish_waiting(out, defer);
        if (defer) divide_budget(out, first);
    } catch (...) {
        waiting_.clear();
        throw;
    }
}

void Traversal::run_egress(FrameHandle&& frame, Port port, const QueueRecord& queue, Time now, Outputs& out) {
    ASSERT(waiting_.empty() && frame->pending && frame->phv->epoch == state_.owner->epoch);
    state_.now = now;
    state_.left = frame->phv->left;
    state_.load(*frame);
    const std::size_t first = out.size();
    try {
        egress_pass(std::move(frame), port, queue, out, true);
        if (!waiting_.empty()) finish_waiting(out, true);
        divide_budget(out, first);
    } catch (...) {
        waiting_.clear();
        throw;
    }
}

void Traversal::finish_waiting(Outputs& out, bool defer) {
    while (!waiting_.empty()) {
        Waiting next = waiting_.pop_front();
        ASSERT(next.frame->pending);
        state_.load(*next.frame);
        if (next.counts) state_.use_pass();
        state_.check();
        if (next.to_ingress) ingress_pass(std::move(next.frame), out, defer);
        else egress_pass(std::move(next.frame), next.port, {state_.now, state_.now, 0, 0}, out, defer);
    }
}

void Traversal::divide_budget(Outputs& out, std::size_t first) const {
    std::uint32_t pending = 0;
    for (std::size_t i = first; i < out.size(); ++i) pending += out[i].frame->pending;
    if (pending == 0) return;
    for (std::size_t i = first; i < out.size(); ++i)
        if (out[i].frame->pending)
            out[i].frame->phv->left = {state_.left.passes / pending, state_.left.copies / pending,
                                       state_.left.rounds / pending};
}

// Send a copy with the current slots to the egress of each replica. The frame still has its original bytes.
void Traversal::copy_out(const Frame& frame, const std::vector<Replica>& replicas, Outputs& out, bool defer,
                         bool counts) {
    const StandardSlots& s = state_.program.standard;
    state_.use_copies(replicas.size());
    for (const Replica& r : replicas) {
        state_.slots[s.egress_rid] = r.rid & low_mask(16);
        FrameHandle copy = state_.owner->pool.copy(frame);
        copy->set_priority(Priority(state_.slots[s.priority]));
        state_.save(*copy);
        if (defer && counts) state_.use_pass();
        if (defer) out.push_back({r.port, std::move(copy)});
        else waiting_.push_back({std::move(copy), r.port, false, counts});
    }
}

void Traversal::clone_ingress(Frame& frame, const CloneSession& clone, Outputs& out, bool defer) {
    const StandardSlots& s = state_.program.standard;
    set_aside_.assign(state_.slots.begin(),
                      state_.slots.begin() + static_cast<std::ptrdiff_t>(state_.program.cleared_slots));
    const auto parsed = state_.parsed;
    const auto length = state_.length;
    const auto truncate = state_.truncate;
    const auto port = state_.slots[s.ingress_port];
    const FrameState::Requests requests = state_.requests;  // parsing again may add requests
    preserve(requests.clone_fields);
    // The clone is the original frame, parsed again, with only the metadata of the field list.
    std::fill_n(state_.slots.begin(), state_.program.cleared_slots, 0);
    state_.slots[s.ingress_port] = port;
    Parser(state_).parse(frame);
    std::fill_n(state_.slots.begin(), state_.program.metadata_slots, 0);
    restore(requests.clone_fields);
    state_.slots[s.instance_type] = kIngressClone;
    state_.length = state_.ingress_length;
    state_.truncate = clone.truncate;
    copy_out(frame, clone.replicas, out, defer);
    std::copy(set_aside_.begin(), set_aside_.end(), state_.slots.begin());
    state_.requests = requests;
    state_.parsed = parsed;
    state_.length = length;
    state_.truncate = truncate;
}

// Clone a frame after egress: with its current headers, and only the metadata of the field list.
void Traversal::clone_egress(const Frame& frame, const CloneSession& clone, Outputs& out, bool defer) {
    set_aside_.assign(state_.slots.begin(),
                      state_.slots.begin() + static_cast<std::ptrdiff_t>(state_.program.metadata_slots));
    const auto truncate = state_.truncate;
    preserve(state_.requests.clone_fields);
    std::fill_n(state_.slots.begin(), state_.program.metadata_slots, 0);
    restore(state_.requests.clone_fields);
    state_.slots[state_.program.standard.instance_type] = kEgressClone;
    state_.truncate = clone.truncate;
    copy_out(frame, clone.replicas, out, defer, true);
    state_.truncate = truncate;
    std::copy(set_aside_.begin(), set_aside_.end(), state_.slots.begin());
}

void Traversal::digest(std::uint64_t id) {
    const FieldList* list = Program::field_list(state_.program.digests, static_cast<int>(id));
    if (list == nullptr) return;
    Digest d{Index<FieldList>(static_cast<std::size_t>(list - state_.program.digests.data())), {}};
    for (const Piece& f : list->fields)
        for (unsigned byte = (f.bits + 7) / 8; byte-- > 0;) {
            std::uint64_t limb = state_.slots[f.slot + byte / 8];
            if (byte / 8 + 1 == limbs(f.bits)) limb &= low_mask(f.bits - 64 * (limbs(f.bits) - 1));
            d.fields.push_back(static_cast<char>(limb >> (8 * (byte % 8))));
        }
    state_.owner->digests.push_back(std::move(d));
}

// Queue the frame for another ingress pass, with only the metadata of the field list.
void Traversal::run_again(FrameHandle&& frame, std::uint64_t list, Instance instance, std::uint64_t length) {
    const StandardSlots& s = state_.program.standard;
    preserve(list);
    std::fill_n(state_.slots.begin(), state_.program.cleared_slots, 0);
    restore(list);
    state_.slots[s.instance_type] = instance;
    state_.slots[s.packet_length] = length;
    state_.ingress_length = state_.length = length;
    state_.parsed = state_.truncate = 0;
    state_.save(*frame);
    waiting_.push_back({std::move(frame), Port(), true, true});
}

void Traversal::ingress_pass(FrameHandle&& frame, Outputs& out, bool defer) {
    state_.begin_ingress(*frame, state_.program.standard);
    Parser(state_).parse(*frame);
    ASSERT(state_.parsed <= frame->stored);
    if (state_.program.verifies) Calculations(state_).verify_checksums();
    Pipeline(state_).ingress();
    after_ingress(std::move(frame), out, defer);
}

void Traversal::after_ingress(FrameHandle&& frame, Outputs& out, bool defer) {
    const StandardSlots& s = state_.program.standard;
    if (state_.requests.any) {
        if (state_.requests.cloned) {
            const auto clone = state_.owner->clones.find(static_cast<std::uint32_t>(state_.requests.clone));
            if (clone != state_.owner->clones.end()) clone_ingress(*frame, clone->second, out, defer);
        }
        if (state_.requests.digest != 0) digest(state_.requests.digest);
        if (state_.requests.resubmit != 0)
            return run_again(std::move(frame), state_.requests.resubmit, kResubmitted, state_.ingress_length);
    }
    if (const std::uint64_t group = state_.slots[s.mcast_grp]; group != 0) {
        state_.slots[s.instance_type] = kReplicated;
        state_.truncate = 0;  // copies are whole, as in BMv2
        const auto at = state_.owner->multicast.find(static_cast<std::uint32_t>(group));
        if (at != state_.owner->multicast.end()) copy_out(*frame, at->second, out, defer);
        return;
    }
    if (state_.slots[s.egress_spec] == kDropPort) return;
    const Port port = state_.end_ingress(*frame, s);
    if (!defer) return egress_pass(std::move(frame), port, {state_.now, state_.now, 0, 0}, out, false);
    state_.save(*frame);
    out.push_back({port, std::move(frame)});
}

void Traversal::egress_pass(FrameHandle&& frame, Port port, const QueueRecord& queue, Outputs& out,
                            bool defer) {
    const StandardSlots& s = state_.program.standard;
    state_.begin_egress(*frame, port, s);
    if (state_.program.reads_queue) {
        const std::uint64_t enqueued = FrameState::microseconds(queue.enqueued);
        state_.slots[s.enq_timestamp] = enqueued & low_mask(32);
        state_.slots[s.enq_qdepth] = queue.enqueue_depth & low_mask(19);
        state_.slots[s.deq_timedelta] = (FrameState::microseconds(queue.dequeued) - enqueued) & low_mask(32);
        state_.slots[s.deq_qdepth] = queue.dequeue_depth & low_mask(19);
    }
    Pipeline(state_).egress();
    after_egress(std::move(frame), out, defer);
}

void Traversal::after_egress(FrameHandle&& frame, Outputs& out, bool defer) {
    if (state_.requests.cloned) {
        const auto clone = state_.owner->clones.find(static_cast<std::uint32_t>(state_.requests.clone));
        if (clone != state_.owner->clones.end()) clone_egress(*frame, clone->second, out, defer);
    }
    if (state_.slots[state_.program.standard.egress_spec] == kDropPort) return;
    Deparser(state_).deparse(*frame);
    if (state_.requests.recirculate != 0) {  // without truncation, as in BMv2
        const std::uint64_t length = frame->length;
        return run_again(std::move(frame), state_.requests.recirculate, kRecirculated, length);
    }
    leave(std::move(frame), out);
}

}  // namespace railyard::switching
