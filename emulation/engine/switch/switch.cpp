// SPDX-License-Identifier: Apache-2.0
#include "switch/switch.h"

namespace railyard::switching {

Switch::Switch(std::string name, Port cpu_port, FramePool& pool, ProgramShares& shares)
    : cpu_port_(cpu_port), state_(std::move(name), pool), shares_(shares) {}

void Switch::set_program(std::shared_ptr<const Program> program) {
    ASSERT_ALWAYS(leased_ == 0);  // no frame is in the switch
    state_.clear();
    share_.reset();
    looked_up_ = 0;
    if (program == nullptr) return;
    looked_up_ = program->looked_up;
    share_ = shares_.of(*program);
    state_.load(std::move(program), share_->layouts, share_->empty);
}

void Switch::share_contents() {
    changed_ = false;
    for (std::size_t at = 0; at < state_.tables.size(); ++at) state_.tables[at].share(share_->contents[at]);
}

Time Switch::next_ageing() const {
    Time soonest = kUnset;
    for (const tables::Table& t : state_.tables) {
        const Time at = t.next_ageing();
        if (at >= Time() && (soonest < Time() || at < soonest)) soonest = at;
    }
    return soonest;
}

void Switch::set_multicast(std::uint32_t group, std::vector<Replica> replicas) {
    if (replicas.empty()) state_.multicast.erase(group);
    else state_.multicast[group] = std::move(replicas);
}

void Switch::set_clone(std::uint32_t session, std::vector<Replica> replicas, std::uint32_t truncate) {
    if (replicas.empty()) state_.clones.erase(session);
    else state_.clones[session] = {std::move(replicas), truncate};
}

void Switch::set_value_set(std::size_t at, std::vector<std::pair<ByteString, ByteString>> values) {
    state_.value_sets.at(at) = std::move(values);
}

inline Switch::Lease::Lease(Switch& owner) : owner_(owner) {
    ProgramShare& share = *owner.share_;
    if (share.idle == nullptr) [[unlikely]] {
        share.traversals.push_back(std::make_unique<Traversal>(owner.state_.program));
        share.idle = share.traversals.back().get();
    }
    traversal_ = std::exchange(share.idle, share.idle->next_idle);
    traversal_->attach(owner.state_);
    ++owner.leased_;
}

inline Switch::Lease::~Lease() {
    ASSERT(owner_.leased_ > 0);
    --owner_.leased_;
    traversal_->next_idle = std::exchange(owner_.share_->idle, traversal_);
}

void Switch::process(FrameHandle frame, Port ingress_port, Time now, Outputs& out) {
    if (state_.program != nullptr) Lease(*this)->run(std::move(frame), ingress_port, now, out, false);
}

void Switch::ingress(FrameHandle frame, Port ingress_port, Time now, Outputs& out) {
    if (state_.program != nullptr) Lease(*this)->run(std::move(frame), ingress_port, now, out, true);
}

void Switch::egress(FrameHandle frame, Port port, const QueueRecord& queue, Time now, Outputs& out) {
    // Frames of an earlier program are dropped.
    if (state_.program != nullptr && frame->pending && frame->phv->epoch == state_.epoch)
        Lease(*this)->run_egress(std::move(frame), port, queue, now, out);
}

bool Switch::pending_bit(const Frame& frame, std::uint32_t bit) const {
    ASSERT(frame.pending && frame.phv != nullptr);
    const auto bit_of_byte = [&frame](std::uint64_t at) {
        return at / 8 < frame.stored && (frame.data()[at / 8] >> (7 - at % 8) & 1) != 0;
    };
    if (state_.program == nullptr || frame.phv->epoch != state_.epoch) return bit_of_byte(bit);
    const auto& slots = frame.phv->slots;
    std::uint64_t left = bit;
    for (const Index<Header> number : state_.program->deparser) {
        const Header& header = state_.program->headers[number];
        if (slots[header.valid] == 0) continue;
        std::uint64_t at = 0;  // position of the field in its header
        for (const Field& field : header.fields) {
            const std::uint64_t bits = field.variable ? slots[field.slot - 1u] : field.bits;
            if (left >= bits) {
                left -= bits;
                at += bits;
                continue;
            }
            if (field.slot == kNoSlot) {
                const std::uint64_t base = slots[header.base()];
                return base != 0 && bit_of_byte(8 * (base - 1) + at + left);
            }
            const std::uint64_t from_lowest = bits - 1 - left;
            return (slots[field.slot + from_lowest / 64] >> from_lowest % 64 & 1) != 0;
        }
    }
    return bit_of_byte(8 * std::uint64_t{frame.phv->parsed} + left);
}

void Switch::trace(FrameHandle frame, Port ingress_port, Time now, Outputs& out,
                   std::vector<TraceStep>& steps) {
    struct Follow {
        Switch& owner;
        ~Follow() { owner.state_.trace = nullptr; }
    } const follow{*this};
    state_.trace = &steps;
    process(std::move(frame), ingress_port, now, out);
}

void Switch::run_to(Traversal::Part last, FrameHandle frame, Port ingress_port) {
    Lease(*this)->run_to(last, *frame, ingress_port);
}

}  // namespace railyard::switching
