// SPDX-License-Identifier: Apache-2.0
// Bindings of Network: its partitions, the handlers of its hosts, the run, and frames passed through a
// switch.
#include "network/network.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "frames/cna24.h"
#include "python/bind.h"
#include "python/network/bind_links.h"
#include "switch/passes.h"

namespace railyard::python {

namespace {

// Return a copy of a frame whose headers `convert` has converted.
nb::bytes converted(const nb::bytes& bytes, void (*convert)(frames::Frame&)) {
    frames::FramePool pool;
    const frames::FrameHandle frame = pool.acquire(bytes.c_str(), bytes.size());
    convert(*frame);
    return to_bytes(frame->view());
}

void bind_partitions(nb::class_<network::Network, SwitchSet>& c) {
    c.def(
         "add_switch",
         [](network::Network& n, const std::string& name, Port cpu_port, std::uint32_t partition) {
             const SetLock lock(n);
             return n.add_switch(name, cpu_port, partition);
         },
         nb::arg("name"), nb::arg("cpu_port") = 510, nb::kw_only(), nb::arg("partition") = 0,
         "Add a switch to a partition of the network, and return the number of the switch.\n"
         "\n"
         "Partitions are numbered from 0. Threads run them in parallel, where the results stay the same.\n"
         "ValueError for a new partition after the first event.")
        .def(
            "set_threads",
            [](network::Network& n, std::size_t threads) {
                const SetLock lock(n);
                n.windows().set_threads(threads);
            },
            nb::arg("threads"),
            "Set the number of threads that run the partitions, by default one for each partition.\n"
            "\n"
            "Call it before the first event.")
        .def(
            "window_report",
            [](network::Network& n) {
                const network::WindowReport report = n.windows().report();
                nb::list threads;
                for (const network::ThreadWork& work : report.threads)
                    threads.append(nb::make_tuple(work.events, work.seconds, work.waiting_seconds));
                nb::dict d;
                d["threads"] = threads;
                d["windows"] = report.windows;
                d["events_outside"] = report.events;
                d["frames_crossed"] = report.frames;
                d["merge_seconds"] = report.merge_seconds;
                d["slowest_seconds"] = report.slowest_seconds;
                d["delay_ps"] = report.delay;
                return d;
            },
            nb::sig("def window_report(self) -> dict[str, typing.Any]"),
            "Return the work and the waiting time of the threads (docs/testbeds/performance.md).\n"
            "\n"
            "threads: (events, seconds of processor time, seconds of waiting) of each thread.\n"
            "windows: number of spans of virtual time that the partitions ran in parallel.\n"
            "events_outside: number of events outside windows.\n"
            "frames_crossed: number of frames between partitions.\n"
            "merge_seconds: processor time of the merges after windows.\n"
            "slowest_seconds: processor time of the slowest thread, summed over the windows.\n"
            "delay_ps: least delay of a link between partitions.")
        .def_prop_ro(
            "hops", [](network::Network& n) { return n.frame_counts().hops; },
            "Number of frames that switches have received from links.")
        .def_prop_ro(
            "frames_without_link", [](network::Network& n) { return n.frame_counts().without_link; },
            "Number of frames that left a switch by a port without a link.");
}

void bind_handlers(nb::class_<network::Network, SwitchSet>& c) {
    c.def(
         "set_handler",
         [](network::Network& n, Index<network::Host> host, const nb::object& handler) {
             n.set_application(host, application_of(handler));
         },
         nb::arg("host"), nb::arg("handler").none(),
         nb::sig("def set_handler(self, host: int, handler: typing.Any) -> None"),
         "Replace the handler of a host.\n"
         "\n"
         "A handler is an Application, or a Python object with the methods start(now),\n"
         "on_frame(frame, now) and on_timer(now), which return Output; None for no handler.")
        .def(
            "start", [](network::Network& n, Index<network::Host> host) { n.start(host); },
            nb::sig("def start(self, host: int, /) -> None"),
            "Call `start` of the host's handler, and carry out the actions that it returns.")
        .def(
            "act",
            [](network::Network& n, Index<network::Host> host, const nb::object& output) {
                hosts::Actions actions(n.pool_of(host));
                to_answer(output, actions);
                n.act(host, actions);
            },
            nb::sig(
                "def act(self, host: int, actions: tuple[list[tuple[bytes, int]], int | None], /) -> None"),
            "Carry out actions for a host: send the frames, and set the next deadline.")
        .def(
            "send",
            [](network::Network& n, Index<network::Host> host, const nb::bytes& frame, Vl vl) {
                n.send(host, view(frame), vl);
            },
            nb::sig("def send(self, host: int, frame: bytes, vl: int, /) -> None"),
            "Send a frame from a host on a VL.")
        .def(
            "alarm", [](network::Network& n, Time time, std::int64_t token) { n.alarm(time, token); },
            nb::sig("def alarm(self, time_ps: int, token: int, /) -> None"),
            "Put an \"alarm\" with this token into take_control() at a time.");
}

void bind_run(nb::class_<network::Network, SwitchSet>& c) {
    c.def(
         "run",
         [](network::Network& n, std::optional<Time> until, std::uint64_t events) {
             // Run in slices, between which Python's signal handlers run.
             constexpr std::uint64_t kSlice = 1 << 16;
             for (std::uint64_t left = events;;) {
                 const std::uint64_t slice = std::min(left, kSlice);
                 const network::RunEnd end = n.run(until.value_or(network::kForever), slice, events != ~0ULL);
                 left -= slice;
                 if (end != network::RunEnd::Paused || left == 0) return static_cast<int>(end);
                 if (PyErr_CheckSignals() != 0) throw nb::python_error();
             }
         },
         nb::arg("until_ps") = nb::none(), nb::arg("events") = ~0ULL,
         nb::sig("def run(self, until_ps: int | None=None, events: int=...) -> int"),
         "Run events up to the time `until_ps`, at most `events` of them, and return why the run ended.\n"
         "\n"
         "0: no event is left.\n"
         "1: the time is `until_ps`.\n"
         "2: take_control() has a notification.\n"
         "3: queues wait for each other; deadlock() names them.\n"
         "4: `events` events have run, and more are left.\n"
         "\n"
         "Python's signal handlers run meanwhile. PartitionError if an event needs several partitions at\n"
         "its own time: run the scenario in one partition.")
        .def(
            "set_tolerant", [](network::Network& n, bool tolerant) { n.set_tolerant(tolerant); },
            nb::sig("def set_tolerant(self, tolerant: bool, /) -> None"),
            "Set whether the run continues when a program fails on a frame.\n"
            "\n"
            "If `tolerant`, the frame is dropped, and take_control() has an item \"log\". Otherwise run() "
            "and\n"
            "packet_out() raise RuntimeError. A program fails by a failed `assert`, or when a frame exceeds\n"
            "its budget of passes, copies and rounds (docs/reference/engine.md).")
        .def_prop_ro(
            "frames_failed", [](network::Network& n) { return n.frame_counts().failed; },
            "Number of frames dropped because their program failed; see set_tolerant().");
}

void bind_deliveries(nb::class_<network::Network, SwitchSet>& c) {
    c.def(
         "set_bin", [](network::Network& n, Time width, std::size_t vls) { n.hosts().set_bin(width, vls); },
         nb::arg("width_ps"), nb::arg("vls") = kVls,
         "Count the bytes that reach hosts, in bins of `width_ps`; see delivered_bins().\n"
         "\n"
         "Only frames on the `vls` lanes of lowest priority count.")
        .def(
            "delivered_bins", [](network::Network& n) { return n.delivered_bins(); },
            "Return the bytes that have reached hosts in each bin of set_bin().")
        .def(
            "delivered_bytes",
            [](network::Network& n) {
                const auto& bins = n.delivered_bins();
                return std::accumulate(bins.begin(), bins.end(), Bytes());
            },
            "Return the sum of delivered_bins().");
}

void bind_frames(nb::class_<network::Network, SwitchSet>& c) {
    c.def(
         "process",
         [](network::Network& n, Index<Switch> sw, Port port, const nb::bytes& frame) {
             nb::list out;
             for (const auto& [egress, bytes] : process(n, sw, port, view(frame)))
                 out.append(nb::make_tuple(egress, to_bytes(bytes)));
             return out;
         },
         nb::sig("def process(self, switch: int, port: int, frame: bytes, /) -> list[tuple[int, bytes]]"),
         "Return (egress port, frame) of each frame that a switch sends for a frame on an ingress port.")
        .def(
            "trace",
            [](network::Network& n, Index<Switch> sw, Port port, const nb::bytes& frame) {
                const LockedSwitch s(n, sw);
                if (!s.program().traced)
                    throw std::invalid_argument(
                        "switch " + s->name() +
                        " runs a program that is not traced; load the program with traced=True");
                std::vector<switching::TraceStep> steps;
                nb::list sent;
                for (const auto& [egress, bytes] : trace(n, sw, port, view(frame), steps))
                    sent.append(nb::make_tuple(egress, to_bytes(bytes)));
                return nb::make_tuple(sent, from_trace(s.program(), steps));
            },
            nb::sig("def trace(self, switch: int, port: int, frame: bytes, /) -> tuple[list[tuple[int, "
                    "bytes]], list[dict[str, typing.Any]]]"),
            "Return the result of process(), and the steps of the program on the frame.\n"
            "\n"
            "A step is a parser state, table, condition or statement; harness.frames.steps explains its\n"
            "values. ValueError if the switch's program is not traced.")
        .def(
            "bench",
            [](network::Network& n, Index<Switch> sw, Port port, const nb::bytes& frame, std::uint64_t count,
               bool copy_only) { return bench(n, sw, port, view(frame), count, copy_only); },
            nb::arg("switch"), nb::arg("port"), nb::arg("frame"), nb::arg("count"),
            nb::arg("copy_only") = false,
            "Return the processor seconds of processing a frame `count` times.\n"
            "\n"
            "`copy_only`: only copy the frame, as a baseline.");
}

}  // namespace

void bind_network(nb::module_& m) {
    bind_queue_policy(m);
    const nb::exception<network::PartitionError> partition_error(m, "PartitionError", PyExc_RuntimeError);
    nb::class_<network::Network, SwitchSet> network(
        m, "Network",
        "Switches, hosts and links in virtual time.\n"
        "\n"
        "Only one Python thread at a time may use a network. The direction of a link is 0 from switch\n"
        "`sw_a` to `sw_b`, and 1 back.");
    network.def(nb::init<>());
    // The stub has the methods in this order.
    bind_partitions(network);
    bind_connections(network);
    bind_handlers(network);
    bind_link_changes(network);
    bind_run(network);
    bind_measurements(network);
    bind_deliveries(network);
    bind_frames(network);
    m.def(
        "to_cna24", [](const nb::bytes& frame) { return converted(frame, frames::to_cna24); },
        nb::sig("def to_cna24(frame: bytes, /) -> bytes"),
        "Return a frame with its CNA16 header converted to CNA24 and reliable transport headers.\n"
        "\n"
        "A frame with other headers is returned unchanged (docs/reference/wire-format.md).");
    m.def(
        "from_cna24", [](const nb::bytes& frame) { return converted(frame, frames::from_cna24); },
        nb::sig("def from_cna24(frame: bytes, /) -> bytes"),
        "Undo to_cna24(); a frame with other headers is returned unchanged.");
}

}  // namespace railyard::python
