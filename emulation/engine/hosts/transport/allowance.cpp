// SPDX-License-Identifier: Apache-2.0
#include "hosts/transport/allowance.h"

#include <algorithm>

namespace railyard::hosts {

void Allowance::sent(std::uint32_t slot, Bytes bytes, Time now, bool again) {
    end(slot);
    bytes_[slot] = bytes;
    under_way_ += bytes;
    if (!again) first_ += bytes;
    overdue_ = false;
    ask_at_ = kNever;
    sent_at_[slot] = again ? kUnset : now;
    if (limits_.rate == Rate()) return;
    next_ = std::max(next_, now) + pacing_time(bytes, limits_.rate);
    if (next_ > now) open_at = next_;
}

Bytes Allowance::end(std::uint32_t slot) {
    const Bytes bytes = std::exchange(bytes_[slot], Bytes());
    under_way_ -= bytes;
    ASSERT(under_way_ >= Bytes());
    return bytes;
}

void Allowance::acknowledged(std::uint32_t slot, bool marked, Time now) {
    const Bytes bytes = end(slot);
    ack_.bytes += bytes;
    if (marked) ack_.marked += bytes;
    if (sent_at_[slot] >= Time() && sent_at_[slot] >= newest_) {
        newest_ = sent_at_[slot];
        ack_.rtt = now - newest_;
    }
}

void Allowance::told(Time now) {
    if (ack_.bytes == Bytes()) return;
    ack_.now = now;
    ack_.under_way = under_way_;
    limits_ = control_->on_ack(ack_);
    ack_ = {};
    newest_ = kUnset;
    await_credit(now);
}

void Allowance::granted(Bytes bytes, Time now) {
    limits_ = control_->on_credit(now, bytes);
    await_credit(now);
}

void Allowance::await_credit(Time now) {
    if (patience_ == kNever) return;
    const bool waits = under_way_ == Bytes() && exceeds() && !overdue_;
    if (!waits) ask_at_ = kNever;
    else if (ask_at_ == kNever) ask_at_ = now + patience_;
}

bool Allowance::lost(std::uint32_t slot) {
    const Bytes bytes = end(slot);
    lost_bytes_ += bytes;
    return bytes > Bytes();
}

void Allowance::tell_lost(Cause cause, Time now) {
    if (lost_bytes_ == Bytes()) return;
    const Lost event{now, std::exchange(lost_bytes_, Bytes()), under_way_};
    if (cause != Cause::Trim) unseen_ += event.bytes;
    if (cause == Cause::Gap) limits_ = control_->on_nack(event);
    else if (cause == Cause::Trim) limits_ = control_->on_trim(event);
    else limits_ = control_->on_timeout(event);
    await_credit(now);
}

}  // namespace railyard::hosts
