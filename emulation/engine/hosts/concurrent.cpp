// SPDX-License-Identifier: Apache-2.0
#include "hosts/concurrent.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace railyard::hosts {

Concurrent::Members::const_iterator Concurrent::at(std::uint32_t queue) const {
    auto next = queue > 0xFFFF ? members_.end() : members_.upper_bound(static_cast<std::uint16_t>(queue));
    if (next == members_.begin()) return members_.end();
    --next;
    return queue - next->first < next->second.queues ? next : members_.end();
}

void Concurrent::add(std::shared_ptr<Agent> agent, std::uint16_t first, std::uint32_t queues) {
    const auto next = members_.lower_bound(first);
    const bool meets_next = next != members_.end() && next->first - first < static_cast<int>(queues);
    if (meets_next || at(first) != members_.end() || first + queues > 0x10000)
        throw std::invalid_argument("queues " + std::to_string(first) + " to " +
                                    std::to_string(first + queues - 1) + " are not free");
    agent->on_repath = [this](std::uint16_t address, BucketSet silent) {
        if (on_repath) on_repath(address, silent);
    };
    members_.emplace(first, Member{.agent = std::move(agent), .queues = queues});
}

void Concurrent::remove(std::uint16_t first) {
    const auto member = members_.find(first);
    if (member == members_.end()) return;
    past_ += member->second.agent->stats();
    member->second.agent->detach();
    members_.erase(member);
}

template <typename Event>
void Concurrent::consult(std::uint16_t first, Member& member, Actions& actions, const Event& event) {
    event(*member.agent);
    member.deadline = actions.deadline.value_or(kNever);
    if (member.ended || !member.started) return;
    const Agent& agent = *member.agent;
    if (!agent.failed() && !(agent.receives() ? agent.finished().has_value() : agent.done())) return;
    member.ended = true;
    if (on_end) on_end(first);
}

void Concurrent::start(Time now, Actions& actions) {
    for (auto& [first, member] : members_) {
        if (member.started) continue;
        member.started = true;
        consult(first, member, actions, [&](Agent& agent) { agent.start(now, actions); });
    }
    answer_deadline(actions);
}

void Concurrent::on_frame(FrameHandle frame, Time now, Actions& actions) {
    arrange(*frame);
    Fields fields;
    const char* junk = scan(frame->data(), frame->length, fields);
    const auto found = junk == nullptr ? at(fields.dst_q) : members_.end();
    if (found != members_.end()) {
        Member& member = members_.find(found->first)->second;
        consult(found->first, member, actions,
                [&](Agent& agent) { agent.on_frame(std::move(frame), now, actions); });
    } else {
        ++past_.junk[junk == nullptr ? "connection" : junk];
    }
    answer_deadline(actions);
}

void Concurrent::on_timer(Time now, Actions& actions) {
    for (auto& [first, member] : members_)
        if (member.deadline <= now)
            consult(first, member, actions, [&](Agent& agent) { agent.on_timer(now, actions); });
    answer_deadline(actions);
}

void Concurrent::on_reroute(const Routes& routes, Time now, Actions& actions) {
    for (auto& [first, member] : members_)
        consult(first, member, actions, [&](Agent& agent) { agent.on_reroute(routes, now, actions); });
    answer_deadline(actions);
}

void Concurrent::prefetch(const Frame& frame, unsigned stage) const {
    if (frame.stored < kAckBytes) return;
    const auto found = at(preview(frame.data()).dst_q);
    if (found != members_.end()) found->second.agent->prefetch(frame, stage);
}

void Concurrent::detach() {
    on_end = nullptr;
    on_repath = nullptr;
    for (const auto& [first, member] : members_) member.agent->detach();
}

AgentStats Concurrent::stats() const {
    AgentStats total = past_;
    for (const auto& [first, member] : members_) total += member.agent->stats();
    return total;
}

bool Concurrent::done() const {
    return std::all_of(members_.begin(), members_.end(),
                       [](const auto& entry) { return entry.second.agent->done(); });
}

void Concurrent::answer_deadline(Actions& actions) const {
    Time first = kNever;
    for (const auto& [queue, member] : members_) first = std::min(first, member.deadline);
    actions.deadline.reset();
    if (first != kNever) actions.deadline = first;
}

}  // namespace railyard::hosts
