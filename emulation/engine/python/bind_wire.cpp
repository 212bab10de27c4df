// SPDX-License-Identifier: Apache-2.0
// Switches and hosts on Linux interfaces.
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

HostDriver::Guest guest_of(const nb::object& host) {
    std::shared_ptr<Station> station = station_of(host);
    if (const auto agent = std::dynamic_pointer_cast<Participant>(station))
        return {std::move(station),
                [agent] { return agent->failed() || (agent->finished() && agent->done()); }};
    return {std::move(station), [host] {
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

// Run until something happens that the caller has to deal with.
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
    nb::class_<HostDriver>(m, "HostDriver", "Driver of sans-IO hosts on raw sockets, in real time.")
        .def(nb::init<double, std::int64_t, Time, std::int64_t>(), nb::arg("rate_bps"), nb::arg("dilation"),
             nb::arg("bin_ps"), nb::arg("note_ns") = 0)
        .def(
            "add",
            [](HostDriver& driver, const nb::object& host, int fd, const Count& arrived,
               std::size_t ring_bytes) {
                if (arrived.size() != 1) throw std::invalid_argument("a host has one count of bytes");
                return driver.add(guest_of(host), fd, arrived.data(), ring_bytes);
            },
            nb::arg("host"), nb::arg("fd"), nb::arg("arrived"), nb::arg("ring_bytes"), nb::keep_alive<1, 4>())
        .def("watch", &HostDriver::watch, nb::arg("fd"))
        .def("rest", &HostDriver::rest, nb::arg("share"), nb::arg("least_run_ns") = 0)
        .def("go", &HostDriver::go, nb::arg("start_ns"))
        .def(
            "replace",
            [](HostDriver& driver, std::size_t index, const nb::object& host, std::int64_t start) {
                driver.replace(index, guest_of(host), start);
            },
            nb::arg("index"), nb::arg("host"), nb::arg("start_ns"))
        .def("reroute", &HostDriver::reroute, nb::arg("index"), nb::arg("routes"))
        .def("run", run)
        .def("stop", &HostDriver::stop)
        .def_prop_ro("at", &HostDriver::at)
        .def(
            "bins",
            [](const HostDriver& driver, std::size_t index) {
                nb::dict out;
                for (const auto& [bin, bytes] : driver.bins(index)) out[nb::int_(bin)] = bytes;
                return out;
            },
            nb::arg("index"))
        .def(
            "pace",
            [](const HostDriver& driver, std::size_t index) {
                const Pace& pace = driver.pace(index);
                return nb::make_tuple(pace.offered, pace.sent, pace.refused, array_of(pace.late),
                                      array_of(pace.waited));
            },
            nb::arg("index"))
        .def("counts", [](const HostDriver& driver) {
            const DriverCounts& counts = driver.counts();
            nb::dict out;
            out["waits"] = counts.waits;
            out["receives"] = counts.receives;
            out["received"] = counts.received;
            out["timers"] = counts.timers;
            return out;
        });
}

}  // namespace

void bind_wire(nb::module_& m) {
    bind_driver(m);
    nb::class_<Wire, SwitchSet>(m, "Wire", "Switches on Linux interfaces, in real time.")
        .def(nb::init<>())
        .def("add_port", &Wire::add_port, nb::arg("switch"), nb::arg("port"), nb::arg("interface"))
        .def("record", &Wire::record, nb::arg("directory"))
        .def("dump", &Wire::dump, nb::arg("bytes"))
        .def("log_programs", &Wire::log_programs)
        .def("set_queues", &Wire::set_queues, nb::arg("queues"))
        .def("hold", &Wire::hold, nb::arg("frames"))
        .def("set_rate", &Wire::set_rate, nb::arg("switch"), nb::arg("port"), nb::arg("bits_per_second"))
        .def("start", &Wire::start)
        .def("stop", &Wire::stop, nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("event_fd", &Wire::event_fd)
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
            nb::arg("switch"), nb::arg("port"))
        .def("take_messages", &Wire::take_messages, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace railyard
