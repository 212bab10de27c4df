// SPDX-License-Identifier: Apache-2.0
// Bindings of Wire and HostDriver: switches and hosts on Linux interfaces.
#include <nanobind/ndarray.h>

#include <algorithm>

#include "python/bind.h"
#include "wire/host_driver.h"
#include "wire/wire.h"

namespace railyard {

namespace {

nb::dict stats_of(const WireStats& s) {
    nb::dict d;
    d["received"] = s.received;
    d["received_bytes"] = s.received_bytes;
    d["sent"] = s.sent;
    d["sent_bytes"] = s.sent_bytes;
    d["missed"] = s.missed;
    d["too_long"] = s.too_long;
    d["refused_down"] = s.refused_down;
    d["refused_full"] = s.refused_full;
    d["failed"] = s.failed;
    d["refused_odd"] = s.refused_odd;
    return d;
}

using Count = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

bool is_true(const nb::object& value) {
    const int truth = PyObject_IsTrue(value.ptr());
    if (truth < 0) throw nb::python_error();
    return truth != 0;
}

HostDriver::Attachment guest_of(const nb::object& host) {
    std::shared_ptr<Application> application = application_of(host);
    if (const auto agent = std::dynamic_pointer_cast<Participant>(application))
        return {std::move(application),
                [agent] { return agent->failed() || (agent->finished() && agent->done()); }};
    return {std::move(application), [host] {
                return is_true(host.attr("failed")) ||
                       (!host.attr("finished_ps").is_none() && is_true(host.attr("done")));
            }};
}

nb::object array_of(const std::vector<std::int64_t>& values) {
    auto* const copy = new std::vector<std::int64_t>(values);
    const nb::capsule owner(copy,
                            [](void* p) noexcept { delete static_cast<std::vector<std::int64_t>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>(copy->data(), {copy->size()}, owner));
}

// Run until an event that the caller has to handle; return it.
nb::object run(HostDriver& driver) {
    for (;;) {
        const bool quiet = [&] {
            const nb::gil_scoped_release others_may_run;
            return driver.wait();
        }();
        if (!quiet && PyErr_CheckSignals() != 0) throw nb::python_error();
        const HostDriver::Turn turn = driver.serve();
        if (!turn.readable.empty() || !turn.ended.empty() || !turn.noted.empty())
            return nb::make_tuple(turn.readable, turn.ended, turn.noted);
    }
}

void bind_driver(nb::module_& m) {
    nb::class_<HostDriver>(
        m, "HostDriver",
        "Driver of sans-IO hosts on raw sockets, in real time; a host has the number of its add().")
        .def(nb::init<double, std::int64_t, Time, std::int64_t>(), nb::arg("rate_bps"), nb::arg("dilation"),
             nb::arg("bin_ps"), nb::arg("note_ns") = 0,
             "`rate_bps` of each host in real bits per second; `note_ns` 0: run() names no hosts to note.")
        .def(
            "add",
            [](HostDriver& driver, const nb::object& host, int fd, const Count& arrived,
               std::size_t ring_bytes) {
                if (arrived.size() != 1) throw std::invalid_argument("a host has one count of bytes");
                return driver.add(guest_of(host), fd, arrived.data(), ring_bytes);
            },
            nb::arg("host"), nb::arg("fd"), nb::arg("arrived"), nb::arg("ring_bytes"), nb::keep_alive<1, 4>(),
            nb::sig(
                "def add(self, host: Application | object, fd: int, arrived: typing.Any, ring_bytes: int) -> "
                "int"),
            "Add a host at a bound raw socket, whose frames wait in a ring of `ring_bytes`.\n"
            "OSError.\n"
            "\n"
            "`arrived` is the host's count of bytes of data, one int64.")
        .def("watch", &HostDriver::watch, nb::arg("fd"),
             "Let run() return whenever a descriptor is readable.")
        .def("rest", &HostDriver::rest, nb::arg("share"), nb::arg("least_run_ns") = 0,
             "Serve frames in groups: wait between two turns for up to this share of the run.\n"
             "\n"
             "The run lasts for `least_run_ns` from go() on, or for the time since go() if that is\n"
             "longer.")
        .def("go", &HostDriver::go, nb::arg("start_ns"),
             "Let scenario time and all hosts begin at a time of the monotonic clock. OSError: no ring.")
        .def(
            "replace",
            [](HostDriver& driver, std::size_t index, const nb::object& host, std::int64_t start) {
                driver.replace(index, guest_of(host), start);
            },
            nb::arg("index"), nb::arg("host"), nb::arg("start_ns"),
            nb::sig("def replace(self, index: int, host: Application | object, start_ns: int) -> None"),
            "Replace a host by one that begins at `start_ns`; frames that wait to be sent are dropped.")
        .def("reroute", &HostDriver::reroute, nb::arg("index"), nb::arg("routes"),
             nb::sig("def reroute(self, index: int, routes: list[tuple[int, int]]) -> None"),
             "Tell an agent of a collective of changed routes: bits of buckets by destination CNA.")
        .def(
            "act",
            [](HostDriver& driver, std::size_t index, const nb::object& output) {
                driver.act(index, [&](Actions& actions) { to_answer(output, actions); });
            },
            nb::arg("index"), nb::arg("output"),
            nb::sig("def act(self, index: int, output: tuple[list[tuple[bytes, int]], int | None]) -> None"),
            "Send the frames of an agent that acted without a frame or a deadline; take its next deadline.")
        .def("run", run, nb::sig("def run(self) -> tuple[list[int], list[int], list[int]]"),
             "Run until there are readable descriptors, hosts that have ended, or hosts to note.")
        .def("stop", &HostDriver::stop, "End the measurements of all hosts.")
        .def_prop_ro("at", &HostDriver::at, "Host whose event was served last.")
        .def(
            "bins",
            [](const HostDriver& driver, std::size_t index) {
                nb::dict out;
                for (const auto& [bin, bytes] : driver.bins(index)) out[nb::int_(bin)] = bytes;
                return out;
            },
            nb::arg("index"), nb::sig("def bins(self, index: int) -> dict[int, int]"),
            "Return the bytes of data that arrived at a host, by bins.")
        .def(
            "pace",
            [](const HostDriver& driver, std::size_t index) {
                const Pace& pace = driver.pace(index);
                return nb::make_tuple(pace.offered, pace.sent, pace.refused, array_of(pace.late),
                                      array_of(pace.waited));
            },
            nb::arg("index"),
            nb::sig("def pace(self, index: int) -> tuple[float, int, int, typing.Any, typing.Any]"),
            "Return offered bytes, sent bytes, refused frames, and each frame's lateness and wait in ns.")
        .def(
            "counts",
            [](const HostDriver& driver) {
                const DriverCounts& counts = driver.counts();
                nb::dict out;
                out["waits"] = counts.waits;
                out["receives"] = counts.receives;
                out["received"] = counts.received;
                out["timers"] = counts.timers;
                return out;
            },
            nb::sig("def counts(self) -> dict[str, int]"),
            "Return the number of waits, receives, received frames and timers.");
}

}  // namespace

void bind_wire(nb::module_& m) {
    bind_driver(m);
    nb::class_<Wire, SwitchSet>(
        m, "Wire", "Switches on Linux interfaces, in real time: one thread carries their frames.")
        .def(nb::init<>())
        .def("add_port", &Wire::add_port, nb::arg("switch"), nb::arg("port"), nb::arg("interface"),
             "Before start(). ValueError: no such interface, or port or interface are taken.")
        .def("record", &Wire::record, nb::arg("directory"),
             "Before start(): every frame goes to INTERFACE_in.pcap and INTERFACE_out.pcap there.")
        .def("dump", &Wire::dump, nb::arg("bytes"),
             "Before start(): so much of every frame becomes a message.")
        .def("log_programs", &Wire::log_programs, "Before add_switch(): what programs log become messages.")
        .def("set_queues", &Wire::set_queues, nb::arg("queues"),
             "Before start(): frames whose priority is not below `queues`, 8 at first, are dropped.")
        .def("hold", &Wire::hold, nb::arg("frames"),
             "Before start(): frames wait for a slow interface here, up to `frames` in a queue, not below.")
        .def("set_rate", &Wire::set_rate, nb::arg("switch"), nb::arg("port"), nb::arg("bits_per_second"),
             "Before start(): frames leave by the port at this rate, one by one. ValueError: no such port.")
        .def("start", &Wire::start, "OSError when an interface cannot be opened; nothing runs then.")
        .def("stop", &Wire::stop, nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("event_fd", &Wire::event_fd,
                     "An eventfd that is readable when take_control() or take_messages() has something.")
        .def("up", &Wire::up, nb::arg("switch"), nb::arg("port"), nb::call_guard<nb::gil_scoped_release>())
        .def(
            "stats",
            [](Wire& w, Index<Switch> sw, std::uint32_t port) {
                const WireStats stats = [&] {
                    const nb::gil_scoped_release others_may_run;
                    return w.stats(sw, port);
                }();
                return stats_of(stats);
            },
            nb::arg("switch"), nb::arg("port"),
            nb::sig("def stats(self, switch: int, port: int) -> dict[str, int]"),
            "Frames and bytes received and sent; frames missed, too_long, failed, refused_down, _full, _odd.")
        .def("take_messages", &Wire::take_messages, nb::call_guard<nb::gil_scoped_release>(),
             "Return messages since the last call: \"info\", \"warning\" or \"error\", and the text.");
}

}  // namespace railyard
