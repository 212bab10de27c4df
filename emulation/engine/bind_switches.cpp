// SPDX-License-Identifier: Apache-2.0
// What a control plane may ask of a set of switches.
#include "bind.h"

namespace railyard {

void bind_switches(nb::module_& m) {
    nb::class_<SwitchSet> switches(m, "SwitchSet", "Switches of one control plane.");
    switches
        .def("add_switch", [](SwitchSet& n, const std::string& name, std::uint32_t cpu_port) {
            const std::lock_guard lock(n.mutex());
            return n.add_switch(name, cpu_port);
        }, nb::arg("name"), nb::arg("cpu_port") = 510)
        .def("set_program", [](SwitchSet& n, int sw, std::shared_ptr<Program> p) { LockedSwitch(n, sw)->set_program(std::move(p)); },
             nb::arg("switch"), nb::arg("program").none())
        .def("reset", [](SwitchSet& n, int sw) {
            const LockedSwitch s(n, sw);
            s->set_program(s->shared_program());
        })
        .def_prop_ro("now", [](SwitchSet& n) { return n.now(); })
        .def("lock", [](SwitchSet& n) {
            const nb::gil_scoped_release free;
            n.mutex().lock();
        })
        .def("unlock", [](SwitchSet& n) { n.mutex().unlock(); })
        .def("packet_out", [](SwitchSet& n, int sw, const nb::bytes& frame) { n.packet_out(sw, view(frame)); })
        .def("take_control", [](SwitchSet& n) -> nb::object {
            const std::lock_guard lock(n.mutex());
            auto& queue = n.control();
            if (queue.empty()) return nb::none();
            const ControlItem item = std::move(queue.front());
            queue.pop_front();
            static const char* const kNames[] = {"packet_in", "port", "alarm", "digest", "idle", "log"};
            return nb::make_tuple(kNames[static_cast<int>(item.kind)], item.time, item.switch_index, item.value, item.up, to_bytes(item.frame));
        });
    bind_tables(switches);
    bind_state(switches);
}

}  // namespace railyard
