// SPDX-License-Identifier: Apache-2.0
// Switches on Linux interfaces.
#include "python/bind.h"
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

}  // namespace

void bind_wire(nb::module_& m) {
    nb::class_<Wire, SwitchSet>(m, "Wire", "Switches on Linux interfaces, in real time.")
        .def(nb::init<>())
        .def("add_port", &Wire::add_port, nb::arg("switch"), nb::arg("port"), nb::arg("interface"))
        .def("record", &Wire::record, nb::arg("directory"))
        .def("dump", &Wire::dump, nb::arg("bytes"))
        .def("log_programs", &Wire::log_programs)
        .def("set_queues", &Wire::set_queues, nb::arg("queues"))
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
