// SPDX-License-Identifier: Apache-2.0
// Passes of a frame: ingress, copies, egress, resubmission and recirculation.
#include "switch/traversal.h"

#include <algorithm>
#include <stdexcept>

#include "switch/switch.h"

namespace railyard {

namespace {

std::uint64_t microseconds(Time t) { return static_cast<std::uint64_t>(t / 1'000'000); }

}  // namespace

Traversal::Traversal(std::shared_ptr<const Program> program)
    : owned_program_(std::move(program)), program_(*owned_program_), slots_(program_.image) {}

void Traversal::attach(Switch& owner) {
    switch_ = &owner;
    epoch_ = owner.epoch_;
}

std::shared_ptr<ProgramShare> ProgramShares::of(const Program& program) {
    std::erase_if(known_, [](const Known& known) { return known.share.expired(); });
    for (const Known& known : known_)
        if (known.program == &program) return known.share.lock();
    auto share = std::make_shared<ProgramShare>();
    share->layouts.reserve(program.tables.size());
    for (const TableSpec& spec : program.tables) share->layouts.emplace_back(program, spec);
    for (const TableLayout& layout : share->layouts)
        share->empty.push_back(std::make_shared<TableContent>(layout));
    share->contents.resize(program.tables.size());
    known_.push_back({&program, share});
    return share;
}

void ProgramShares::share_contents() {
    for (Switch* const owner : changed) owner->share_contents();
    changed.clear();
}

void Traversal::save(Frame& frame) {
    if (frame.phv == nullptr) frame.phv = std::make_unique<Phv>();
    frame.phv->slots.assign(slots_.begin(),
                            slots_.begin() + static_cast<std::ptrdiff_t>(program_.cleared_slots));
    frame.phv->epoch = epoch_;
    frame.phv->parsed = parsed_;
    frame.phv->ingress_length = ingress_length_;
    frame.phv->length = length_;
    frame.phv->truncate = truncate_;
    frame.pending = true;
}

void Traversal::load(const Frame& frame) {
    ASSERT(frame.phv != nullptr && frame.phv->epoch == epoch_);
    ASSERT(frame.phv->slots.size() == program_.cleared_slots);
    std::copy(frame.phv->slots.begin(), frame.phv->slots.end(), slots_.begin());
    parsed_ = frame.phv->parsed;
    ingress_length_ = frame.phv->ingress_length;
    length_ = frame.phv->length;
    truncate_ = frame.phv->truncate;
}

// Save the fields that a copy preserves.
void Traversal::preserve(std::uint64_t list) {
    preserved_.clear();
    const FieldList* fields = Program::field_list(program_.field_lists, static_cast<int>(list));
    if (fields == nullptr) return;
    for (const Piece& f : fields->fields)
        if (f.kind == Piece::Kind::Field)
            for (unsigned i = 0; i < limbs(f.bits); ++i) preserved_.push_back(slots_[f.slot + i]);
}

void Traversal::restore(std::uint64_t list) {
    const FieldList* fields = Program::field_list(program_.field_lists, static_cast<int>(list));
    if (fields == nullptr) return;
    std::size_t at = 0;
    for (const Piece& f : fields->fields)
        if (f.kind == Piece::Kind::Field)
            for (unsigned i = 0; i < limbs(f.bits); ++i) slots_[f.slot + i] = preserved_[at++];
    ASSERT(at == preserved_.size());
}

void Traversal::begin(const Frame& frame, std::uint32_t ingress_port, Time now) {
    now_ = now;
    left_ = {};
    std::fill_n(slots_.begin(), program_.cleared_slots, 0);
    ingress_length_ = length_ = frame.length;
    truncate_ = 0;
    slots_[program_.standard.ingress_port] = ingress_port & low_mask(kPortBits);
    slots_[program_.standard.packet_length] = frame.length;
}

void Traversal::run_to(Part last, Frame& frame, std::uint32_t ingress_port) {
    if (last >= Part::Parse) {
        begin(frame, ingress_port, 0);
        parse(frame);
    }
    if (last >= Part::Ingress) run_ingress();
    if (last >= Part::Egress) run_egress();
    if (last >= Part::Deparse) deparse(frame);
}

void Traversal::run(FrameHandle&& frame, std::uint32_t ingress_port, Time now, Outputs& out, bool defer) {
    ASSERT(waiting_.empty() && !frame->pending);
    begin(*frame, ingress_port, now);
    const std::size_t first = out.size();
    try {
        ingress_pass(std::move(frame), out, defer);
        if (!waiting_.empty()) finish_waiting(out, defer);
        if (defer) divide_budget(out, first);
    } catch (...) {
        waiting_.clear();
        throw;
    }
}

void Traversal::run_egress(FrameHandle&& frame, std::uint32_t port, const QueueRecord& queue, Time now,
                           Outputs& out) {
    ASSERT(waiting_.empty() && frame->pending && frame->phv->epoch == epoch_);
    now_ = now;
    left_ = frame->phv->left;
    load(*frame);
    frame->pending = false;
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
        load(*next.frame);
        next.frame->pending = false;
        if (next.counts) use_pass();
        check();
        if (next.to_ingress) ingress_pass(std::move(next.frame), out, defer);
        else egress_pass(std::move(next.frame), next.port, {now_, now_, 0, 0}, out, defer);
    }
}

// Resubmitted, recirculated and cloned frames can cause further frames without end, and a loop further
// rounds.
void Traversal::use_pass() {
    if (left_.passes == 0)
        throw std::runtime_error("switch " + switch_->name() +
                                 ": a frame was resubmitted, recirculated or cloned by egress " +
                                 std::to_string(Budget{}.passes) +
                                 " times, its copies included, and there is no end to it; program " +
                                 program_.name + " must end its rounds");
    --left_.passes;
}

void Traversal::use_copies(std::size_t count) {
    if (count > left_.copies)
        throw std::runtime_error("switch " + switch_->name() + ": more than " +
                                 std::to_string(Budget{}.copies) +
                                 " copies of a frame, by multicast groups and clone sessions in all its "
                                 "passes; give them fewer replicas, or let program " +
                                 program_.name + " copy a frame in one pass only");
    left_.copies -= static_cast<std::uint32_t>(count);
    ASSERT(left_.copies <= Budget{}.copies && left_.passes <= Budget{}.passes);
}

void Traversal::refuse_rounds() const {
    throw std::runtime_error("switch " + switch_->name() + ": a loop of program " + program_.name +
                             " went round " + std::to_string(Budget{}.rounds) +
                             " times for one frame, its copies included; it must end");
}

void Traversal::check() const {
    if (switch_->on_checkpoint) switch_->on_checkpoint();
}

void Traversal::divide_budget(Outputs& out, std::size_t first) const {
    std::uint32_t pending = 0;
    for (std::size_t i = first; i < out.size(); ++i) pending += out[i].frame->pending;
    for (std::size_t i = first; i < out.size(); ++i)
        if (out[i].frame->pending)
            out[i].frame->phv->left = {left_.passes / pending, left_.copies / pending,
                                       left_.rounds / pending};
}

// Send a copy with the present slots to the egress of each replica. The frame still has its original bytes.
void Traversal::copy_out(const Frame& frame, const std::vector<Replica>& replicas, Outputs& out, bool defer,
                         bool counts) {
    const StandardSlots& s = program_.standard;
    use_copies(replicas.size());
    for (const Replica& r : replicas) {
        slots_[s.egress_rid] = r.rid & low_mask(16);
        FrameHandle copy = switch_->pool_.copy(frame);
        copy->vl = static_cast<std::uint8_t>(slots_[s.priority]);
        save(*copy);
        if (defer && counts) use_pass();
        if (defer) out.push_back({r.port, std::move(copy)});
        else waiting_.push_back({std::move(copy), r.port, false, counts});
    }
}

void Traversal::clone_ingress(Frame& frame, const CloneSession& clone, Outputs& out, bool defer) {
    const StandardSlots& s = program_.standard;
    set_aside_.assign(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(program_.cleared_slots));
    const auto parsed = parsed_;
    const auto length = length_;
    const auto truncate = truncate_;
    const auto port = slots_[s.ingress_port];
    const Requests requests = requests_;  // parsing again may add requests
    preserve(requests.clone_fields);
    // The clone is the original frame: parsed again, with the metadata of the field list only.
    std::fill_n(slots_.begin(), program_.cleared_slots, 0);
    slots_[s.ingress_port] = port;
    parse(frame);
    std::fill_n(slots_.begin(), program_.metadata_slots, 0);
    restore(requests.clone_fields);
    slots_[s.instance_type] = kIngressClone;
    length_ = ingress_length_;
    truncate_ = clone.truncate;
    copy_out(frame, clone.replicas, out, defer);
    std::copy(set_aside_.begin(), set_aside_.end(), slots_.begin());
    requests_ = requests;
    parsed_ = parsed;
    length_ = length;
    truncate_ = truncate;
}

// The clone has the headers after egress, and the metadata of the field list only.
void Traversal::clone_egress(const Frame& frame, const CloneSession& clone, Outputs& out, bool defer) {
    set_aside_.assign(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(program_.metadata_slots));
    const auto truncate = truncate_;
    preserve(requests_.clone_fields);
    std::fill_n(slots_.begin(), program_.metadata_slots, 0);
    restore(requests_.clone_fields);
    slots_[program_.standard.instance_type] = kEgressClone;
    truncate_ = clone.truncate;
    copy_out(frame, clone.replicas, out, defer, true);
    truncate_ = truncate;
    std::copy(set_aside_.begin(), set_aside_.end(), slots_.begin());
}

void Traversal::digest(std::uint64_t id) {
    const FieldList* list = Program::field_list(program_.digests, static_cast<int>(id));
    if (list == nullptr) return;
    Digest d{Index<FieldList>(static_cast<std::size_t>(list - program_.digests.data())), {}};
    for (const Piece& f : list->fields)
        for (unsigned byte = (f.bits + 7) / 8; byte-- > 0;) {
            std::uint64_t limb = slots_[f.slot + byte / 8];
            if (byte / 8 + 1 == limbs(f.bits)) limb &= low_mask(f.bits - 64 * (limbs(f.bits) - 1));
            d.fields.push_back(static_cast<char>(limb >> (8 * (byte % 8))));
        }
    switch_->digests_.push_back(std::move(d));
}

// Queue the frame for another ingress pass, with the metadata of the field list only.
void Traversal::run_again(FrameHandle&& frame, std::uint64_t list, Instance instance, std::uint64_t length) {
    const StandardSlots& s = program_.standard;
    preserve(list);
    std::fill_n(slots_.begin(), program_.cleared_slots, 0);
    restore(list);
    slots_[s.instance_type] = instance;
    slots_[s.packet_length] = length;
    ingress_length_ = length_ = length;
    parsed_ = truncate_ = 0;
    save(*frame);
    waiting_.push_back({std::move(frame), 0, true, true});
}

void Traversal::ingress_pass(FrameHandle&& frame, Outputs& out, bool defer) {
    const StandardSlots& s = program_.standard;
    frame_ = frame.get();
    slots_[s.ingress_time] = microseconds(now_) & low_mask(48);
    requests_ = {};
    parse(*frame);
    ASSERT(parsed_ <= frame->stored);
    if (program_.verifies) verify_checksums();
    run_ingress();
    if (requests_.any) {
        if (requests_.cloned) {
            const auto clone = switch_->clones_.find(static_cast<std::uint32_t>(requests_.clone));
            if (clone != switch_->clones_.end()) clone_ingress(*frame, clone->second, out, defer);
        }
        if (requests_.digest != 0) digest(requests_.digest);
        if (requests_.resubmit != 0)
            return run_again(std::move(frame), requests_.resubmit, kResubmitted, ingress_length_);
    }
    if (const std::uint64_t group = slots_[s.mcast_grp]; group != 0) {
        slots_[s.instance_type] = kReplicated;
        truncate_ = 0;  // copies are whole, as in BMv2
        const auto at = switch_->multicast_.find(static_cast<std::uint32_t>(group));
        if (at != switch_->multicast_.end()) copy_out(*frame, at->second, out, defer);
        return;
    }
    const auto port = static_cast<std::uint32_t>(slots_[s.egress_spec]);
    if (port == kDropPort) return;
    slots_[s.instance_type] = kNormal;
    frame->vl = static_cast<std::uint8_t>(slots_[s.priority]);
    if (!defer) return egress_pass(std::move(frame), port, {now_, now_, 0, 0}, out, false);
    save(*frame);
    out.push_back({port, std::move(frame)});
}

void Traversal::egress_pass(FrameHandle&& frame, std::uint32_t port, const QueueRecord& queue, Outputs& out,
                            bool defer) {
    const StandardSlots& s = program_.standard;
    frame_ = frame.get();
    slots_[s.egress_time] = microseconds(now_) & low_mask(48);
    if (program_.reads_queue) {
        slots_[s.enq_timestamp] = microseconds(queue.enqueued) & low_mask(32);
        slots_[s.enq_qdepth] = queue.enqueue_depth & low_mask(19);
        slots_[s.deq_timedelta] =
            (microseconds(queue.dequeued) - microseconds(queue.enqueued)) & low_mask(32);
        slots_[s.deq_qdepth] = queue.dequeue_depth & low_mask(19);
    }
    slots_[s.qid] = frame->vl & low_mask(5);
    // v1model resets egress_spec: from here on only egress drops.
    slots_[s.egress_port] = port & low_mask(kPortBits);
    slots_[s.egress_spec] = 0;
    slots_[s.packet_length] = length_ & low_mask(32);
    requests_ = {};
    run_egress();
    if (requests_.cloned) {
        const auto clone = switch_->clones_.find(static_cast<std::uint32_t>(requests_.clone));
        if (clone != switch_->clones_.end()) clone_egress(*frame, clone->second, out, defer);
    }
    if (slots_[s.egress_spec] == kDropPort) return;
    deparse(*frame);
    ASSERT(frame->stored <= frame->length);
    if (requests_.recirculate != 0) {  // whole, as in BMv2: truncation is for frames that leave
        const std::uint64_t length = frame->length;
        return run_again(std::move(frame), requests_.recirculate, kRecirculated, length);
    }
    if (truncate_ != 0) frame->truncate(truncate_);
    out.push_back({port, std::move(frame)});
}

}  // namespace railyard
