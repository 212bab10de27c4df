// SPDX-License-Identifier: Apache-2.0
#include "hosts/transport/credits.h"

#include <algorithm>
#include <utility>

#include "hosts/congestion/control.h"
#include "hosts/messages/codec.h"
#include "hosts/transport/receiver.h"

namespace railyard::hosts {

void CreditGrants::ask(Receiver& receiver, std::uint32_t asked, bool without, Time now, Actions& actions) {
    Credit& credit = receiver.credit;
    if (!credit.known) {
        credit.known = true;
        credit.granted = parameters_.initial;
    }
    const std::uint32_t more = (asked - static_cast<std::uint32_t>(credit.asked.value())) & kPsnMask;
    if (more < kHalf) credit.asked += Bytes(more);  // otherwise a later frame overtook this frame
    if (without) receiver.grant(now, actions);
    enqueue(receiver);
}

void CreditGrants::refuse(Receiver& receiver, Bytes bytes) {
    receiver.credit.refused += bytes;
    enqueue(receiver);
}

void CreditGrants::enqueue(Receiver& receiver) {
    Credit& credit = receiver.credit;
    const Bytes wanted = credit.asked + credit.refused;
    if (!credit.known) return;
    if (credit.granted < wanted + frame_bytes_) {
        if (!std::exchange(credit.active, true)) active_.push_back(&receiver);
    } else if (credit.granted < wanted + spare_ && !std::exchange(credit.idle, true)) {
        idle_.push_back(&receiver);
    }
}

void CreditGrants::run(Time now, Actions& actions) {
    while (next_ <= now && !(active_.empty() && idle_.empty())) {
        const bool active = !active_.empty();
        Receiver& receiver = *(active ? active_ : idle_).pop_front();
        Credit& credit = receiver.credit;
        (active ? credit.active : credit.idle) = false;
        const Bytes most = credit.asked + credit.refused + (active ? frame_bytes_ : spare_);
        if (credit.granted >= most) continue;
        const Bytes bytes = std::min(frame_bytes_, most - credit.granted);
        credit.granted += bytes;
        receiver.grant(now, actions);
        next_ = std::max(next_, now) + std::max(Time(1), pacing_time(bytes, parameters_.rate));
        enqueue(receiver);
    }
}

}  // namespace railyard::hosts
