// SPDX-License-Identifier: Apache-2.0
// Bindings of a network's links: their configuration, changes during a run, and recordings of their frames.
#include "python/network/bind_links.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "network/network.h"
#include "python/bind.h"

namespace railyard::python {

namespace {

network::LinkConfig link_config(Rate rate, Time delay, Bytes credit, Bytes queue,
                                const std::string& scheduler, const std::optional<std::vector<Bytes>>& quanta,
                                std::shared_ptr<const network::QueuePolicy> policy = nullptr) {
    static const char* const kNames[] = {"strict", "round-robin", "deficit"};
    network::LinkConfig config{rate, delay, credit, queue};
    const auto* name = std::find(std::begin(kNames), std::end(kNames), scheduler);
    if (name == std::end(kNames))
        throw std::invalid_argument("scheduler " + scheduler +
                                    " is unknown; use strict, round-robin or deficit");
    config.policy = std::move(policy);
    config.scheduler = static_cast<network::Scheduler>(name - std::begin(kNames));
    config.quanta.fill(Bytes(4096));
    if (quanta && quanta->size() != kPriorities)
        throw std::invalid_argument("there are " + std::to_string(quanta->size()) +
                                    " quanta; give one for each of the " + std::to_string(kPriorities) +
                                    " VLs");
    if (quanta) std::copy(quanta->begin(), quanta->end(), config.quanta.begin());
    return config;
}

// Return a port. Links shows numbers beyond the ports of a switch, negative ones among them.
Port port_of(int number) { return Port(static_cast<std::uint32_t>(number)); }

}  // namespace

void bind_queue_policy(nb::module_& m) {
    nb::class_<network::QueuePolicy>(
        m, "QueuePolicy",
        "Limits of the queues of a link without credits.\n"
        "\n"
        "Args:\n"
        "    queues: Limits of each lane's queue, as (bytes, frames, trims). 0 bytes or frames: no\n"
        "        limit. `trims`: a data frame that finds the queue full is trimmed, not dropped.\n"
        "    trimmed: Lane of trimmed frames that came from a first lane, and from a second lane.\n"
        "    pauses: Priority flow control, as (XOFF, XON, headroom, watchdog, restore, lanes); None for\n"
        "        none. XOFF, XON and headroom are bytes of a class in the receive buffer. `watchdog` is\n"
        "        the longest pause in ps, 0 for no limit, and `restore` the time after it in ps without\n"
        "        pauses. `lanes` has a bit for each lane that may be paused.")
        .def(
            "__init__",
            [](network::QueuePolicy* self, const std::vector<std::tuple<Bytes, std::int64_t, bool>>& queues,
               const std::vector<std::uint8_t>& trimmed,
               const std::optional<std::tuple<Bytes, Bytes, Bytes, Time, Time, std::uint32_t>>& pauses) {
                if (queues.size() != kVls || trimmed.size() != 2 || std::max(trimmed[0], trimmed[1]) >= kVls)
                    throw std::invalid_argument("a queue policy needs " + std::to_string(kVls) +
                                                " queues and, for trimmed frames, 2 lanes below " +
                                                std::to_string(kVls) + "; got " +
                                                std::to_string(queues.size()) + " queues and " +
                                                std::to_string(trimmed.size()) + " lanes");
                new (self) network::QueuePolicy;
                for (std::size_t lane = 0; lane < kVls; ++lane) {
                    const auto& [bytes, frames, trims] = queues[lane];
                    self->queues[lane] = {bytes, frames, trims};
                }
                self->trimmed = {Lane(trimmed[0]), Lane(trimmed[1])};
                if (!pauses) return;
                const auto& [xoff, xon, headroom, watchdog, restore, lanes] = *pauses;
                if (xon < Bytes() || xon > xoff || headroom < Bytes() || watchdog < Time() ||
                    restore < Time())
                    throw std::invalid_argument(
                        "priority flow control has negative bytes or times, or XON above XOFF; give values "
                        "of at least 0, and XON up to XOFF");
                self->pauses = network::PausePolicy{xoff, xon, headroom, watchdog, restore, lanes};
            },
            nb::arg("queues"), nb::arg("trimmed"), nb::arg("pauses") = nb::none());
}

void bind_connections(nb::class_<network::Network, SwitchSet>& c) {
    c.def(
         "connect",
         [](network::Network& n, Index<Switch> a, int pa, Index<Switch> b, int pb, Rate rate, Time delay,
            Bytes credit, Bytes queue, const std::string& scheduler,
            const std::optional<std::vector<Bytes>>& quanta, bool plugged,
            std::shared_ptr<const network::QueuePolicy> policy,
            std::shared_ptr<const network::QueuePolicy> back) {
             const network::LinkConfig config =
                 link_config(rate, delay, credit, queue, scheduler, quanta, std::move(policy));
             network::LinkConfig other = config;
             if (back) other.policy = std::move(back);
             return n.connect({a, port_of(pa)}, {b, port_of(pb)}, config, plugged, other);
         },
         nb::arg("sw_a"), nb::arg("port_a"), nb::arg("sw_b"), nb::arg("port_b"), nb::arg("rate_bps"),
         nb::arg("delay_ps"), nb::arg("credit_bytes"), nb::arg("queue_bytes") = 1 << 20, nb::kw_only(),
         nb::arg("scheduler") = "strict", nb::arg("quanta") = nb::none(), nb::arg("plugged") = true,
         nb::arg("policy").none() = nb::none(), nb::arg("policy_back").none() = nb::none(),
         nb::sig("def connect(self, sw_a: int, port_a: int, sw_b: int, port_b: int, rate_bps: int, "
                 "delay_ps: int, credit_bytes: int, queue_bytes: int=..., *, scheduler: "
                 "typing.Literal['strict', 'round-robin', 'deficit']='strict', quanta: "
                 "collections.abc.Sequence[int] | None=None, plugged: bool=True, "
                 "policy: QueuePolicy | None=None, policy_back: QueuePolicy | None=None) -> int"),
         "Connect two ports and return the number of the link (docs/reference/links.md).\n"
         "\n"
         "`credit_bytes` is the receive buffer of a VL; 0: the link has no credits, and full queues drop\n"
         "frames. `queue_bytes` limits the queue of a VL without credits; `policy` replaces this limit, "
         "and\n"
         "`policy_back` replaces `policy` from the second port to the first.\n"
         "`quanta` are the bytes of each VL in a round of the scheduler \"deficit\", by default 4096. A\n"
         "link that is not `plugged` is down, and its ports keep the link they have.")
        .def(
            "attach_host",
            [](network::Network& n, Index<Switch> sw, int port, Rate rate, Time delay, Bytes credit,
               Bytes queue, const std::string& scheduler, const std::optional<std::vector<Bytes>>& quanta,
               std::shared_ptr<const network::QueuePolicy> policy) {
                return n.attach_host({sw, port_of(port)}, link_config(rate, delay, credit, queue, scheduler,
                                                                      quanta, std::move(policy)));
            },
            nb::arg("switch"), nb::arg("port"), nb::arg("rate_bps"), nb::arg("delay_ps"),
            nb::arg("credit_bytes"), nb::arg("queue_bytes") = 1 << 20, nb::kw_only(),
            nb::arg("scheduler") = "strict", nb::arg("quanta") = nb::none(),
            nb::arg("policy").none() = nb::none(),
            nb::sig(
                "def attach_host(self, switch: int, port: int, rate_bps: int, delay_ps: int, credit_bytes: "
                "int, queue_bytes: int=..., *, scheduler: typing.Literal['strict', 'round-robin', "
                "'deficit']='strict', quanta: collections.abc.Sequence[int] | None=None, "
                "policy: QueuePolicy | None=None) -> int"),
            "Connect a host to a port and return the number of the host.\n"
            "\n"
            "The other arguments are those of connect().")
        .def(
            "set_lanes",
            [](network::Network& n, std::uint32_t bit, const std::vector<Vl>& vls) {
                n.links().lanes.set(bit, vls);
            },
            nb::arg("bit"), nb::arg("vls"),
            "Give every priority two lanes, each with a queue and credits of its own.\n"
            "\n"
            "Bit `bit` of a frame selects the lane; bit 0 is the most significant bit of the first byte.\n"
            "vls[2 * priority + lane] is the VL. Without this call a priority has one lane, and the number\n"
            "of its VL is the priority.")
        .def(
            "set_cna24", [](network::Network& n) { n.hosts().set_cna24(); },
            "Convert frames of hosts with to_cna24() on entry into the network, and back on delivery.");
}

void bind_link_changes(nb::class_<network::Network, SwitchSet>& c) {
    c.def(
         "set_link", [](network::Network& n, Index<network::Link> link, bool up) { n.set_link(link, up); },
         nb::sig("def set_link(self, link: int, up: bool, /) -> None"),
         "Set a link up or down. ValueError if a link that is not plugged is set up.")
        .def(
            "send_pause",
            [](network::Network& n, Index<network::Link> link, int direction, bool stop) {
                n.send_pause(link, direction_of<std::out_of_range>(n, link, direction), stop);
            },
            nb::sig("def send_pause(self, link: int, direction: int, stop: bool, /) -> None"),
            "Send a pause frame (IEEE 802.1Qbb) on a direction.\n"
            "\n"
            "`stop`: the frame pauses all classes; otherwise it resumes them. ValueError if the link has no\n"
            "priority flow control.")
        .def(
            "set_host_link",
            [](network::Network& n, Index<network::Host> host, bool up) { n.set_host_link(host, up); },
            nb::sig("def set_host_link(self, host: int, up: bool, /) -> None"))
        .def(
            "plug", [](network::Network& n, Index<network::Link> link) { n.links().plug(link); },
            nb::sig("def plug(self, link: int, /) -> None"),
            "Connect the ports of a link to the link, instead of the links they had.\n"
            "\n"
            "ValueError if a port has another link that is up.")
        .def(
            "impair",
            [](network::Network& n, Index<network::Link> link, int direction, bool blocked, double loss,
               std::optional<Rate> rate, Time delay) {
                n.links().impair(link, direction_of<std::out_of_range>(n, link, direction),
                                 {.blocked = blocked, .loss = loss, .rate = rate, .extra_delay = delay});
            },
            nb::arg("link"), nb::arg("direction"), nb::kw_only(), nb::arg("blocked") = false,
            nb::arg("loss") = 0.0, nb::arg("rate_bps") = nb::none(), nb::arg("extra_delay_ps") = 0,
            "Impair a direction of a link for frames sent from now on (docs/reference/links.md).\n"
            "\n"
            "`blocked`: all frames are lost. `loss` is the probability that a frame is lost. `rate_bps`\n"
            "replaces the link's rate. The default values end an impairment.")
        .def(
            "set_seed",
            [](network::Network& n, std::uint64_t seed) {
                n.links().set_seed(seed);
                n.set_seed(seed);
            },
            nb::sig("def set_seed(self, seed: int, /) -> None"),
            "Set the seed of all links, and of the random numbers that programs draw.\n"
            "\n"
            "Each direction of a link, and each switch, has its own random number generator.")
        .def(
            "record",
            [](network::Network& n, Index<network::Link> link, const std::string& path,
               std::optional<int> direction) {
                std::optional<Direction> one;
                if (direction) one = direction_of<std::invalid_argument>(n, link, *direction);
                n.links().record(link, one, path);
            },
            nb::arg("link"), nb::arg("path"), nb::arg("direction") = nb::none(),
            "Record the frames of a link in a PCAP file, each at the beginning of its transmission.\n"
            "\n"
            "`direction` None: both directions. OSError if the file cannot be written.")
        .def("end_recordings", [](network::Network& n) { n.links().end_recordings(); })
        .def(
            "keep_recent",
            [](network::Network& n, Index<network::Link> link, std::size_t most) {
                n.links().keep_recent(link, most);
            },
            nb::sig("def keep_recent(self, link: int, most: int, /) -> None"),
            "Keep copies of the latest `most` frames of a link, both directions together; 0: stop.")
        .def(
            "recent",
            [](const network::Network& n, Index<network::Link> link) {
                nb::list out;
                for (const frames::RecentFrames::Item& item : n.links().recent(link))
                    out.append(nb::make_tuple(item.number, item.time, static_cast<int>(item.direction),
                                              to_bytes(item.bytes)));
                return out;
            },
            nb::sig("def recent(self, link: int, /) -> list[tuple[int, int, int, bytes]]"),
            "Return the frames kept by keep_recent(), the oldest first.\n"
            "\n"
            "A frame is (number, time in ps, direction, bytes).");
}

}  // namespace railyard::python
