// SPDX-License-Identifier: Apache-2.0
#include "hosts/transport/path_sender.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

namespace railyard::hosts {

namespace {

// Ratio of the first timeout to the largest recent round trip.
constexpr double kPeaks = 1.5;
// Additional timeouts before a connection is given up, since they are shorter than the timeouts of a Sender.
constexpr int kMoreRetries = 4;
// Timeouts in a row after which a sender asks for other paths; limit of how often new routes reset the count.
constexpr int kAskAfter = 3, kMostAsks = 16;
// Divisor of the time between two timeouts that gives the interval of probes; shortest interval in ps.
constexpr int kProbes = 8;
constexpr Time kProbe = 50 * kMicrosecond;

}  // namespace

PathSender::PathSender(const TransportParameters& parameters, const DataWriter& writer, Spray spray,
                       std::unique_ptr<Entropies> entropies, const std::vector<PathTiming>& timings,
                       RoundTrips& trips, Payloads& payloads)
    : Sender(parameters, writer, 0, std::move(entropies), payloads), spray_(std::move(spray)), trips_(trips) {
    if (parameters.adaptive) delays_ = std::make_unique<PathDelays>(trips, timings, parameters.ack_delay);
}

bool PathSender::has_room() const {
    return Sender::has_room() && (!delays_ || delays_->has_room(spray_.health()));
}

void PathSender::send(const Message& message, std::uint32_t slice, std::uint32_t start, bool last, Time now,
                      Actions& actions) {
    std::uint8_t lb = entropies_ ? spray_.next_of(*entropies_, now) : spray_.next_lb(now);
    if (delays_) {
        bool asks = false;
        std::tie(lb, asks) = delays_->steer(lb, spray_.health(), now);
        last = last || asks || in_flight() + 1 >= parameters_.window;
        delays_->new_frame(slot(next_psn_), spray_.path_of(lb), Bytes(message.size), last);
    }
    if (timer == kNever) rto_ = estimate();
    Sent& frame = send_by(lb, message, slice, start, last, now, actions);
    frame.order = order_++;
    frame.resent = 0;
}

Time PathSender::estimate() const {
    if (trips_.peak == Time()) return parameters_.initial_rto;
    const auto peaks = static_cast<Time>(kPeaks * static_cast<double>(trips_.peak));
    return std::min(std::max({rtt + 4 * rttvar, peaks, parameters_.path_rto}), parameters_.max_rto);
}

void PathSender::rearm(Time now) {
    if (timer == kNever || retries_ != 0) return;
    rto_ = estimate();
    timer = std::min(timer, now + rto_);
}

bool PathSender::on_ack(std::uint32_t ack_psn, std::uint64_t map, Time now, std::uint8_t flags,
                        BucketSet marks, std::uint32_t skipped) {
    const std::uint32_t base = base_, flying = in_flight(), moved = (ack_psn - base) & kPsnMask;
    // A window of 64 frames needs no map that begins later.
    if (moved > flying || skipped > 0) return Sender::on_ack(ack_psn, map, now, flags, marks, skipped);
    const std::uint32_t rest = flying - moved;
    const std::uint64_t later = rest > 1 ? map & ((std::uint64_t{1} << (rest - 1)) - 1) : 0;
    // Bit i stands for PSN base + i.
    const std::uint64_t before = moved < 64 ? (std::uint64_t{1} << moved) - 1 : ~std::uint64_t{0};
    std::uint64_t news = (before | (moved < 63 ? later << (moved + 1) : 0)) & ~sacked_.first();
    const bool advanced = Sender::on_ack(ack_psn, map, now, flags, marks);
    const bool again = (flags & kRetransmission) != 0, answered = asked_ && again;
    if (news == 0 && !answered) return advanced;
    heard_ = now;
    asks_ = 0;
    arrived(base, news, now, again, marks);
    if (rest > 0 && !advanced) {
        rto_ = estimate();
        timer = now + rto_;
    }
    find_lost(answered, now);
    timer = std::min(timer, late_at_);
    asked_ = asked_ && !answered;
    return advanced;
}

// Takes the frames that an acknowledgement names for the first time: bit i of `news` stands for PSN base + i.
void PathSender::arrived(std::uint32_t base, std::uint64_t news, Time now, bool again, BucketSet marks) {
    for (; news != 0; news &= news - 1) {
        const std::uint32_t psn = base + static_cast<std::uint32_t>(std::countr_zero(news));
        const Sent& frame = at(psn);
        const std::uint32_t path = spray_.path_of(frame.lb);
        if (delays_) {
            delays_->note_mark(path, (marks >> frame.lb % kBuckets & 1u) != 0);
            if (frame.resent == 0) delays_->measured(slot(psn), now - frame.sent_at);
            delays_->ended(slot(psn));
        }
        if (frame.resent > 0) {
            // An earlier transmission of the frame may have arrived.
            if (!again || frame.resent > 1) continue;
        } else {
            trips_.add(now - frame.sent_at);
            std::int64_t& top = top_.of(path);
            top = std::max(top, frame.order);
            highest_ = std::max(highest_, frame.order);
        }
        newest_ = std::max(newest_, frame.sent_at);
        if (silent_[path] >= Time()) silent_.of(path) = kUnset;
        spray_.health().acknowledged(path);
    }
}

void PathSender::find_lost(bool answered, Time now) {
    const Time old = newest_ - estimate();
    late_at_ = kNever;
    // Unless a frame was sent twice, frames are in the order of their sending, and those after all arrivals
    // are under way.
    const bool ordered = !again_ && !answered && !delays_ && old < newest_;
    for (std::uint32_t place = 0; place < in_flight(); ++place) {
        if (marked(place) || lost_.has(slot(base_ + place))) continue;
        const Sent& frame = at(base_ + place);
        if (ordered && frame.order > highest_ && frame.sent_at >= newest_) return;  // nor any later frame
        const std::uint32_t path = spray_.path_of(frame.lb);
        if (frame.order < top_[path] || frame.sent_at <= old ||
            (frame.sent_at < silent_[path] && silent_[path] <= newest_) ||
            (answered && took_former_route(frame))) {
            found_.push_back(base_ + place);
        } else if (delays_ && delays_->congested(path)) {
            const Time due = frame.sent_at + delays_->patience(slot(base_ + place), parameters_.path_rto);
            if (due <= now) found_.push_back(base_ + place);
            else if (place == 0) late_at_ = due;
        }
    }
}

void PathSender::resend_lost(Time now, Actions& actions) {
    if (found_.empty() && lost_.empty()) return;
    const std::vector<std::uint32_t> psns = std::exchange(found_, {});
    ASSERT(psns.size() <= in_flight());
    for (const std::uint32_t psn : psns) {
        const Sent& frame = at(psn);
        const std::uint32_t path = spray_.path_of(frame.lb);
        const bool congested = parameters_.lossy || (delays_ && delays_->congested(path));
        if (!congested && !took_former_route(frame)) spray_.health().lost(path, now);
        note_path(frame.lb, PathNews::Lost, now);
    }
    if (!allowance_) return again_by(psns, now, true, actions);
    for (const std::uint32_t psn : psns) note_lost(psn);
    allowance_->tell_lost(Allowance::Cause::Gap, now);
    for (std::uint32_t place = 0; !lost_.empty() && place < in_flight() && allowance_->admits(backlog);
         ++place) {
        if (!lost_.has(slot(base_ + place))) continue;
        lost_.remove(slot(base_ + place));
        again_by({(base_ + place) & kPsnMask}, now, true, actions);
    }
}

void PathSender::on_reroute(BucketSet buckets, Time now, Actions& actions) {
    spray_.health().split(buckets);
    std::optional<std::uint32_t> newest;
    for (std::uint32_t place = 0; place < in_flight(); ++place) {
        const std::uint32_t psn = base_ + place;
        if (marked(place) || (buckets >> at(psn).lb % kBuckets & 1u) == 0) continue;
        if (!newest || at(psn).order > at(*newest).order) newest = psn;
    }
    if (!newest) return;
    asked_ = true;
    for (std::size_t bucket = 0; bucket < kBuckets; ++bucket)
        if ((buckets >> bucket & 1u) != 0) moved_[bucket] = order_;
    if (retries_ >= kAskAfter && asks_ < kMostAsks) {
        ++asks_;
        retries_ = 0;
        rto_ = estimate();
    }
    again_by({*newest}, now, false, actions);
}

BucketSet PathSender::silent_buckets() const {
    if (retries_ < kAskAfter) return 0;
    BucketSet silent = 0;
    for (std::uint8_t bucket = 0; bucket < kBuckets; ++bucket) {
        const std::uint32_t path = spray_.path_of(bucket);
        if (silent_[path] >= Time() || !spray_.health().works(path))
            silent = static_cast<BucketSet>(silent | 1u << bucket);
    }
    return silent;
}

std::uint8_t PathSender::other_lb(std::uint32_t psn, Time now) {
    const std::uint8_t lb = at(psn).lb;
    if (delays_) {
        delays_->goes_again(slot(psn), now);
        if (const std::uint8_t faster = delays_->choose(lb, spray_.health(), now); faster != lb)
            return faster;
    }
    for (std::size_t tries = 0; entropies_ && tries < kBuckets; ++tries) {
        const std::uint8_t other = spray_.next_of(*entropies_, now);
        const std::uint32_t path = spray_.path_of(other);
        if (path != spray_.path_of(lb) && silent_[path] < Time()) return other;
    }
    return spray_.other_lb(lb, &silent_);
}

// Retransmits frames; `other`: by another path. The last frame asks for an acknowledgement.
void PathSender::again_by(const std::vector<std::uint32_t>& psns, Time now, bool other, Actions& actions) {
    for (const std::uint32_t psn : psns) {
        ASSERT(((psn - base_) & kPsnMask) < in_flight());
        Sent& frame = at(psn);
        const std::uint8_t lb = other ? other_lb(psn, now) : frame.lb;
        send_again(psn, lb, psn == psns.back(), now, actions);
        frame.order = order_++;
        ++frame.resent;
        if (delays_) delays_->sent(slot(psn), spray_.path_of(lb));
    }
    again_ = true;
    recover_ = next_psn_;
    timer = std::min(now + rto_, late_at_);
}

// Retransmits the oldest frame by another path: after a timeout, or as a probe between two timeouts. If
// longer round trips were measured since the timer was set, only sets the timer to the longer time. Before
// the first timeout, frames that are late on a congested path go first.
void PathSender::on_timeout(Time now, Actions& actions) {
    ASSERT(in_flight() > 0);
    const Sent& oldest = at(base_);
    if (retries_ == 0) {
        if (late_at_ <= now) {
            find_lost(false, now);
            if (!found_.empty()) return resend_lost(now, actions);
        }
        const Time due = std::max(oldest.sent_at, heard_) + estimate();
        if (due > now) {
            timer = std::min(due, late_at_);
            return;
        }
    }
    const bool timeout = retries_ == 0 || now >= next_timeout_;
    if (timeout && retries_ >= parameters_.max_retries + kMoreRetries) {
        failed_psn = base_;
        timer = kNever;
        return;
    }
    if (retries_ == 0) rto_ = estimate();
    const std::uint32_t path = spray_.path_of(oldest.lb);
    if (silent_[path] < Time()) silent_.of(path) = now;
    spray_.health().lost(path, now);
    note_path(oldest.lb, PathNews::Silent, now);
    if (allowance_) {
        note_lost(base_);
        allowance_->tell_lost(Allowance::Cause::Timeout, now);
        lost_.remove(slot(base_));
    }
    again_by({base_}, now, true, actions);
    if (timeout) {
        ++retries_;
        rto_ = std::min(2 * rto_, parameters_.max_rto);
        next_timeout_ = now + rto_;
    }
    timer = std::min(next_timeout_, now + std::max(rto_ / kProbes, kProbe));
}

}  // namespace railyard::hosts
