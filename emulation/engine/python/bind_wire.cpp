// SPDX-License-Identifier: Apache-2.0
// Bindings of Wire and HostDriver: switches and hosts on Linux interfaces.
#include <nanobind/ndarray.h>

#include <algorithm>

#include "python/bind.h"
#include "wire/host_driver.h"
#include "wire/wire.h"

namespace railyard::python {

namespace {

nb::dict stats_of(const wire::WireStats& s) {
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

wire::HostDriver::Attachment guest_of(const nb::object& host) {
    std::shared_ptr<hosts::Application> application = application_of(host);
    if (const auto agent = std::dynamic_pointer_cast<hosts::Participant>(application))
        return {std::move(application),
                [agent] { return agent->failed() || (agent->finished() && agent->done()); }};
    return {std::move(application), [host] {
                return is_true(host.attr("failed")) ||
                       (!host.attr("finished_ps").is_none() && is_true(host.attr("done")));
            }};
}

nb::object to_array(const std::vector<std::int64_t>& values) {
    const auto [copy, owner] = owned(values);
    return nb::cast(nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>(copy->data(), {copy->size()}, owner));
}

// Run until there are events that the caller must handle; return these events.
nb::object run(wire::HostDriver& driver) {
    for (;;) {
        const bool quiet = [&] {
            const nb::gil_scoped_release others_may_run;
            return driver.wait();
        }();
        if (!quiet && PyErr_CheckSignals() != 0) throw nb::python_error();
        const wire::HostDriver::Turn turn = driver.serve();
        if (!turn.readable.empty() || !turn.ended.empty() || !turn.noted.empty())
            return nb::make_tuple(turn.readable, turn.ended, turn.noted);
    }
}

void bind_driver(nb::module_& m) {
    nb::class_<wire::HostDriver>(
        m, "HostDriver",
        "Driver of sans-IO hosts on raw sockets, in real time. add() returns the number of a host.")
        .def(nb::init<double, std::int64_t, Time, wire::Nanoseconds>(), nb::arg("rate_bps"),
             nb::arg("dilation"), nb::arg("bin_ps"), nb::arg("note_ns") = wire::Nanoseconds(0),
             "Create a driver.\n"
             "\n"
             "Args:\n"
             "    rate_bps: Rate at which each host sends, in real bits per second.\n"
             "    dilation: Real seconds of a second of scenario time.\n"
             "    bin_ps: Width of the bins of bins(), in ps of scenario time.\n"
             "    note_ns: Least time in ns between two reports of an active host by run(); 0: no reports.")
        .def(
            "add",
            [](wire::HostDriver& driver, const nb::object& host, int fd, const Count& arrived,
               std::size_t ring_bytes) {
                if (arrived.size() != 1)
                    throw std::invalid_argument("`arrived` has " + std::to_string(arrived.size()) +
                                                " elements; give an array with one int64");
                return driver.add(guest_of(host), fd, arrived.data(), ring_bytes);
            },
            nb::arg("host"), nb::arg("fd"), nb::arg("arrived"), nb::arg("ring_bytes"), nb::keep_alive<1, 4>(),
            nb::sig(
                "def add(self, host: Application | object, fd: int, arrived: typing.Any, ring_bytes: int) -> "
                "int"),
            "Add a host with a bound raw socket, and return the number of the host.\n"
            "\n"
            "Received frames wait in a ring of about `ring_bytes`. `arrived` is an array with one int64, to\n"
            "which the driver adds the bytes of data that arrive. OSError if the socket cannot be used.")
        .def("watch", &wire::HostDriver::watch, nb::arg("fd"),
             "Let run() return whenever the descriptor `fd` is readable.")
        .def("rest", &wire::HostDriver::rest, nb::arg("share"),
             nb::arg("least_run_ns") = wire::Nanoseconds(0),
             "Rest between two polls for frames, for up to `share` of the run's duration.\n"
             "\n"
             "Frames are then served in groups. A rest is no longer than the transmission time of the\n"
             "longest frame. The duration of the run is the time since go(), but at least `least_run_ns`.")
        .def("go", &wire::HostDriver::go, nb::arg("start_ns"),
             "Let scenario time and all hosts begin at `start_ns` of the monotonic clock.\n"
             "\n"
             "OSError if a ring cannot be opened.")
        .def(
            "replace",
            [](wire::HostDriver& driver, std::size_t index, const nb::object& host, wire::Nanoseconds start) {
                driver.replace(index, guest_of(host), start);
            },
            nb::arg("index"), nb::arg("host"), nb::arg("start_ns"),
            nb::sig("def replace(self, index: int, host: Application | object, start_ns: int) -> None"),
            "Replace a host by a host that begins at `start_ns`; drop the frames that wait to be sent.")
        .def("reroute", &wire::HostDriver::reroute, nb::arg("index"), nb::arg("routes"),
             nb::sig("def reroute(self, index: int, routes: list[tuple[int, int]]) -> None"),
             "Tell an agent of changed routes, as Participant.reroute().")
        .def(
            "act",
            [](wire::HostDriver& driver, std::size_t index, const nb::object& output) {
                driver.act(index, [&](hosts::Actions& actions) { to_answer(output, actions); });
            },
            nb::arg("index"), nb::arg("output"),
            nb::sig("def act(self, index: int, output: tuple[list[tuple[bytes, int]], int | None]) -> None"),
            "Send frames for a host and set its next deadline, without an event of the host.")
        .def("run", run, nb::sig("def run(self) -> tuple[list[int], list[int], list[int]]"),
             "Run until there is something to handle.\n"
             "\n"
             "Return (readable descriptors of watch(), hosts that have just ended, active hosts to note).")
        .def("stop", &wire::HostDriver::stop, "End the pace measurements of all hosts.")
        .def_prop_ro("at", &wire::HostDriver::at, "Number of the host whose event was served last.")
        .def(
            "bins",
            [](const wire::HostDriver& driver, std::size_t index) {
                nb::dict out;
                for (const auto& [bin, bytes] : driver.bins(index)) out[nb::int_(bin)] = bytes;
                return out;
            },
            nb::arg("index"), nb::sig("def bins(self, index: int) -> dict[int, int]"),
            "Return the bytes of data that arrived at a host, by number of the time bin.")
        .def(
            "pace",
            [](const wire::HostDriver& driver, std::size_t index) {
                const wire::Pace& pace = driver.pace(index);
                return nb::make_tuple(pace.offered, pace.sent, pace.refused, to_array(pace.late),
                                      to_array(pace.waited));
            },
            nb::arg("index"),
            nb::sig("def pace(self, index: int) -> tuple[float, int, int, typing.Any, typing.Any]"),
            "Return (offered bytes, sent bytes, refused frames, lateness in ns, wait in ns) of a host.\n"
            "\n"
            "Offered bytes are those that the rate allowed while frames waited. Refused frames were sent\n"
            "again, since the kernel had no room. Lateness is the time from a frame's slot to its sending,\n"
            "and wait the time in the queue, each an array by frame.")
        .def(
            "counts",
            [](const wire::HostDriver& driver) {
                const wire::DriverCounts& counts = driver.counts();
                nb::dict out;
                out["waits"] = counts.waits;
                out["receives"] = counts.receives;
                out["received"] = counts.received;
                out["timers"] = counts.timers;
                return out;
            },
            nb::sig("def counts(self) -> dict[str, int]"),
            "Return the numbers of polls, of rings with frames, of received frames and of timers.");
}

}  // namespace

void bind_wire(nb::module_& m) {
    bind_driver(m);
    nb::class_<wire::Wire, SwitchSet>(
        m, "Wire",
        "Switches on Linux interfaces, in real time. One thread handles the frames of all switches.")
        .def(nb::init<>())
        .def("add_port", &wire::Wire::add_port, nb::arg("switch"), nb::arg("port"), nb::arg("interface"),
             "Bind a port to an interface; call it before start().\n"
             "\n"
             "ValueError if the interface does not exist, or the port or interface is taken.")
        .def(
            "record",
            [](wire::Wire& w, const std::string& directory) { w.settings.pcap_directory = directory; },
            nb::arg("directory"),
            "Record the frames of every port in INTERFACE_in.pcap and INTERFACE_out.pcap of a directory.\n"
            "\n"
            "Call it before start().")
        .def(
            "dump", [](wire::Wire& w, std::size_t bytes) { w.settings.dump_bytes = bytes; }, nb::arg("bytes"),
            "Add the first `bytes` of every frame to take_messages(); call it before start().")
        .def(
            "log_programs", [](wire::Wire& w) { w.settings.log_programs = true; },
            "Add the log messages of programs to take_messages(); call it before add_switch().")
        .def(
            "set_queues", [](wire::Wire& w, std::size_t queues) { w.settings.queues = queues; },
            nb::arg("queues"),
            "Set the number of queues of a port, 8 by default; call it before start().\n"
            "\n"
            "Frames whose priority is not below `queues` are dropped.")
        .def(
            "hold", [](wire::Wire& w, std::size_t frames) { w.settings.hold(frames); }, nb::arg("frames"),
            "Let frames for a slow interface wait in the switch instead of the kernel.\n"
            "\n"
            "A queue of a port holds up to `frames` frames, and the kernel one. Call it before start().")
        .def("set_rate", &wire::Wire::set_rate, nb::arg("switch"), nb::arg("port"),
             nb::arg("bits_per_second"),
             "Pace the frames that leave by a port; call it before start().\n"
             "\n"
             "ValueError if there is no such port, or the rate is not positive.")
        .def("start", &wire::Wire::start,
             "Open the interfaces and start the thread. OSError if an interface cannot be opened.")
        .def("stop", &wire::Wire::stop, nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("event_fd", &wire::Wire::event_fd,
                     "An eventfd, signalled when take_control() or take_messages() has something to return.")
        .def("up", &wire::Wire::up, nb::arg("switch"), nb::arg("port"),
             nb::call_guard<nb::gil_scoped_release>())
        .def(
            "stats",
            [](wire::Wire& w, Index<Switch> sw, Port port) {
                const wire::WireStats stats = [&] {
                    const nb::gil_scoped_release others_may_run;
                    return w.stats(sw, port);
                }();
                return stats_of(stats);
            },
            nb::arg("switch"), nb::arg("port"),
            nb::sig("def stats(self, switch: int, port: int) -> dict[str, int]"),
            "Return the counts of a port, of frames unless the name says bytes.\n"
            "\n"
            "received, received_bytes, sent, sent_bytes: frames and bytes on the interface.\n"
            "missed: lost at a full receive ring.\n"
            "too_long: longer than the MTU, received or to be sent.\n"
            "refused_down: to be sent while the port was down.\n"
            "refused_full: to be sent while the queue was full, in the switch or in the kernel.\n"
            "failed: dropped since the program failed or exceeded its budget.\n"
            "refused_odd: not sent for another reason: too short, or of a priority without a queue.")
        .def("take_messages", &wire::Wire::take_messages, nb::call_guard<nb::gil_scoped_release>(),
             "Return (level, text) of the messages since the last call; levels: \"info\", \"warning\", "
             "\"error\".");
}

}  // namespace railyard::python
