// SPDX-License-Identifier: Apache-2.0
// Passes of a frame: ingress, copies, egress, and round again.
#include "switch/traversal.h"

#include <algorithm>
#include <cassert>
#include <stdexcept>

#include "switch/switch.h"

namespace railyard {

namespace {

// Resubmitted and recirculated frames take no time here, so one that never leaves would stop everything.
constexpr unsigned kMostPasses = 1000;

std::uint64_t microseconds(Time t) { return static_cast<std::uint64_t>(t / 1'000'000); }

}  // namespace

Traversal::Traversal(Switch& owner) : switch_(owner), program_(*owner.program()), epoch_(owner.epoch_), slots_(program_.image) {}

void Traversal::save(Frame& frame) {
    if (frame.phv == nullptr) frame.phv = std::make_unique<Phv>();
    frame.phv->slots.assign(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(program_.cleared_slots));
    frame.phv->epoch = epoch_;
    frame.phv->parsed = parsed_;
    frame.phv->ingress_length = ingress_length_;
    frame.phv->length = length_;
    frame.phv->truncate = truncate_;
    frame.pending = true;
}

void Traversal::load(const Frame& frame) {
    std::copy(frame.phv->slots.begin(), frame.phv->slots.end(), slots_.begin());
    parsed_ = frame.phv->parsed;
    ingress_length_ = frame.phv->ingress_length;
    length_ = frame.phv->length;
    truncate_ = frame.phv->truncate;
}

// The fields that a copy takes along.
void Traversal::preserve(std::uint64_t list) {
    preserved_.clear();
    const FieldList* fields = program_.field_list(program_.field_lists, static_cast<int>(list));
    if (fields == nullptr) return;
    for (const Piece& f : fields->fields)
        if (f.kind == Piece::Kind::Field)
            for (unsigned i = 0; i < limbs(f.bits); ++i) preserved_.push_back(slots_[f.slot + i]);
}

void Traversal::restore(std::uint64_t list) {
    const FieldList* fields = program_.field_list(program_.field_lists, static_cast<int>(list));
    if (fields == nullptr) return;
    std::size_t at = 0;
    for (const Piece& f : fields->fields)
        if (f.kind == Piece::Kind::Field)
            for (unsigned i = 0; i < limbs(f.bits); ++i) slots_[f.slot + i] = preserved_[at++];
}

void Traversal::begin(const Frame& frame, std::uint32_t ingress_port, Time now) {
    now_ = now;
    passes_ = 0;
    std::fill_n(slots_.begin(), program_.cleared_slots, 0);
    ingress_length_ = length_ = frame.length;
    truncate_ = 0;
    slots_[program_.standard.ingress_port] = ingress_port & low_mask(kPortBits);
    slots_[program_.standard.packet_length] = frame.length;
}

void Traversal::run_to(Part last, FrameHandle frame, std::uint32_t ingress_port) {
    if (last >= Part::Parse) {
        begin(*frame, ingress_port, 0);
        parse(*frame);
    }
    if (last >= Part::Ingress) execute(program_.ingress);
    if (last >= Part::Egress) execute(program_.egress);
    if (last >= Part::Deparse) deparse(*frame);
}

void Traversal::run(FrameHandle frame, std::uint32_t ingress_port, Time now, Outputs& out, bool defer) {
    assert(waiting_.empty());
    begin(*frame, ingress_port, now);
    try {
        ingress_pass(std::move(frame), out, defer);
        if (!waiting_.empty()) finish_waiting(out, defer);
    } catch (...) {
        waiting_.clear();
        throw;
    }
}

void Traversal::run_egress(FrameHandle frame, std::uint32_t port, const QueueRecord& queue, Time now, Outputs& out) {
    assert(waiting_.empty() && frame->pending);
    now_ = now;
    passes_ = 0;
    load(*frame);
    frame->pending = false;
    try {
        egress_pass(std::move(frame), port, queue, out, true);
        if (!waiting_.empty()) finish_waiting(out, true);
    } catch (...) {
        waiting_.clear();
        throw;
    }
}

void Traversal::finish_waiting(Outputs& out, bool defer) {
    while (!waiting_.empty()) {
        Waiting next = waiting_.pop_front();
        load(*next.frame);
        next.frame->pending = false;
        if (next.counts && ++passes_ > kMostPasses)
            throw std::runtime_error("switch " + switch_.name() + ": a frame was resubmitted, recirculated or cloned by egress " + std::to_string(kMostPasses) +
                                     " times and there is no end to it; program " + program_.name + " must end its rounds");
        if (next.to_ingress) ingress_pass(std::move(next.frame), out, defer);
        else egress_pass(std::move(next.frame), next.port, {now_, now_, 0, 0}, out, defer);
    }
}

// A copy for each replica, to egress as the slots are now. The frame still has the bytes it came with.
void Traversal::copy_out(const Frame& frame, const std::vector<Replica>& replicas, Outputs& out, bool defer, bool counts) {
    const StandardSlots& s = program_.standard;
    for (const Replica& r : replicas) {
        slots_[s.egress_rid] = r.rid & low_mask(16);
        FrameHandle copy = switch_.pool_.acquire(frame.data(), frame.length);
        copy->vl = static_cast<std::uint8_t>(slots_[s.priority]);
        save(*copy);
        if (defer) out.push_back({r.port, std::move(copy)});
        else waiting_.push_back({std::move(copy), r.port, false, counts});
    }
}

void Traversal::clone_ingress(const Frame& frame, const CloneSession& clone, Outputs& out, bool defer) {
    const StandardSlots& s = program_.standard;
    set_aside_.assign(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(program_.cleared_slots));
    const auto parsed = parsed_;
    const auto length = length_;
    const auto port = slots_[s.ingress_port];
    const Requests requests = requests_;  // the parser may request, too
    preserve(requests.clone_fields);
    // The frame as it came: parsed again, with the metadata that the list names and no other.
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
    truncate_ = 0;
}

// Headers as egress left them, metadata as the list says.
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
    const FieldList* list = program_.field_list(program_.digests, static_cast<int>(id));
    if (list == nullptr) return;
    Digest d{Index<FieldList>(static_cast<std::size_t>(list - program_.digests.data())), {}};
    for (const Piece& f : list->fields)
        for (unsigned byte = (f.bits + 7) / 8; byte-- > 0;) {
            std::uint64_t limb = slots_[f.slot + byte / 8];
            if (byte / 8 + 1 == limbs(f.bits)) limb &= low_mask(f.bits - 64 * (limbs(f.bits) - 1));
            d.fields.push_back(static_cast<char>(limb >> (8 * (byte % 8))));
        }
    switch_.digests_.push_back(std::move(d));
}

// The frame, with the metadata that the list names and no other, through the parser once more.
void Traversal::run_again(FrameHandle frame, std::uint64_t list, Instance instance, std::uint64_t length) {
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

void Traversal::ingress_pass(FrameHandle frame, Outputs& out, bool defer) {
    const StandardSlots& s = program_.standard;
    frame_ = frame.get();
    slots_[s.ingress_time] = microseconds(now_) & low_mask(48);
    requests_ = {};
    parse(*frame);
    if (program_.verifies) verify_checksums();
    execute(program_.ingress);
    if (requests_.any) {
        if (requests_.cloned) {
            const auto clone = switch_.clones_.find(static_cast<std::uint32_t>(requests_.clone));
            if (clone != switch_.clones_.end()) clone_ingress(*frame, clone->second, out, defer);
        }
        if (requests_.digest != 0) digest(requests_.digest);
        if (requests_.resubmit != 0) return run_again(std::move(frame), requests_.resubmit, kResubmitted, ingress_length_);
    }
    if (const std::uint64_t group = slots_[s.mcast_grp]; group != 0) {
        slots_[s.instance_type] = kReplicated;
        const auto at = switch_.multicast_.find(static_cast<std::uint32_t>(group));
        if (at != switch_.multicast_.end()) copy_out(*frame, at->second, out, defer);
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

void Traversal::egress_pass(FrameHandle frame, std::uint32_t port, const QueueRecord& queue, Outputs& out, bool defer) {
    const StandardSlots& s = program_.standard;
    frame_ = frame.get();
    slots_[s.egress_time] = microseconds(now_) & low_mask(48);
    if (program_.reads_queue) {
        slots_[s.enq_timestamp] = microseconds(queue.enqueued) & low_mask(32);
        slots_[s.enq_qdepth] = queue.enqueue_depth & low_mask(19);
        slots_[s.deq_timedelta] = (microseconds(queue.dequeued) - microseconds(queue.enqueued)) & low_mask(32);
        slots_[s.deq_qdepth] = queue.dequeue_depth & low_mask(19);
    }
    slots_[s.qid] = frame->vl & low_mask(5);
    // v1model: egress_spec starts anew, so that only egress itself can drop from here on.
    slots_[s.egress_port] = port & low_mask(kPortBits);
    slots_[s.egress_spec] = 0;
    slots_[s.packet_length] = length_ & low_mask(32);
    requests_ = {};
    execute(program_.egress);
    if (requests_.cloned) {
        const auto clone = switch_.clones_.find(static_cast<std::uint32_t>(requests_.clone));
        if (clone != switch_.clones_.end()) clone_egress(*frame, clone->second, out, defer);
    }
    if (slots_[s.egress_spec] == kDropPort) return;
    deparse(*frame);
    if (truncate_ != 0) frame->length = std::min(frame->length, truncate_);
    if (requests_.recirculate != 0) {
        const std::uint64_t length = frame->length;
        return run_again(std::move(frame), requests_.recirculate, kRecirculated, length);
    }
    out.push_back({port, std::move(frame)});
}

}  // namespace railyard
