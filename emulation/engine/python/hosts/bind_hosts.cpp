// SPDX-License-Identifier: Apache-2.0
// Bindings of programs on hosts: what all agents of NPUs have in common, and load generators. A network runs
// an agent, or Python calls the agent for each event.
#include "python/hosts/bind_hosts.h"

#include <nanobind/ndarray.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hosts/agent.h"
#include "hosts/saturator.h"
#include "network/events/partition.h"
#include "python/bind.h"
#include "python/hosts/bind_congestion.h"

namespace railyard::python {

namespace {

template <typename Event>
nb::object actions_of(const Event& event) {
    hosts::Actions actions(loose_frames());
    event(actions);
    return from_answer(actions);
}

nb::object failure_of(const hosts::Participant& agent) {
    const auto failure = agent.failed();
    return failure ? nb::make_tuple(failure->peer, failure->psn, failure->at) : nb::object(nb::none());
}

nb::object counts_of(const hosts::Participant& agent) {
    const hosts::AgentStats s = agent.stats();
    nb::dict junk;
    for (const auto& [word, count] : s.junk) junk[word.c_str()] = count;
    return nb::make_tuple(s.sent, s.retransmitted, s.received, s.duplicates, s.acks_sent, s.acks_received,
                          s.rtt, junk, s.marked, s.trimmed);
}

nb::object reduction_of(const hosts::Participant& agent) {
    const auto s = agent.reduction();
    if (!s) return nb::none();
    return nb::make_tuple(s->read, s->written, s->busy, s->core, s->sram_peak, s->spilled);
}

// Return the array's bytes, not a copy: the agent changes them until it has finished.
nb::object array_of(const hosts::Participant& agent) {
    const auto [shared, owner] = owned(agent.result());
    return nb::cast(
        nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>((*shared)->data(), {(*shared)->size()}, owner));
}

void bind_participant(nb::module_& m) {
    const nb::class_<hosts::Application> application(
        m, "Application",
        "Program on a host, in C++.\n"
        "\n"
        "While an application is the handler of a Network's host, only the network calls it.");
    nb::class_<hosts::Participant, hosts::Application>(
        m, "Participant",
        "Agent of an NPU in a collective; see emulation.traffic.host.agents.\n"
        "\n"
        "`start`, `on_frame` and `on_timer` take an event at time `now` in ps, and return the frames to\n"
        "send and the next deadline. A host without a network calls them.")
        .def(
            "start",
            [](hosts::Participant& p, Time now) {
                return actions_of([&](hosts::Actions& a) { p.start(now, a); });
            },
            nb::arg("now"), nb::sig("def start(self, now: int) -> Output"))
        .def(
            "on_frame",
            [](hosts::Participant& p, const nb::bytes& frame, Time now) {
                return actions_of([&](hosts::Actions& a) {
                    p.on_frame(a.pool.acquire(frame.c_str(), frame.size()), now, a);
                });
            },
            nb::arg("frame"), nb::arg("now"), nb::sig("def on_frame(self, frame: bytes, now: int) -> Output"))
        .def(
            "on_timer",
            [](hosts::Participant& p, Time now) {
                return actions_of([&](hosts::Actions& a) { p.on_timer(now, a); });
            },
            nb::arg("now"), nb::sig("def on_timer(self, now: int) -> Output"))
        .def(
            "reroute",
            [](hosts::Participant& p, const hosts::Routes& routes, Time now) {
                return actions_of([&](hosts::Actions& a) { p.on_reroute(routes, now, a); });
            },
            nb::sig("def reroute(self, routes: list[tuple[int, int]], now: int, /) -> Output"),
            "Retransmit the frames in flight whose routes have changed.\n"
            "\n"
            "`routes` are pairs: the CNA of a destination, and a bit for each of its re-routed buckets.")
        .def(
            "call_when_done",
            [](hosts::Participant& p, nb::object call) { p.on_done = [call = std::move(call)] { call(); }; },
            nb::sig("def call_when_done(self, call: collections.abc.Callable[[], None], /) -> None"),
            "Set the function that is called when the collective or all iterations have ended.")
        .def(
            "call_at_silence",
            [](hosts::Participant& p, nb::object call) {
                // Shared, so that threads without the interpreter lock can copy it.
                const auto shared = std::make_shared<nb::object>(std::move(call));
                p.on_repath = [shared](std::uint16_t address, hosts::BucketSet buckets) {
                    if (!network::Partition::defer([=] { (*shared)(address, buckets); }))
                        (*shared)(address, buckets);
                };
            },
            nb::sig("def call_at_silence(self, call: collections.abc.Callable[[int, int], None], /) -> None"),
            "Set the function that is called to ask for other paths to a peer.\n"
            "\n"
            "Its arguments are the peer's CNA, and a bit for each bucket whose path has fallen silent.")
        .def_prop_ro("done", [](const hosts::Participant& p) { return p.done(); })
        .def_prop_ro("finished_ps", [](const hosts::Participant& p) { return p.finished(); })
        .def("failure", failure_of, nb::sig("def failure(self) -> tuple[int, int, int] | None"),
             "Return (peer, PSN, time in ps) of a connection that the agent gave up; None if there is none.\n"
             "\n"
             "The peer is a rank, the PSN that of the oldest unacknowledged frame. A TreeMember returns\n"
             "(tree, block, time in ps) of a block whose result did not come.")
        .def_prop_ro(
            "received", [](const hosts::Participant& p) { return p.received(); },
            "Number of data frames that the agent has received so far.")
        .def(
            "delivered", [](const hosts::Participant& p) { return p.delivered(); },
            "Return (rank of the peer, bytes of payload that the peer has acknowledged) for each peer.")
        .def(
            "counts", counts_of,
            nb::sig("def counts(self) -> tuple[int, int, int, int, int, int, int, dict[str, int], int, int]"),
            "Return the values of AgentStats in the order of its fields, without `reduction`.")
        .def("reduction_counts", reduction_of,
             nb::sig("def reduction_counts(self) -> tuple[int, ...] | None"),
             "Return the values of ReductionStats in the order of its fields.\n"
             "\n"
             "None if the agent has no model of the NPU's reducer.")
        .def("array", array_of, nb::sig("def array(self) -> typing.Any"),
             "Return the bytes of the agent's array, without a copy.\n"
             "\n"
             "The agent changes them until it has finished.");
}

void bind_saturator(nb::module_& m) {
    nb::class_<hosts::SaturationBudget>(
        m, "Budget", "Counts that several Saturators share: frames left to send, and frames received.")
        .def(
            "__init__",
            [](hosts::SaturationBudget* self, std::uint64_t frames) {
                new (self) hosts::SaturationBudget{frames, 0};
            },
            nb::sig("def __init__(self, frames: int, /) -> None"))
        .def_ro("left", &hosts::SaturationBudget::left)
        .def_ro("received", &hosts::SaturationBudget::received);
    nb::class_<hosts::Saturator, hosts::Application>(
        m, "Saturator",
        "Load generator that keeps a lossless fabric full; see emulation.traffic.host.saturate.\n"
        "\n"
        "It sends `at_first` frames at the start, then a frame for each received frame, while `budget`\n"
        "has frames left. Each frame is a random one of `frames`. `seed` is the integer that seeds a\n"
        "random.Random, as bytes, the most significant first. ValueError if `frames` is empty.")
        .def(
            "__init__",
            [](hosts::Saturator* self, const std::vector<nb::bytes>& frames, std::uint64_t at_first,
               const nb::bytes& seed, std::shared_ptr<hosts::SaturationBudget> budget) {
                std::vector<std::string> copies;
                copies.reserve(frames.size());
                for (const nb::bytes& frame : frames) copies.emplace_back(view(frame));
                new (self) hosts::Saturator(std::move(copies), at_first, hosts::PythonRandom(view(seed)),
                                            std::move(budget));
            },
            nb::arg("frames"), nb::arg("at_first"), nb::arg("seed"), nb::arg("budget"));
}

}  // namespace

void bind_hosts(nb::module_& m) {
    bind_ranks(m);
    bind_transport(m);
    bind_congestion(m);
    bind_entropies(m);
    bind_participant(m);
    bind_saturator(m);
    bind_agents(m);
}

}  // namespace railyard::python
