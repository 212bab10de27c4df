// SPDX-License-Identifier: Apache-2.0
#include "hosts/transport/sender.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>

namespace railyard::hosts {

namespace {

// Return the bits of a map for frames that were sent: bit i stands for distance `from` + i, and frames at
// distances below `sent` were sent.
std::uint64_t sent_ones(std::uint64_t map, std::uint32_t from, std::uint32_t sent) {
    if (sent <= from) return 0;
    return sent - from < kMapFrames ? map & ((std::uint64_t{1} << (sent - from)) - 1) : map;
}

}  // namespace

Sender::Sender(const TransportParameters& parameters, const DataWriter& writer, std::uint8_t lb,
               std::unique_ptr<Entropies> entropies, Payloads& payloads)
    : parameters_(parameters),
      entropies_(std::move(entropies)),
      lb_(lb),
      base_(parameters.first_psn),
      next_psn_(parameters.first_psn),
      recover_(parameters.first_psn),
      last_slot_(std::max(std::bit_ceil(parameters.window), kMapFrames) - 1),
      sacked_(last_slot_ + 1),
      rto_(parameters.initial_rto),
      lost_(last_slot_ + 1),
      writer_(writer),
      payloads_(payloads) {
    if (parameters.congestion)
        allowance_ =
            std::make_unique<Allowance>(parameters.congestion(), parameters.frame_bytes,
                                        parameters.credits ? parameters.initial_rto : kNever, last_slot_ + 1);
    if (parameters.credits) granted_ = parameters.credits->initial;
}

void Sender::send(const Message& message, std::uint32_t slice, std::uint32_t start, bool last, Time now,
                  Actions& actions) {
    send_by(next_lb(), message, slice, start, last, now, actions);
}

Sent& Sender::send_by(std::uint8_t lb, const Message& message, std::uint32_t slice, std::uint32_t start,
                      bool last, Time now, Actions& actions) {
    if (in_flight() == frames_.size()) make_room();
    const std::uint32_t psn = next_psn_;
    next_psn_ = (psn + 1) & kPsnMask;
    const bool without = parameters_.credits && allowance_->exceeds();
    if (allowance_) allowance_->sent(slot(psn), message.frame_bytes(), now, false);
    const bool full = in_flight() >= parameters_.window || (allowance_ && !allowance_->admits(backlog));
    const auto flags =
        static_cast<std::uint8_t>((last || full ? kAckNow : 0) | (without ? kWithoutCredit : 0));
    ASSERT(in_flight() <= last_slot_ + 1);
    Sent& frame = at(psn);
    ASSERT(frame.payload == nullptr);  // the frame that had the slot is acknowledged
    frame.message = message;
    frame.slice = slice;
    frame.start = start;
    frame.lb = lb;
    frame.sent_at = now;
    payloads_.refer(frame, actions.pool);
    ++sent;
    unfinished += message.frame_bytes();
    if (timer == kNever) timer = now + rto_;
    FrameHandle made = writer_.frame(actions.pool, lb, flags, psn, message, *frame.payload);
    if (parameters_.credits) DataWriter::ask(*made, allowance_->ask(backlog));
    actions.add(std::move(made), parameters_.vl());
    return frame;
}

void Sender::on_credit(Bytes granted, Time now) {
    if (!parameters_.credits || granted <= granted_) return;
    allowance_->granted(granted - std::exchange(granted_, granted), now);
}

std::uint8_t Sender::next_lb() {
    if (entropies_) return entropies_->next();
    return parameters_.lb_mode != 0 ? lb_++ : lb_;
}

// Doubles the memory for frames in flight. In a large fabric few connections fill their window, so each
// starts with little.
void Sender::make_room() {
    std::vector<Sent> larger(frames_.empty() ? 4 : 2 * frames_.size());
    for (std::uint32_t psn = base_; psn != base_ + in_flight(); ++psn)
        larger[psn & (larger.size() - 1)] = at(psn);
    frames_.swap(larger);
}

bool Sender::on_ack(std::uint32_t ack_psn, std::uint64_t map, Time now, std::uint8_t /*flags*/,
                    BucketSet marks, std::uint32_t skipped) {
    ++acks;
    const std::uint32_t flying = in_flight(), moved = (ack_psn - base_) & kPsnMask;
    if (moved > flying) return false;
    const std::uint32_t left = flying - moved;
    const std::uint64_t news = sent_ones(map, 1 + skipped, left);
    if (allowance_ || entropies_) acknowledge(moved, moved + 1 + skipped, news, marks, now);
    if (moved == 0) {
        if (sacked_.add_map(1 + skipped, news)) retries_ = 0;
        return false;
    }
    for (std::uint32_t psn = base_; psn != base_ + moved; ++psn) {
        Sent& frame = at(psn);
        ASSERT(frame.payload != nullptr && unfinished >= frame.message.frame_bytes());
        unfinished -= frame.message.frame_bytes();
        delivered += Bytes(frame.message.size);
        Payloads::drop(frame);
    }
    if (again_ && ((ack_psn - recover_) & kPsnMask) < kHalf) again_ = false;
    else if (!again_) sample(now - at(ack_psn - 1).sent_at);
    base_ = ack_psn;
    // The map of a small window is complete, and corrects what a damaged acknowledgement has said.
    sacked_.shift(last_slot_ < kMapFrames ? kMapFrames : moved);
    sacked_.remove(0);  // the oldest frame is not acknowledged
    sacked_.add_map(1 + skipped, news);
    retries_ = 0;
    rto_ = estimate();
    timer = left > 0 ? now + rto_ : kNever;
    ASSERT(in_flight() == left && (left > 0 || unfinished == Bytes()));
    return true;
}

// Tells congestion control and the spraying algorithm of newly acknowledged frames: the first `moved` frames,
// and the frame at distance `from` + i for each bit i of `news`.
void Sender::acknowledge(std::uint32_t moved, std::uint32_t from, std::uint64_t news, BucketSet marks,
                         Time now) {
    const auto report = [&](std::uint32_t distance) {
        if (marked(distance)) return;
        const std::uint32_t psn = base_ + distance;
        const bool congested = (marks >> at(psn).lb % kBuckets & 1u) != 0;
        note_path(at(psn).lb, congested ? PathNews::Marked : PathNews::Good, now);
        if (!allowance_) return;
        allowance_->acknowledged(slot(psn), congested, now);
        lost_.remove(slot(psn));
    };
    for (std::uint32_t distance = 0; distance < moved; ++distance) report(distance);
    for (; news != 0; news &= news - 1) report(from + static_cast<std::uint32_t>(std::countr_zero(news)));
    if (allowance_) allowance_->told(now);
}

bool Sender::open(Time now) {
    if (!allowance_ || allowance_->due() > now) return false;
    allowance_->open(now);
    return true;
}

void Sender::note_lost(std::uint32_t psn) {
    if (lost_.has(slot(psn))) return;
    lost_.add(slot(psn));
    allowance_->lost(slot(psn));
}

void Sender::on_trim(std::uint32_t psn, Time now) {
    const std::uint32_t place = (psn - base_) & kPsnMask;
    if (place >= in_flight() || marked(place)) return;
    ++trimmed;
    note_path(at(psn).lb, PathNews::Lost, now);
    note_lost(psn);
    allowance_->tell_lost(Allowance::Cause::Trim, now);
}

void Sender::go_back(std::uint32_t psn, Time now) {
    if (psn != base_) return;
    for (std::uint32_t place = 0; place < in_flight(); ++place) {
        note_path(at(base_ + place).lb, PathNews::Lost, now);
        note_lost(base_ + place);
    }
    allowance_->tell_lost(Allowance::Cause::Gap, now);
}

void Sender::resend_lost(Time now, Actions& actions) {
    for (std::uint32_t place = 0; !lost_.empty() && place < in_flight(); ++place) {
        const std::uint32_t psn = base_ + place;
        if (!lost_.has(slot(psn))) continue;
        if (!allowance_->admits(backlog)) return;
        lost_.remove(slot(psn));
        again_ = true;
        recover_ = next_psn_;
        send_again(psn, next_lb(), true, now, actions);
    }
}

void Sender::sample(Time rtt_now) {
    ASSERT(rtt_now >= Time());
    if (rtt != Time()) {
        rttvar = (3 * rttvar + abs(rtt - rtt_now)) / 4;
        rtt = (7 * rtt + rtt_now) / 8;
    } else {
        rtt = rtt_now;
        rttvar = rtt_now / 2;
    }
}

Time Sender::estimate() const {
    if (rtt == Time()) return parameters_.initial_rto;
    return std::min(std::max(rtt + 4 * rttvar, parameters_.min_rto), parameters_.max_rto);
}

// Retransmits the oldest frame, and every unacknowledged frame that was sent a timeout ago or earlier; with
// go_back, every unacknowledged frame. The last frame asks for an immediate acknowledgement. With congestion
// control these frames are lost, and leave when congestion control admits them.
void Sender::on_timeout(Time now, Actions& actions) {
    if (retries_ >= parameters_.max_retries) {
        failed_psn = base_;
        timer = kNever;
        return;
    }
    ++retries_;
    again_ = true;
    recover_ = next_psn_;
    const bool spray = parameters_.lb_mode != 0;
    if (!spray) lb_ = static_cast<std::uint8_t>(lb_ + kBucketStride);
    const auto due = [&](std::uint32_t place) {
        return !marked(place) &&
               (place == 0 || parameters_.go_back || now - at(base_ + place).sent_at >= rto_);
    };
    ASSERT(in_flight() > 0);  // the timer runs for frames under way
    for (std::uint32_t place = 0; entropies_ && place < in_flight(); ++place)
        if (due(place)) note_path(at(base_ + place).lb, PathNews::Silent, now);
    std::uint32_t last = in_flight() - 1;
    if (allowance_) {
        for (std::uint32_t place = 0; place <= last; ++place)
            if (due(place)) note_lost(base_ + place);
        allowance_->tell_lost(Allowance::Cause::Timeout, now);
        rto_ = std::min(2 * rto_, parameters_.max_rto);
        timer = now + rto_;
        return resend_lost(now, actions);
    }
    while (last > 0 && !due(last)) --last;
    for (std::uint32_t place = 0; place <= last; ++place) {
        if (!due(place)) continue;
        const std::uint32_t psn = base_ + place;
        const auto other = spray ? static_cast<std::uint8_t>(at(psn).lb + kBucketStride) : lb_;
        const std::uint8_t lb = entropies_ ? entropies_->next() : other;
        send_again(psn, lb, place == last, now, actions);
    }
    rto_ = std::min(2 * rto_, parameters_.max_rto);
    timer = now + rto_;
}

void Sender::send_again(std::uint32_t psn, std::uint8_t lb, bool ack_now, Time now, Actions& actions) {
    Sent& frame = at(psn);
    ASSERT(frame.payload != nullptr && now >= frame.sent_at);
    frame.lb = lb;
    frame.sent_at = now;
    ++retransmitted;
    const bool without = parameters_.credits && allowance_->exceeds();
    if (allowance_) allowance_->sent(slot(psn), frame.message.frame_bytes(), now, true);
    const auto flags =
        static_cast<std::uint8_t>(kRetransmission | (ack_now ? kAckNow : 0) | (without ? kWithoutCredit : 0));
    FrameHandle made = writer_.frame(actions.pool, lb, flags, psn & kPsnMask, frame.message, *frame.payload);
    if (parameters_.credits) DataWriter::ask(*made, allowance_->ask(backlog));
    actions.add(std::move(made), parameters_.vl());
}

void Sender::detach() {
    for (Sent& frame : frames_) Payloads::drop(frame);
    frames_.clear();
}

}  // namespace railyard::hosts
