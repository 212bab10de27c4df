// SPDX-License-Identifier: Apache-2.0
// Bindings of what links and queues of a network have measured, and of queues that wait for each other.
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "network/network.h"
#include "python/bind.h"
#include "python/network/bind_links.h"

namespace railyard::python {

namespace {

nb::dict stats_of(const network::Channel& c, const std::vector<Vl>& vls) {
    std::vector<std::uint64_t> by_vl(vls.size());
    for (std::size_t lane = 0; lane < vls.size(); ++lane)
        by_vl[static_cast<std::size_t>(vls[lane].value())] = c.lanes[lane].sent;
    nb::dict d;
    d["frames"] = std::accumulate(by_vl.begin(), by_vl.end(), std::uint64_t{0});
    d["bytes"] = c.load.bytes;
    d["busy_ps"] = c.load.busy;
    d["lost"] = c.losses.lost;
    d["impaired"] = c.losses.impaired;
    d["refused_down"] = c.losses.refused_down;
    d["refused_full"] = c.losses.refused_full;
    d["trimmed"] = c.losses.trimmed;
    d["pauses_sent"] = c.pauses ? c.pauses->sent : 0;
    d["overruns"] = c.pauses ? c.pauses->overruns : 0;
    d["watchdog"] = c.pauses ? c.pauses->expired : 0;
    d["watchdog_dropped"] = c.pauses ? c.pauses->dropped : 0;
    d["max_queued_bytes"] = c.load.max_queued_bytes;
    d["frames_by_vl"] = by_vl;
    return d;
}

}  // namespace

void bind_measurements(nb::class_<network::Network, SwitchSet>& c) {
    c.def(
         "link_stats",
         [](const network::Network& n, Index<network::Link> link, int direction) {
             return stats_of(n.links().channel(link, direction_of<std::out_of_range>(n, link, direction)),
                             n.links().lanes.vls());
         },
         nb::sig("def link_stats(self, link: int, direction: int, /) -> dict[str, typing.Any]"),
         "Return the counts of a direction of a link.")
        .def(
            "host_stats",
            [](const network::Network& n, Index<network::Host> host, int direction) {
                const Direction way = direction == 0 ? Direction::Forward : Direction::Backward;
                return stats_of(n.host_channel(host, way), n.links().lanes.vls());
            },
            nb::sig("def host_stats(self, host: int, direction: int, /) -> dict[str, typing.Any]"),
            "Return the counts of a direction of a host's link; 0: from the host, 1: to the host.")
        .def(
            "sample",
            [](network::Network& n) {
                const network::LinkSample seen = n.links().sample(n.now());
                return nb::make_tuple(to_bytes(seen.load), to_bytes(seen.queue), to_bytes(seen.state));
            },
            nb::sig("def sample(self) -> tuple[bytes, bytes, bytes]"),
            "Return (load, queue, state) of all links, for display; sampling never changes results.\n"
            "\n"
            "load: a byte for each direction of each link: share of the time since the last sample in which\n"
            "    it sent; 255: all of the time.\n"
            "queue: a byte for each direction of each link: waiting bytes as a share of a VL's receive\n"
            "    buffer if the link has credits, otherwise of the queue's limit; 255: full.\n"
            "state: a byte for each link, with bits: 1 up; 2 and 4 first and second direction impaired; 8\n"
            "    and 16 first and second direction paused.")
        .def(
            "queue_depths",
            [](const network::Network& n) {
                const std::vector<network::QueueDepth> depths = n.queue_depths();
                std::vector<Bytes> bytes;
                std::vector<std::uint8_t> paused;
                for (const network::QueueDepth& depth : depths) {
                    bytes.push_back(depth.bytes);
                    paused.push_back(depth.paused ? 1 : 0);
                }
                return nb::make_tuple(nb::bytes(bytes.data(), bytes.size() * sizeof(Bytes)),
                                      nb::bytes(paused.data(), paused.size()));
            },
            nb::sig("def queue_depths(self) -> tuple[bytes, bytes]"),
            "Return the bytes that wait to be sent in each direction, and whether it is paused.\n"
            "\n"
            "The first result has an int64, the second a byte (1: paused) for each direction. The order is\n"
            "both directions of each link, then the direction to each host.")
        .def(
            "queued_by_vl",
            [](const network::Network& n, Index<network::Link> link, int direction) {
                return n.links().queued_by_vl(link, direction_of<std::out_of_range>(n, link, direction));
            },
            nb::sig("def queued_by_vl(self, link: int, direction: int, /) -> list[int]"),
            "Return the bytes that wait to be sent on a direction, by VL.")
        .def(
            "deadlock",
            [](const network::Network& n) {
                nb::list out;
                for (const auto& w : n.links().deadlock())
                    out.append(w.link ? nb::make_tuple(w.link, static_cast<int>(w.direction), w.vl)
                                      : nb::make_tuple(w.link, w.host, w.vl));
                return out;
            },
            nb::sig("def deadlock(self) -> list[tuple[int, int, int]]"),
            "Return the queues that wait for each other in a cycle, after run() has returned 3.\n"
            "\n"
            "A queue is (link, direction, VL), or (-1, host, VL) on a host's link.");
}

}  // namespace railyard::python
