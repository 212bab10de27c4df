// SPDX-License-Identifier: Apache-2.0
#include "hosts/transport/peer.h"

#include <algorithm>
#include <utility>

#include "hosts/transport/path_sender.h"

namespace railyard::hosts {

Peer::Peer(const PeerSpec& spec, const Pair& own, const TransportParameters& parameters, RoundTrips& trips,
           Payloads& payloads)
    : rank_(spec.rank),
      own_(own.rank),
      ranks_(own.ranks),
      first_queue_(parameters.first_queue),
      address_(spec.address) {
    if (spec.seed) random_.emplace(*spec.seed);
    const auto health = spec.shares ? std::make_shared<PathHealth>(spec.shares->paths) : nullptr;
    if (health && parameters.window > kMaxPathWindow)
        throw std::invalid_argument("a window of " + std::to_string(parameters.window) +
                                    " frames on known paths; give at most " + std::to_string(kMaxPathWindow));
    const auto ends = [&](std::size_t number) {
        const auto first = first_queue_ + static_cast<std::uint32_t>(number) * ranks_;
        return Ends{own.address, spec.address, static_cast<std::uint16_t>(first + rank_),
                    static_cast<std::uint16_t>(first + own_)};
    };
    const auto entropies = [&](std::size_t number) -> std::unique_ptr<Entropies> {
        if (parameters.spray.empty()) return nullptr;
        const std::uint64_t pair = std::uint64_t{own.address} << 40 | std::uint64_t{spec.address} << 24;
        return make_entropies(parameters.spray, health ? kBuckets : parameters.entropies,
                              parameters.seed ^ (pair | number));
    };
    for (std::size_t number = 0; number < spec.lbs.size(); ++number) {
        const DataWriter writer(parameters.templates, ends(number), parameters.lb_mode, own.job, own.dtype);
        const std::uint8_t lb = spec.lbs[number];
        if (health)
            senders.push_back(std::make_unique<PathSender>(parameters, writer,
                                                           Spray(*spec.shares, lb, health), entropies(number),
                                                           spec.shares->timings, trips, payloads));
        else senders.push_back(std::make_unique<Sender>(parameters, writer, lb, entropies(number), payloads));
    }
    receivers.reserve(spec.ack_lbs.size());
    for (std::size_t number = 0; number < spec.ack_lbs.size(); ++number) {
        const AckWriter writer(parameters.templates, ends(number), parameters.lb_mode);
        const std::uint8_t lb = spec.ack_lbs[number];
        std::optional<Spray> paths;
        if (health) paths.emplace(*spec.shares, lb, health);
        receivers.emplace_back(parameters, writer, lb, std::move(paths));
    }
}

std::optional<std::size_t> Peer::number(const Fields& fields) const {
    const std::uint32_t queue = fields.dst_q - first_queue_, number = queue / ranks_;
    const std::size_t count = fields.opcode == kOpcodeData ? receivers.size() : senders.size();
    if (queue % ranks_ != rank_ || fields.src_q != first_queue_ + number * ranks_ + own_ || number >= count)
        return std::nullopt;
    return number;
}

Sender* Peer::pick() {
    Sender* sender = senders[0].get();
    if (senders.size() > 1) {
        if (random_) {
            if (drawn_ == nullptr)
                drawn_ = senders[random_->below(static_cast<std::uint32_t>(senders.size()))].get();
            sender = drawn_;
        } else {
            for (const auto& other : senders)
                if (other->unfinished < sender->unfinished) sender = other.get();
        }
    }
    return sender->has_room() ? sender : nullptr;
}

void PeersByAddress::set(const std::vector<std::unique_ptr<Peer>>& peers) {
    for (const auto& peer : peers) peers_.push_back(peer.get());
    std::sort(peers_.begin(), peers_.end(),
              [](const Peer* a, const Peer* b) { return a->address() < b->address(); });
    for (const Peer* const peer : peers_) addresses_.push_back(peer->address());
}

}  // namespace railyard::hosts
