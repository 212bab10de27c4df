// SPDX-License-Identifier: Apache-2.0
#include "hosts/transport/peer.h"

#include <bit>
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

// Chooses one of several connections for the next message.
Sender* Peer::choose() {
    if (random_) {
        if (drawn_ == nullptr)
            drawn_ = senders[random_->below(static_cast<std::uint32_t>(senders.size()))].get();
        return drawn_;
    }
    Sender* sender = senders[0].get();
    for (const auto& other : senders)
        if (other->unfinished < sender->unfinished) sender = other.get();
    return sender;
}

void PeersByAddress::set(const std::vector<std::unique_ptr<Peer>>& peers) {
    const auto bits = static_cast<int>(std::bit_width(2 * peers.size() + 1));
    shift_ = 32 - bits;
    cells_.assign(std::size_t{1} << bits, {});
    for (const auto& peer : peers) {
        std::size_t at = place_of(peer->address());
        while (cells_[at].peer != nullptr) at = next_place(at);
        cells_[at] = {peer->address(), peer.get()};
    }
}

}  // namespace railyard::hosts
