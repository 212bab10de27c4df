// SPDX-License-Identifier: Apache-2.0
// The Python module, and bindings of SwitchSet.
#include <ctime>
#include <system_error>

#include "python/bind.h"

namespace railyard::python {

namespace {

// Return the processor seconds of running a frame `count` times up to each stage. The time of a stage
// includes the earlier stages.
std::vector<double> profile(SwitchSet& set, Index<Switch> sw, Port port, std::string_view bytes,
                            std::uint64_t count) {
    const LockedSwitch s(set, sw);
    (void)s.program();
    const auto seconds = [] {
        timespec t{};
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
    };
    std::vector<double> out;
    for (const auto part : {switching::Traversal::Part::Copy, switching::Traversal::Part::Parse,
                            switching::Traversal::Part::Ingress, switching::Traversal::Part::Egress,
                            switching::Traversal::Part::Deparse}) {
        const double start = seconds();
        for (std::uint64_t i = 0; i < count; ++i)
            s->run_to(part, set.pool().acquire(bytes.data(), bytes.size()), port);
        out.push_back(seconds() - start);
    }
    return out;
}

}  // namespace

void bind_switches(nb::module_& m) {
    nb::class_<SwitchSet> switches(
        m, "SwitchSet",
        "Switches of one control plane.\n"
        "\n"
        "Methods that write tables, action profiles, direct counters or direct meters return a status:\n"
        "0 OK, 1 exists already, 2 not found, 3 exhausted, 4 invalid, 5 constant. Tables, actions,\n"
        "counters and other objects are given by their handles in the lists of Program. Times are\n"
        "picoseconds.");
    switches
        .def(
            "add_switch",
            [](SwitchSet& n, const std::string& name, Port cpu_port) {
                const SetLock lock(n);
                return n.add_switch(name, cpu_port);
            },
            nb::arg("name"), nb::arg("cpu_port") = 510)
        .def(
            "set_program",
            [](SwitchSet& n, Index<Switch> sw, std::shared_ptr<Program> p) {
                LockedSwitch(n, sw)->set_program(std::move(p));
            },
            nb::arg("switch"), nb::arg("program").none())
        .def(
            "reset",
            [](SwitchSet& n, Index<Switch> sw) {
                const LockedSwitch s(n, sw);
                s->set_program(s->shared_program());
            },
            nb::sig("def reset(self, switch: int, /) -> None"))
        .def_prop_ro("now", [](SwitchSet& n) { return n.now(); })
        .def("lock",
             [](SwitchSet& n) {
                 const nb::gil_scoped_release free;
                 n.mutex().lock();
             })
        .def("unlock", [](SwitchSet& n) { n.mutex().unlock(); })
        .def(
            "packet_out",
            [](SwitchSet& n, Index<Switch> sw, const nb::bytes& frame) {
                const SetLock lock(n);
                n.packet_out(sw, view(frame));
            },
            nb::sig("def packet_out(self, switch: int, frame: bytes, /) -> None"))
        .def(
            "profile",
            [](SwitchSet& n, Index<Switch> sw, Port port, const nb::bytes& frame, std::uint64_t count) {
                return profile(n, sw, port, view(frame), count);
            },
            nb::sig("def profile(self, switch: int, port: int, frame: bytes, count: int, /) -> list[float]"),
            "Return the processor seconds of running a frame `count` times up to each stage.\n"
            "\n"
            "The stages are copy, parser, ingress, egress and deparser. The time of a stage includes the\n"
            "earlier stages.")
        .def(
            "take_control",
            [](SwitchSet& n) -> nb::object {
                const SetLock lock(n);
                auto& queue = n.control();
                if (queue.empty()) return nb::none();
                const switching::ControlItem item = std::move(queue.front());
                queue.pop_front();
                n.taken(item);
                static const char* const kNames[] = {"packet_in", "port", "alarm", "digest", "idle", "log"};
                return nb::make_tuple(kNames[static_cast<int>(item.kind)], item.time, item.switch_index,
                                      item.value, item.up, to_bytes(item.frame));
            },
            nb::sig("def take_control(self) -> tuple[str, int, int, int, bool, bytes] | None"),
            "Remove and return the oldest notification for the control plane; None if there is none.\n"
            "\n"
            "A notification is (kind, time, switch, value, up, bytes). By kind:\n"
            "\n"
            "packet_in: `bytes` is the frame.\n"
            "port: port `value` went up or down, as `up` says.\n"
            "alarm: `value` is the token of alarm(); `switch` is -1.\n"
            "digest: `value` is the handle of the digest, `bytes` are its fields.\n"
            "idle: table `value` has entries for table_aged().\n"
            "log: `bytes` is the line.");
    // Translate std::system_error to OSError with an errno: callers choose the remedy by the errno.
    nb::register_exception_translator([](const std::exception_ptr& p, void*) {
        try {
            std::rethrow_exception(p);
        } catch (const std::system_error& error) {
            PyErr_SetObject(PyExc_OSError, nb::make_tuple(error.code().value(), error.what()).ptr());
        }
    });
    bind_tables(switches);
    bind_state(switches);
    bind_updates(m, switches);
}

}  // namespace railyard::python

NB_MODULE(_engine, m) {
    m.doc() =
        "The built-in v1model switch and the links between switches, in virtual time (C++, "
        "emulation/engine).";
    // Do not report leaks at exit: a traceback or a thread may still hold a network.
    nanobind::set_leak_warnings(false);
    railyard::python::bind_program(m);
    railyard::python::bind_switches(m);
    railyard::python::bind_arrays(m);
    railyard::python::bind_hosts(m);
    railyard::python::bind_tree(m);
    railyard::python::bind_network(m);
#ifdef RAILYARD_LINUX
    railyard::python::bind_wire(m);
#endif
}
