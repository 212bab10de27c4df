// SPDX-License-Identifier: Apache-2.0
#include "hosts/repeating_agent.h"

#include <algorithm>
#include <utility>

#include "hosts/messages/fields.h"
#include "hosts/reduction/reduce.h"
#include "switch/hash.h"

namespace railyard::hosts {

namespace {

// Add deliveries element by element: agents of all iterations have the same peers in the same order.
void add(Deliveries& total, const Deliveries& more) {
    if (total.empty()) total.resize(more.size());
    for (std::size_t peer = 0; peer < more.size(); ++peer)
        total[peer] = {more[peer].first, total[peer].second + more[peer].second};
}

}  // namespace

namespace {

// Number of successive iterations with disjoint PSN ranges: acknowledgements carry no job number, so the
// PSN tells their iteration.
constexpr std::uint32_t kWindows = 16, kStride = (kPsnMask + 1) / kWindows, kMostAhead = kWindows / 2;

// Return an iteration's input: the data rotated by `iteration` elements, so that stale frames spoil the
// result.
std::shared_ptr<ByteArray> input_of(const ByteArray& data, std::uint32_t iteration) {
    auto input = std::make_shared<ByteArray>(data.size());
    if (data.empty()) return input;
    const std::size_t first = data.size() - iteration % (data.size() / kItemBytes) * kItemBytes;
    std::rotate_copy(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(first % data.size()),
                     data.end(), input->begin());
    return input;
}

}  // namespace

RepeatingAgent::RepeatingAgent(std::shared_ptr<const Rank> rank, ByteArray data,
                               const IterationProfile& profile, TransportParameters parameters,
                               const std::optional<Reduction>& reduction)
    : rank_(std::move(rank)),
      data_(std::move(data)),
      profile_(profile),
      parameters_(std::move(parameters)),
      unit_(reduction ? std::make_shared<ReductionUnit>(*reduction) : nullptr) {
    agent(0);
}

Agent* RepeatingAgent::find(std::uint32_t number) const {
    for (const Iteration& iteration : agents_)
        if (iteration.number == number) return iteration.agent.get();
    return nullptr;
}

Agent& RepeatingAgent::agent(std::uint32_t number) {
    if (Agent* const known = find(number)) return *known;
    TransportParameters parameters = parameters_;
    parameters.first_psn = number % kWindows * kStride;
    agents_.push_back(
        {number, std::make_unique<Agent>(rank_, input_of(data_, number),
                                         static_cast<std::uint16_t>(number + 1), parameters, unit_)});
    Agent& made = *agents_.back().agent;
    made.on_repath = [this](std::uint16_t address, BucketSet silent) {
        if (on_repath) on_repath(address, silent);
    };
    return made;
}

std::shared_ptr<ByteArray> RepeatingAgent::result() const { return find(at_)->result(); }

std::optional<Failure> RepeatingAgent::failed() const {
    for (const Iteration& iteration : agents_)
        if (auto failure = iteration.agent->failed()) return failure;
    return std::nullopt;
}

Deliveries RepeatingAgent::delivered() const {
    Deliveries total = past_delivered_;
    for (const Iteration& iteration : agents_) add(total, iteration.agent->delivered());
    return total;
}

AgentStats RepeatingAgent::stats() const {
    AgentStats total = past_;
    for (const Iteration& iteration : agents_) total += iteration.agent->stats();
    return total;
}

void RepeatingAgent::set_level(int level, const Templates& templates) {
    parameters_.level = level;
    parameters_.templates = templates;
}

void RepeatingAgent::detach() {
    on_done = nullptr;
    on_repath = nullptr;
    on_iteration = nullptr;
    for (const Iteration& iteration : agents_) iteration.agent->detach();
}

void RepeatingAgent::start(Time now, Actions& actions) {
    begin(0, now);
    go_on(now, actions);
    answer_deadline(actions);
}

void RepeatingAgent::on_frame(FrameHandle frame, Time now, Actions& actions) {
    arrange(*frame);
    const std::uint32_t number = number_of(*frame);
    find(number)->on_frame(std::move(frame), now, actions);
    take(number, actions);
    if (number == at_) go_on(now, actions);
    answer_deadline(actions);
}

void RepeatingAgent::on_timer(Time now, Actions& actions) {
    for (const Deadline deadline : deadlines_) {  // take() changes times, not the list's length
        if (deadline.time > now) continue;
        find(deadline.number)->on_timer(now, actions);
        take(deadline.number, actions);
    }
    go_on(now, actions);
    answer_deadline(actions);
}

void RepeatingAgent::on_reroute(const Routes& routes, Time now, Actions& actions) {
    for (const Iteration& iteration : agents_) {
        iteration.agent->on_reroute(routes, now, actions);
        take(iteration.number, actions);
    }
    answer_deadline(actions);
}

std::uint32_t RepeatingAgent::number_of(const Frame& frame) {
    if (frame.length < kAckBytes) return at_;
    const std::uint8_t* const bytes = frame.data();
    if (bytes[kOpcodeAt] == kOpcodeAck || bytes[kOpcodeAt] == kOpcodeNack ||
        bytes[kOpcodeAt] == kOpcodeCredit) {
        const std::uint32_t window = bytes[kAckPsnAt] >> 4;
        for (const Iteration& iteration : agents_)
            if (iteration.number % kWindows == window) return iteration.number;
        return at_;
    }
    if (bytes[kOpcodeAt] != kOpcodeData) return at_;
    const auto job = static_cast<std::uint32_t>(bytes[kJobAt] << 8 | bytes[kJobAt + 1]);
    if (job == 0) return at_;
    const std::uint32_t number = job - 1;
    if (find(number) != nullptr) return number;
    if (number <= at_ || number >= std::min(at_ + kMostAhead, profile_.iterations)) return at_;
    agent(number);
    return number;
}

void RepeatingAgent::begin(std::uint32_t number, Time now) {
    at_ = number;
    begun_ = now;
    send_ = now + profile_.compute - profile_.overlap;
    sending_ = false;
    core_ = lost();
    sent_.reset();
    agent(number);
    // A peer may still retransmit frames of the previous iteration, but not of earlier iterations.
    const auto old = [&](const auto& item) { return item.number + 1 < number; };
    for (const Iteration& iteration : agents_)
        if (old(iteration)) {
            past_ += iteration.agent->stats();
            add(past_delivered_, iteration.agent->delivered());
        }
    std::erase_if(agents_, old);
    std::erase_if(deadlines_, old);
}

// Begin to send, end the iteration, and begin the next iteration, as far as each is due.
void RepeatingAgent::go_on(Time now, Actions& actions) {
    while (!finished_) {
        Agent& present = *find(at_);
        if (!sending_) {
            if (now < computed()) return;
            send_ = computed();
            core_ = lost();
            sending_ = true;
            present.start(now, actions);
            take(at_, actions);
        }
        if (!present.done()) return;
        if (!sent_) sent_ = now;
        if (now < computed()) return;
        const ByteArray& result = *present.result();
        const auto checksum =
            static_cast<std::uint32_t>(hash(switching::HashAlgorithm::Crc32, result.data(), result.size()));
        log_.push_back({begun_, send_, *sent_, now, checksum});
        if (on_iteration) on_iteration(at_);
        if (at_ + 1 == profile_.iterations) {
            finished_ = now;
            if (on_done) on_done();
        } else {
            begin(at_ + 1, now);
        }
    }
}

// Record the deadline that an iteration's agent has returned in `actions`.
void RepeatingAgent::take(std::uint32_t number, const Actions& actions) {
    const Time time = actions.deadline.value_or(kNever);
    for (Deadline& deadline : deadlines_)
        if (deadline.number == number) {
            deadline.time = time;
            return;
        }
    deadlines_.push_back({number, time});
}

void RepeatingAgent::answer_deadline(Actions& actions) const {
    Time first = kNever;
    for (const Deadline& deadline : deadlines_) first = std::min(first, deadline.time);
    if (!finished_ && (!sending_ || sent_)) first = std::min(first, computed());
    actions.deadline.reset();
    if (first != kNever && !failed()) actions.deadline = first;
}

}  // namespace railyard::hosts
