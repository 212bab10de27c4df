// SPDX-License-Identifier: Apache-2.0
#include "hosts/agent.h"

#include <algorithm>

namespace railyard::hosts {

AgentStats& AgentStats::operator+=(const AgentStats& other) {
    sent += other.sent;
    retransmitted += other.retransmitted;
    received += other.received;
    duplicates += other.duplicates;
    acks_sent += other.acks_sent;
    acks_received += other.acks_received;
    marked += other.marked;
    trimmed += other.trimmed;
    rtt = std::max(rtt, other.rtt);
    for (const auto& [word, count] : other.junk) junk[word] += count;
    return *this;
}

Agent::Agent(std::shared_ptr<const Rank> rank, std::shared_ptr<ByteArray> data, std::uint16_t job,
             TransportParameters parameters, std::shared_ptr<ReductionUnit> unit)
    : rank_(std::move(rank)),
      plan_(*rank_->plan),
      table_(*rank_->table),
      slices_(table_.offset.size()),
      payloads_(std::move(data), table_.offset.size()),
      open_(plan_.phases),
      job_(job),
      unit_(std::move(unit)),
      parameters_(std::move(parameters)) {
    plans_.reserve(plan_.of_cell.size());
    for (const std::uint32_t number : plan_.of_cell) plans_.push_back(&plan_.plans[number]);
    if (unit_)
        reducer_ = std::make_unique<Reducer>(
            *unit_,
            Reducer::Agent{
                .rank = rank_->rank,
                .dtype = rank_->dtype,
                .table = table_,
                .plan = plan_,
                .payloads = payloads_,
                .slices = slices_,
                .finish = [this](std::uint32_t index, const Phase& phase,
                                 Time now) { finish(index, phase, now); },
                .release = [this](std::uint32_t index) { release_by(index, plan_of(index).releases[0]); }});
    if (parameters_.credits)
        grants_ = std::make_unique<CreditGrants>(*parameters_.credits, parameters_.frame_bytes);
    const Peer::Pair own{rank_->address, rank_->rank, rank_->ranks, job, rank_->dtype};
    for (const PeerSpec& spec : rank_->peers) {
        peers_.push_back(std::make_unique<Peer>(spec, own, parameters_, trips_, payloads_));
        peers_.back()->place = static_cast<std::uint32_t>(peers_.size() - 1);
    }
    due_.assign(peers_.size(), kNever);
    by_address_.set(peers_);
    queues_.resize(plan_.sends.size());
    for (std::size_t send = 0; send < queues_.size(); ++send) {
        queues_[send].send = static_cast<std::uint32_t>(send);
        queues_[send].left = plan_.leaving[send];
        const std::uint32_t peer = plan_.sends[send].peer;
        if (peer != kNone) peers_[peer]->left += plan_.leaving[send];
    }
    if (!rank_->tasks.empty()) {
        progress_ = std::make_unique<Progress>(rank_->tasks);
        send_of_.assign(rank_->tasks.size(), kNone);
        for (std::uint32_t send = 0; send < plan_.sends.size(); ++send)
            send_of_[plan_.sends[send].task] = send;
    }
    if (!rank_->overlap) barrier_ = std::make_unique<StepBarrier>(plan_.due);
    for (const std::uint32_t slice : table_.order) release(slice, 0);
    ready_.clear();
    for (const auto& peer : peers_)
        if (peer->waiting) ready_.push_back(peer.get());
}

bool Agent::done() const {
    return finished_ && std::all_of(peers_.begin(), peers_.end(), [](const auto& peer) {
               return peer->left == 0 &&
                      std::all_of(peer->senders.begin(), peer->senders.end(),
                                  [](const auto& sender) { return sender->in_flight() == 0; });
           });
}

std::uint32_t Agent::longest() const {
    std::uint32_t most = 0;
    for (const auto& peer : peers_) most = std::max(most, peer->left);
    return most;
}

Deliveries Agent::delivered() const {
    Deliveries result;
    for (const auto& peer : peers_) {
        Bytes bytes;
        for (const auto& sender : peer->senders) bytes += sender->delivered;
        result.emplace_back(peer->rank(), bytes);
    }
    return result;
}

AgentStats Agent::stats() const {
    AgentStats stats;
    stats.junk = junk_;
    stats.received = received_;
    for (const auto& peer : peers_) {
        for (const auto& sender : peer->senders) {
            stats.sent += sender->sent;
            stats.retransmitted += sender->retransmitted;
            stats.acks_received += sender->acks;
            stats.trimmed += sender->trimmed;
            stats.rtt = std::max(stats.rtt, sender->rtt);
        }
        for (const Receiver& receiver : peer->receivers) {
            stats.duplicates += receiver.duplicates;
            stats.acks_sent += receiver.acks;
            stats.marked += receiver.marked;
        }
    }
    return stats;
}

std::vector<Progress::Span> Agent::times() const {
    return progress_ ? progress_->times() : std::vector<Progress::Span>{};
}

void Agent::answer_deadline(Actions& actions) const {
    actions.deadline.reset();
    if (deadline_ != kNever) actions.deadline = deadline_;
}

void Agent::tell() {
    if (!on_done || !done()) return;
    const std::function<void()> call = std::exchange(on_done, nullptr);
    call();
}

// Start to send. Frames that arrive before the start are accepted and acknowledged.
void Agent::start(Time now, Actions& actions) {
    started_ = true;
    if (progress_) progress_->start(now);
    if (open_ == 0 && !computing()) finished_ = now;
    if (reducer_) {
        reducer_->begin(now);
        deadline_ = std::min(deadline_, reducer_->due());
    }
    work(now, actions);
    tell();
    answer_deadline(actions);
}

void Agent::ask(std::uint16_t address, BucketSet silent) const {
    if (silent != 0 && on_repath) on_repath(address, silent);
}

void Agent::detach() {
    on_done = nullptr;
    on_repath = nullptr;
    for (const auto& peer : peers_)
        for (const auto& sender : peer->senders) sender->detach();
    held_.clear();
    for (SliceState& slice : slices_) slice.held = 0;
    if (reducer_) reducer_->detach();
    payloads_.keep_all();
}

void Agent::prefetch(const Frame& frame, unsigned stage) const {
    if (frame.stored < kAckBytes) return;
    const Preview next = preview(frame.data());
    const Peer* const peer = by_address_.find(next.scna);
    if (peer == nullptr) return;
    if (stage > 0) {
        if (!peer->receivers.empty()) peer->prefetch(next.data);
        return;
    }
    fetch_lines(peer, 2);
    const std::uint32_t index = next.data ? table_.find(next.offset) : kNone;
    if (index == kNone) return;
    // A data frame's payload, its destination in the array, and its cell's plan.
    if (frame.payload != nullptr) fetch(frame.payload->bytes);
    if (!next.copied) fetch(payloads_.shared()->data() + next.offset);
    fetch(&plan_of(index));
    fetch(&slices_[index]);
}

void Agent::on_frame(FrameHandle frame, Time now, Actions& actions) {
    actions.deadline.reset();
    if (failed_) return;
    arrange(*frame);
    Fields fields;
    if (const char* junk = scan(frame->data(), frame->length, fields); junk != nullptr) {
        ++junk_[junk];
        return answer_deadline(actions);
    }
    Peer* const peer = fields.dcna == rank_->address ? by_address_.find(fields.scna) : nullptr;
    const auto number = peer == nullptr ? std::nullopt : peer->number(fields);
    if (!number) ++junk_["connection"];
    else if (fields.trimmed) on_trimmed(*peer, *number, fields, now, actions);
    else if (fields.opcode == kOpcodeData) on_data(*peer, *number, fields, std::move(frame), now, actions);
    else on_ack(*peer, *number, fields, now, actions);
    if (started_) work(now, actions);
    if (reducer_) deadline_ = std::min(deadline_, reducer_->due());
    if (grants_) {
        grants_->run(now, actions);
        deadline_ = std::min(deadline_, grants_->due());
    }
    if (finished_) tell();
    answer_deadline(actions);
}

void Agent::on_ack(Peer& peer, std::size_t number, const Fields& fields, Time now, Actions& actions) {
    Sender& sender = *peer.senders[number];
    const bool measured = trips_.peak != Time();
    if (fields.opcode == kOpcodeCredit) {
        sender.on_credit(Bytes(static_cast<std::int64_t>(fields.sack)), now);
        sender.resend_lost(now, actions);
        make_ready(peer);
        expect(peer, sender.due());
        return;
    }
    const bool moved =
        sender.on_ack(fields.psn, fields.sack, now, fields.flags, fields.marks, fields.skipped);
    if (fields.opcode == kOpcodeNack) {
        if (parameters_.go_back) sender.go_back(fields.nacked, now);
        else sender.on_trim(fields.nacked, now);
    }
    sender.resend_lost(now, actions);
    if (!measured && trips_.peak != Time()) {
        // Timers that were set before the first measured round trip are too long.
        for (const auto& other : peers_)
            for (const auto& each : other->senders) {
                each->rearm(now);
                expect(*other, each->due());
            }
    }
    if (moved || sender.limited()) make_ready(peer);
    expect(peer, sender.due());  // an acknowledgement ends the backoff
}

void Agent::on_reroute(const Routes& routes, Time now, Actions& actions) {
    actions.deadline.reset();
    if (failed_) return;
    for (const auto& [address, buckets] : routes) {
        Peer* const peer = by_address_.find(address);
        if (peer == nullptr) continue;
        for (const auto& sender : peer->senders) {
            sender->on_reroute(buckets, now, actions);
            expect(*peer, sender->due());
        }
        for (Receiver& receiver : peer->receivers)
            if (receiver.last_by(buckets)) receiver.acknowledge(now, actions);
    }
    answer_deadline(actions);
}

void Agent::on_timer(Time now, Actions& actions) {
    actions.deadline.reset();
    if (failed_) return;
    const std::size_t before = actions.departures.size();
    Time deadline = kNever;
    bool opened = false;
    if (reducer_) {
        reducer_->run(now);
        if (!ready_.empty() && started_) pump(now, actions);
        deadline = reducer_->due();
    }
    if (grants_) {
        grants_->run(now, actions);
        deadline = std::min(deadline, grants_->due());
    }
    for (std::size_t place = 0; place < due_.size(); ++place) {
        ASSERT(due_[place] <= peers_[place]->due());
        if (due_[place] > now && due_[place] >= deadline) continue;  // nothing is due or sets the deadline
        const auto& peer = peers_[place];
        for (Receiver& receiver : peer->receivers)
            if (receiver.ack_at <= now) receiver.acknowledge(now, actions);
        for (const auto& sender : peer->senders) {
            if (sender->timer <= now) {
                sender->on_timeout(now, actions);
                if (sender->failed_psn) {
                    failed_ = Failure{peer->rank(), *sender->failed_psn, now};
                    deadline_ = kNever;
                    actions.departures.resize(before);  // an agent that has failed sends nothing more
                    return;
                }
                ask(peer->address(), sender->silent_buckets());
            }
            if (sender->open(now)) {
                sender->resend_lost(now, actions);
                make_ready(*peer);
                opened = true;
            }
        }
        due_[place] = peer->due();
        deadline = std::min(deadline, due_[place]);
    }
    deadline_ = deadline;
    if ((progress_ || opened) && started_) work(now, actions);
    if ((progress_ || reducer_ || opened) && finished_) tell();
    answer_deadline(actions);
}

// Add a peer with ready slices to the round robin, unless the peer is in it already.
void Agent::make_ready(Peer& peer) {
    if (peer.active.empty() || peer.waiting) return;
    peer.waiting = true;
    ready_.push_back(&peer);
}

// Answer a trimmed data frame with an immediate negative acknowledgement.
void Agent::on_trimmed(Peer& peer, std::size_t number, const Fields& fields, Time now, Actions& actions) {
    Receiver& receiver = peer.receivers[number];
    const bool missing = receiver.refuse(fields.psn, now, actions);
    if (!grants_) return;
    grants_->ask(receiver, fields.asked, (fields.flags & kWithoutCredit) != 0, now, actions);
    if (missing) grants_->refuse(receiver, Bytes(kDataHeaderBytes + fields.length));
}

void Agent::on_data(Peer& peer, std::size_t number, const Fields& fields, FrameHandle frame, Time now,
                    Actions& actions) {
    if (fields.job != job_ || fields.dtype != rank_->dtype) {
        ++junk_["job"];
        return;
    }
    const std::uint32_t index = table_.find(fields.offset);
    if (index == kNone || table_.size[index] != fields.length) {
        ++junk_["range"];
        return;
    }
    const SliceState& slice = slices_[index];
    const CellPlan& plan = plan_of(index);
    const std::uint32_t place = plan.phase_at(fields.step, slice.applied);
    const Phase* const phase = place == kNone ? nullptr : &plan.phases[place];
    const std::uint32_t source =
        phase == nullptr || phase->op != fields.op ? kNone : phase->source_of(peer.rank());
    if (source == kNone) {
        ++junk_["unexpected"];
        return;
    }
    Receiver& receiver = peer.receivers[number];
    const Receiver::Accepted accepted = receiver.accept(fields.psn, fields.flags, now);
    if (accepted == Receiver::Accepted::Beyond) {
        ++junk_["psn"];
        return;
    }
    if (accepted == Receiver::Accepted::Early) return receiver.ask_back(now, actions);
    if (accepted == Receiver::Accepted::New) {
        ++received_;
        const std::size_t sources = phase->sources.size();
        if (reducer_) {
            reducer_->take(index, place, source, std::move(frame), now);
        } else if (sources == 1 && slice.applied == place && slice.unsent == 0 &&
                   (!progress_ || progress_->open(phase->task))) {
            apply(index, *phase, {&frame, 1}, now);
            if (slice.held != 0) settle(index, now);
        } else {
            HeldPhase& waiting = held_.of(slices_[index].held, place, sources);
            FrameHandle& own = waiting.frames[source];
            ASSERT(waiting.frames.size() == sources);
            waiting.count += own == nullptr;
            own = std::move(frame);
            if (waiting.count == sources) settle(index, now);
        }
    } else {
        ask(peer.address(), receiver.silent_buckets());
    }
    if (grants_) grants_->ask(receiver, fields.asked, (fields.flags & kWithoutCredit) != 0, now, actions);
    if (fields.marked) receiver.note_mark(fields.lb);
    if (receiver.ack_at <= now) receiver.acknowledge(now, actions);
    else expect(peer, receiver.ack_at);
}

}  // namespace railyard::hosts
