// SPDX-License-Identifier: Apache-2.0
#include "network/links/channel.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace railyard::network {

Channel::Channel(LinkConfig given, std::string called) : config(std::move(given)), name(std::move(called)) {
    if (config.rate <= Rate())
        throw std::invalid_argument("link " + name + ": a rate of " + to_string(config.rate) +
                                    " bit/s; it must be positive");
    if (config.delay < Time()) throw std::invalid_argument("link " + name + ": the delay is negative");
    if (config.credit_bytes < Bytes() || config.queue_bytes < Bytes())
        throw std::invalid_argument("link " + name + ": a buffer is negative");
    if (config.scheduler == Scheduler::Deficit)
        for (std::size_t vl = 0; vl < kVls; ++vl)
            if (const auto quantum = config.quanta[vl]; quantum <= Bytes())
                throw std::invalid_argument("link " + name + ": a quantum of " + to_string(quantum) +
                                            " bytes for VL " + std::to_string(vl) + "; it must be positive");
    set_rate(config.rate);
    for (LaneState& lane : lanes) lane.credits = config.credit_bytes;
    if (config.policy && config.policy->trims())
        for (const Lane lane : config.policy->trimmed) header_lanes_ |= bit(lane);
    if (!config.policy || !config.policy->pauses) return;
    pauses = std::make_unique<Pauses>(*config.policy->pauses);
    pausing = true;
}

void Channel::check_fits(const Frame& frame) const {
    if (frame.size() > config.credit_bytes)
        throw std::runtime_error("link " + name + ": a frame of " + std::to_string(frame.length) +
                                 " bytes never fits its receive buffer of " + to_string(config.credit_bytes) +
                                 " bytes; raise credit_bytes or lower the payload");
}

// Trim a frame that found a full queue. Return false if it may not be trimmed, or the queue of trimmed frames
// has no room.
bool Channel::cut(Frame& frame) {
    if (!config.policy || !config.policy->queues[frame.lane()].trims || frame.pending) return false;
    const Lane lane = config.policy->trimmed[frame.lane().value() % 2];
    if (!config.policy->admits(lane, lanes[lane].queued, lanes[lane].queue.size(), Bytes()) || !trim(frame))
        return false;
    frame.set_lane(lane);
    ++losses.trimmed;
    return true;
}

// Trim a frame that does not fit. Return false if it is refused, and count it.
bool Channel::fit(Frame& frame) {
    if (!up) {
        ++losses.refused_down;
        return false;
    }
    if (lossless()) check_fits(frame);  // throws
    if (cut(frame)) return true;
    ++losses.refused_full;
    return false;
}

void Channel::put_back(FrameHandle frame) {
    const Lane lane = frame->lane();
    ASSERT(lane.value() < kVls);
    lanes[lane].queued += frame->size();
    lanes[lane].queue.push_front(std::move(frame));
    ready |= bit(lane);
    ++waiting;
}

Lane Channel::next_in_turn() {
    for (std::size_t i = 0; i < kVls; ++i) {
        const Lane lane((turn_ + i) % kVls);
        if (has(lane) && able(lane)) return lane;
    }
    return kNoLane;
}

Lane Channel::next_by_deficit() {
    unsigned left = 0;
    for (std::size_t at = 0; at < kVls; ++at)
        if (const Lane lane(at); has(lane) && able(lane)) left |= bit(lane);
    if (left == 0) return kNoLane;
    for (;; turn_ = (turn_ + 1) % kVls, started_ = false) {
        if ((left >> turn_ & 1u) == 0) continue;
        if (!std::exchange(started_, true)) deficits_[turn_] += config.quanta[turn_];
        if (deficits_[turn_] >= lanes[turn_].queue.front()->size()) return Lane(turn_);
    }
}

// Round robin: note that a lane has sent a frame.
void Channel::end_turn(Lane lane, FrameBytes bytes) {
    if (config.scheduler == Scheduler::RoundRobin) turn_ = (lane.value() + 1u) % kVls;
    // An empty queue loses its deficit.
    deficits_[lane] = has(lane) ? deficits_[lane] - bytes : Bytes();
}

void Channel::count_headers(Lane lane) {
    if ((header_lanes_ & bit(lane)) == 0) headers_ = 0;
    else if (headers_ < kHeadersPerData) ++headers_;
}

void Channel::instrument(Flying& flight, Time now) {
    for (frames::PcapFile* const file : recorders_)
        file->write(flight.frame->view(), std::chrono::nanoseconds(now / kNanosecond));
    if (recent_) recent_->put(now, direction_, flight.frame->view());
    flight.arrival += wrong_.extra_delay;
    // Frames keep their order when the delay decreases.
    last_arrival_ = flight.arrival = std::max(flight.arrival, last_arrival_);
    const bool lost = wrong_.blocked || (wrong_.loss > 0 && draw() < wrong_.loss);
    flight.frame->lost = lost;
    losses.impaired += lost;
}

// Return a random number in [0, 1), by SplitMix64 (Steele, Lea and Flood): its state is a word per channel.
double Channel::draw() {
    std::uint64_t z = chance_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return static_cast<double>((z ^ z >> 31) >> 11) * 0x1p-53;
}

void Channel::impair(const Impairment& how) {
    if (!(how.loss >= 0 && how.loss <= 1))
        throw std::invalid_argument("link " + name + ": a loss of " + std::to_string(how.loss) +
                                    "; it must be between 0 and 1");
    if (how.rate && *how.rate <= Rate())
        throw std::invalid_argument("link " + name + ": a rate of " + to_string(*how.rate) +
                                    " bit/s; it must be positive");
    if (how.extra_delay < Time())
        throw std::invalid_argument("link " + name + ": the extra delay is negative");
    wrong_ = how;
    set_rate(how.rate.value_or(config.rate));
    instrumented = true;
}

void Channel::set_rate(Rate rate) {
    rate_ = rate;
    sent_bytes_ = FrameBytes();
    duration_ = Time();
}

bool Channel::impaired() const {
    return wrong_.blocked || wrong_.loss > 0 || wrong_.rate || wrong_.extra_delay > Time();
}

void Channel::record(frames::PcapFile& file) {
    recorders_.push_back(&file);
    instrumented = true;
}

void Channel::keep_recent(std::shared_ptr<frames::RecentFrames> recent, Direction way) {
    recent_ = std::move(recent);
    direction_ = way;
    instrumented = true;
}

// Move the credit at the end of `returning` to its place by time, after those of the same time.
void Channel::sort_last_credit() {
    for (std::size_t at = returning.size() - 1; at > 0 && returning[at].time < returning[at - 1].time; --at)
        std::swap(returning[at], returning[at - 1]);
}

void Channel::bring_up(Time now) {
    ASSERT(!up && flying.empty() && waiting == 0 && ready == 0);
    up = true;
    // Grant credits for the free part of the receive buffer, except credits that return more than a link
    // delay from now.
    while (!returning.empty() && returning.front().time <= now + config.delay) returning.pop_front();
    for (std::size_t v = 0; v < kVls; ++v) lanes[v].credits = config.credit_bytes - lanes[v].held;
    for (std::size_t at = 0; at < returning.size(); ++at)
        lanes[returning[at].lane].credits -= returning[at].bytes;
}

}  // namespace railyard::network
