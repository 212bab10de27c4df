// SPDX-License-Identifier: Apache-2.0
#include "switch/switch.h"

namespace railyard {

Switch::Switch(std::string name, std::uint32_t cpu_port, FramePool& pool, ProgramShares& shares)
    : cpu_port_(cpu_port), name_(std::move(name)), pool_(pool), shares_(shares) {
    // Seed with the name: a sequence for each switch, equal in every run.
    for (const char c : name_) random_ = (random_ ^ static_cast<std::uint8_t>(c)) * 0x100000001B3ULL;
}

void Switch::set_program(std::shared_ptr<const Program> program) {
    ASSERT_ALWAYS(leased_ == 0);  // no frame is at work
    tables_.clear();
    contents_.clear();
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
    share_.reset();
    if (program_ == nullptr) return;
    share_ = shares_.of(*program_);
    for (const ProfileSpec& p : program_->profiles)
        profiles_.push_back(std::make_unique<Profile>(*program_, p));
    tables_.reserve(program_->tables.size());
    contents_ = share_->empty;
    for (std::size_t at = 0; at < contents_.size(); ++at) {
        const TableLayout& layout = share_->layouts[at];
        const Index<ProfileSpec> profile = layout.spec.profile;
        tables_.emplace_back(layout, contents_[at], profile ? profiles_[profile.at()].get() : nullptr);
    }
    for (const ArraySpec& c : program_->counters) counters_.emplace_back(c.size);
    for (const ArraySpec& r : program_->registers) registers_.emplace_back(r.size * limbs(r.bits), 0);
    for (const MeterSpec& m : program_->meters) meters_.emplace_back(m.size);
    value_sets_.resize(program_->value_sets.size());
    ASSERT(tables_.size() == contents_.size());
}

void Switch::share_contents() {
    changed_ = false;
    for (std::size_t at = 0; at < tables_.size(); ++at) tables_[at].share(share_->contents[at]);
}

// SplitMix64 (Steele, Lea and Flood).
std::uint64_t Switch::random(std::uint64_t low, std::uint64_t high) {
    random_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = random_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    z ^= z >> 31;
    const unsigned __int128 span = static_cast<unsigned __int128>(high - low) + 1;
    return low + static_cast<std::uint64_t>((static_cast<unsigned __int128>(z) * span) >> 64);
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

void Switch::set_value_set(std::size_t at, std::vector<std::pair<Bytes, Bytes>> values) {
    value_sets_.at(at) = std::move(values);
}

Switch::Lease::Lease(Switch& owner) : owner_(owner) {
    if (owner.share_->idle.empty()) {
        traversal_ = std::make_unique<Traversal>(owner.program_);
    } else {
        traversal_ = std::move(owner.share_->idle.back());
        owner.share_->idle.pop_back();
    }
    traversal_->attach(owner);
    ++owner.leased_;
}

Switch::Lease::~Lease() {
    ASSERT(owner_.leased_ > 0 && traversal_ != nullptr);
    --owner_.leased_;
    owner_.share_->idle.push_back(std::move(traversal_));
}

void Switch::process(FrameHandle frame, std::uint32_t ingress_port, Time now, Outputs& out) {
    if (program_ != nullptr) Lease(*this)->run(std::move(frame), ingress_port, now, out, false);
}

void Switch::ingress(FrameHandle frame, std::uint32_t ingress_port, Time now, Outputs& out) {
    if (program_ != nullptr) Lease(*this)->run(std::move(frame), ingress_port, now, out, true);
}

void Switch::egress(FrameHandle frame, std::uint32_t port, const QueueRecord& queue, Time now, Outputs& out) {
    // Frames of an earlier program are dropped.
    if (program_ != nullptr && frame->pending && frame->phv->epoch == epoch_)
        Lease(*this)->run_egress(std::move(frame), port, queue, now, out);
}

void Switch::run_to(Traversal::Part last, FrameHandle frame, std::uint32_t ingress_port) {
    Lease(*this)->run_to(last, *frame, ingress_port);
}

}  // namespace railyard
