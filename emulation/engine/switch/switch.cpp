// SPDX-License-Identifier: Apache-2.0
// The way of a frame: ingress, copies, egress, and round again.
#include "switch/switch.h"

#include <algorithm>
#include <stdexcept>

namespace railyard {

namespace {

// Resubmitted and recirculated frames take no time here, so one that never leaves would stop everything.
constexpr unsigned kMostPasses = 1000;

std::uint64_t microseconds(Time t) { return static_cast<std::uint64_t>(t / 1'000'000); }

}  // namespace

Switch::Switch(std::string name, std::uint32_t cpu_port, FramePool& pool) : name_(std::move(name)), cpu_port_(cpu_port), pool_(pool) {
    // Every switch has its own sequence of random numbers, the same in every run.
    random_ = 0xCBF29CE484222325ULL;
    for (const char c : name_) random_ = (random_ ^ static_cast<std::uint8_t>(c)) * 0x100000001B3ULL;
}

void Switch::set_program(std::shared_ptr<const Program> program) {
    tables_.clear();
    profiles_.clear();
    counters_.clear();
    registers_.clear();
    meters_.clear();
    value_sets_.clear();
    multicast_.clear();
    clones_.clear();
    digests_.clear();
    program_ = std::move(program);
    ++epoch_;
    slots_.clear();
    if (program_ == nullptr) return;
    slots_ = program_->image;
    for (const ProfileSpec& p : program_->profiles) profiles_.push_back(std::make_unique<Profile>(*program_, p));
    tables_.reserve(program_->tables.size());
    for (const TableSpec& t : program_->tables)
        tables_.emplace_back(*program_, t, t.profile == kNone ? nullptr : profiles_[static_cast<std::size_t>(t.profile)].get());
    for (const ArraySpec& c : program_->counters)
        counters_.push_back({std::vector<std::uint64_t>(c.size, 0), std::vector<std::uint64_t>(c.size, 0)});
    for (const ArraySpec& r : program_->registers) registers_.emplace_back(r.size * limbs(r.bits), 0);
    for (const MeterSpec& m : program_->meters) meters_.emplace_back(m.size);
    value_sets_.resize(program_->value_sets.size());
}

Time Switch::next_ageing() const {
    Time soonest = -1;
    for (const Table& t : tables_) {
        const Time at = t.next_ageing();
        if (at >= 0 && (soonest < 0 || at < soonest)) soonest = at;
    }
    return soonest;
}

void Switch::set_multicast(std::uint32_t group, std::vector<Replica> replicas) {
    if (replicas.empty()) multicast_.erase(group);
    else multicast_[group] = std::move(replicas);
}

void Switch::set_clone(std::uint32_t session, std::vector<Replica> replicas, std::uint32_t truncate) {
    if (replicas.empty()) clones_.erase(session);
    else clones_[session] = {std::move(replicas), truncate};
}

void Switch::set_value_set(std::size_t at, std::vector<std::pair<Bytes, Bytes>> values) { value_sets_.at(at) = std::move(values); }

void Switch::save(Frame& frame) {
    if (frame.phv == nullptr) frame.phv = std::make_unique<Phv>();
    frame.phv->slots.assign(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(program_->cleared_slots));
    frame.phv->epoch = epoch_;
    frame.phv->parsed = parsed_;
    frame.phv->ingress_length = ingress_length_;
    frame.phv->length = length_;
    frame.phv->truncate = truncate_;
    frame.pending = true;
}

void Switch::load(const Frame& frame) {
    std::copy(frame.phv->slots.begin(), frame.phv->slots.end(), slots_.begin());
    parsed_ = frame.phv->parsed;
    ingress_length_ = frame.phv->ingress_length;
    length_ = frame.phv->length;
    truncate_ = frame.phv->truncate;
}

// The fields that a copy takes along.
void Switch::keep(std::uint64_t list) {
    kept_.clear();
    const FieldList* fields = program_->field_list(program_->field_lists, static_cast<int>(list));
    if (fields == nullptr) return;
    for (const Piece& f : fields->fields)
        if (f.kind == Piece::Kind::Field)
            for (unsigned i = 0; i < limbs(f.bits); ++i) kept_.push_back(slots_[f.slot + i]);
}

void Switch::restore(std::uint64_t list) {
    const FieldList* fields = program_->field_list(program_->field_lists, static_cast<int>(list));
    if (fields == nullptr) return;
    std::size_t at = 0;
    for (const Piece& f : fields->fields)
        if (f.kind == Piece::Kind::Field)
            for (unsigned i = 0; i < limbs(f.bits); ++i) slots_[f.slot + i] = kept_[at++];
}

void Switch::begin(const Frame& frame, std::uint32_t ingress_port) {
    std::fill_n(slots_.begin(), program_->cleared_slots, 0);
    ingress_length_ = length_ = frame.length;
    truncate_ = 0;
    slots_[program_->standard.ingress_port] = ingress_port & low_mask(kPortBits);
    slots_[program_->standard.packet_length] = frame.length;
}

void Switch::run_to(Part last, Frame* frame, std::uint32_t ingress_port) {
    if (last >= Part::Parse) {
        begin(*frame, ingress_port);
        parse(*frame);
    }
    if (last >= Part::Ingress) execute(program_->ingress);
    if (last >= Part::Egress) execute(program_->egress);
    if (last >= Part::Deparse) deparse(*frame);
    pool_.give(frame);
}

void Switch::run(Frame* frame, std::uint32_t ingress_port, Time now, Outputs& out, bool defer) {
    if (program_ == nullptr) return pool_.give(frame);
    now_ = now;
    passes_ = 0;
    begin(*frame, ingress_port);
    try {
        ingress_pass(frame, out, defer);
        if (!later_.empty()) drain(out, defer);
    } catch (...) {
        lose();
        throw;
    }
}

void Switch::egress(Frame* frame, std::uint32_t port, const QueueRecord& queue, Time now, Outputs& out) {
    if (program_ == nullptr || !frame->pending || frame->phv->epoch != epoch_)
        return pool_.give(frame);  // of a program that is gone
    now_ = now;
    passes_ = 0;
    load(*frame);
    frame->pending = false;
    try {
        egress_pass(frame, port, queue, out, true);
        if (!later_.empty()) drain(out, true);
    } catch (...) {
        lose();
        throw;
    }
}

void Switch::lose() {
    for (const Later& l : later_) pool_.give(l.frame);
    later_.clear();
}

void Switch::drain(Outputs& out, bool defer) {
    while (!later_.empty()) {
        const Later next = later_.front();
        later_.pop_front();
        load(*next.frame);
        next.frame->pending = false;
        if (next.counts && ++passes_ > kMostPasses) {
            pool_.give(next.frame);
            throw std::runtime_error("switch " + name_ + ": a frame was resubmitted, recirculated or cloned by egress " + std::to_string(kMostPasses) +
                                     " times and there is no end to it; program " + program_->name + " must end its rounds");
        }
        if (next.to_ingress) ingress_pass(next.frame, out, defer);
        else egress_pass(next.frame, next.port, {now_, now_, 0, 0}, out, defer);
    }
}

// A copy for each replica, to egress as the slots are now. The frame still has the bytes it came with.
void Switch::copy_out(const Frame& frame, const std::vector<Replica>& replicas, Outputs& out, bool defer, bool counts) {
    const StandardSlots& s = program_->standard;
    for (const Replica& r : replicas) {
        slots_[s.egress_rid] = r.rid & low_mask(16);
        Frame* copy = pool_.take(frame.data(), frame.length);
        copy->vl = static_cast<std::uint8_t>(slots_[s.priority]);
        save(*copy);
        if (defer) out.push_back({r.port, copy});
        else later_.push_back({copy, r.port, false, counts});
    }
}

void Switch::clone_ingress(const Frame& frame, const Clone& clone, Outputs& out, bool defer) {
    const StandardSlots& s = program_->standard;
    const std::vector<std::uint64_t> slots(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(program_->cleared_slots));
    const auto parsed = parsed_;
    const auto length = length_;
    const auto port = slots_[s.ingress_port];
    const auto fields = asked_.clone_fields;  // before the parser asks for something else
    keep(fields);
    // The frame as it came: parsed again, with the metadata that the list names and no other.
    std::fill_n(slots_.begin(), program_->cleared_slots, 0);
    slots_[s.ingress_port] = port;
    parse(frame);
    std::fill_n(slots_.begin(), program_->metadata_slots, 0);
    restore(fields);
    slots_[s.instance_type] = kIngressClone;
    length_ = ingress_length_;
    truncate_ = clone.truncate;
    copy_out(frame, clone.replicas, out, defer);
    std::copy(slots.begin(), slots.end(), slots_.begin());
    parsed_ = parsed;
    length_ = length;
    truncate_ = 0;
}

void Switch::digest(std::uint64_t id) {
    const FieldList* list = program_->field_list(program_->digests, static_cast<int>(id));
    if (list == nullptr) return;
    Digest d{static_cast<int>(list - program_->digests.data()), {}};
    for (const Piece& f : list->fields)
        for (unsigned byte = (f.bits + 7) / 8; byte-- > 0;) {
            std::uint64_t limb = slots_[f.slot + byte / 8];
            if (byte / 8 + 1 == limbs(f.bits)) limb &= low_mask(f.bits - 64 * (limbs(f.bits) - 1));
            d.fields.push_back(static_cast<char>(limb >> (8 * (byte % 8))));
        }
    digests_.push_back(std::move(d));
}

// The frame, with the metadata that the list names and no other, through the parser once more.
void Switch::again(Frame* frame, std::uint64_t list, Instance instance, std::uint64_t length) {
    const StandardSlots& s = program_->standard;
    keep(list);
    std::fill_n(slots_.begin(), program_->cleared_slots, 0);
    restore(list);
    slots_[s.instance_type] = instance;
    slots_[s.packet_length] = length;
    ingress_length_ = length_ = length;
    parsed_ = truncate_ = 0;
    save(*frame);
    later_.push_back({frame, 0, true});
}

// What an ingress may ask for besides a port. True: the frame itself goes round again.
bool Switch::ingress_requests(Frame* frame, Outputs& out, bool defer) {
    if (asked_.cloned) {
        const auto clone = clones_.find(static_cast<std::uint32_t>(asked_.clone));
        if (clone != clones_.end()) clone_ingress(*frame, clone->second, out, defer);
    }
    if (asked_.digest != 0) digest(asked_.digest);
    if (asked_.resubmit == 0) return false;
    again(frame, asked_.resubmit, kResubmitted, ingress_length_);
    return true;
}

void Switch::ingress_pass(Frame* frame, Outputs& out, bool defer) {
    const StandardSlots& s = program_->standard;
    frame_ = frame;
    slots_[s.ingress_time] = microseconds(now_) & low_mask(48);
    asked_ = {};
    try {
        parse(*frame);
        if (program_->verifies) verify_checksums();
        execute(program_->ingress);
    } catch (...) {
        pool_.give(frame);
        throw;
    }
    if (asked_.any && ingress_requests(frame, out, defer)) return;
    if (const std::uint64_t group = slots_[s.mcast_grp]; group != 0) {
        slots_[s.instance_type] = kReplicated;
        const auto at = multicast_.find(static_cast<std::uint32_t>(group));
        if (at != multicast_.end()) copy_out(*frame, at->second, out, defer);
        return pool_.give(frame);
    }
    const auto port = static_cast<std::uint32_t>(slots_[s.egress_spec]);
    if (port == kDropPort) return pool_.give(frame);
    slots_[s.instance_type] = kNormal;
    frame->vl = static_cast<std::uint8_t>(slots_[s.priority]);
    if (!defer) return egress_pass(frame, port, {now_, now_, 0, 0}, out, false);
    save(*frame);
    out.push_back({port, frame});
}

void Switch::egress_pass(Frame* frame, std::uint32_t port, const QueueRecord& queue, Outputs& out, bool defer) {
    const StandardSlots& s = program_->standard;
    frame_ = frame;
    slots_[s.egress_time] = microseconds(now_) & low_mask(48);
    if (program_->reads_queue) {
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
    asked_ = {};
    try {
        execute(program_->egress);
    } catch (...) {
        pool_.give(frame);
        throw;
    }
    if (asked_.cloned) {
        const auto clone = clones_.find(static_cast<std::uint32_t>(asked_.clone));
        if (clone != clones_.end()) {
            // Headers as egress left them, metadata as the list says.
            const std::vector<std::uint64_t> metadata(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(program_->metadata_slots));
            const auto truncate = truncate_;
            keep(asked_.clone_fields);
            std::fill_n(slots_.begin(), program_->metadata_slots, 0);
            restore(asked_.clone_fields);
            slots_[s.instance_type] = kEgressClone;
            truncate_ = clone->second.truncate;
            copy_out(*frame, clone->second.replicas, out, defer, true);
            truncate_ = truncate;
            std::copy(metadata.begin(), metadata.end(), slots_.begin());
        }
    }
    if (slots_[s.egress_spec] == kDropPort) return pool_.give(frame);
    deparse(*frame);
    if (truncate_ != 0) frame->length = std::min(frame->length, truncate_);
    if (asked_.recirculate != 0) return again(frame, asked_.recirculate, kRecirculated, frame->length);
    out.push_back({port, frame});
}

}  // namespace railyard
