# SPDX-License-Identifier: Apache-2.0
"""Light seen by optical switches, and the ports that it excludes."""

from collections.abc import Callable

from controller.circuits.transition import CircuitShortage, circuit_shortages, standing_circuits
from emulation.circuits import CircuitSwitch
from emulation.control.light_monitor import LightMonitor
from topologies import lumos


class Nothing:
    """A floor that is never asked for anything."""

    now_ps = 0

    def at(self, time_ps: int, callback: Callable[[], None]) -> None: ...
    def cut(self, optical: str, low: int, high: int) -> None: ...
    def join(self, optical: str, low: int, high: int) -> None: ...


def test_a_port_has_no_light_when_no_circuit_of_it_could_carry_any() -> None:
    heard: list[tuple[int, bool]] = []
    switch = CircuitSwitch("ocs0", 4, Nothing(), reconfiguration_ps=1)
    switch.on_light = lambda port, lit: heard.append((port, lit))
    switch.set_circuit_up((0, 1), False)
    switch.set_circuit_up((0, 1), False)
    switch.set_circuit_up((0, 2), False)
    assert heard == []
    switch.set_circuit_up((0, 3), False)
    assert heard == [(0, False)]
    switch.set_circuit_up((1, 2), False)
    switch.set_circuit_up((1, 3), False)
    assert heard[1:] == [(1, False)]
    switch.set_circuit_up((0, 1), True)
    assert heard[2:] == [(0, True), (1, True)]


def test_dark_ports_are_named_and_so_are_both_of_a_circuit_that_carries_nothing() -> None:
    fabric, light = lumos(accelerators=4, hb_size=4), LightMonitor()
    assert light.look(fabric, frozenset()) == ""
    for port in range(5):
        light.on_light("ocs0p0", port, False)
    assert light.look(fabric, {"ocs0p0:0-5"}) == "no light at ocs0p0:0, ocs0p0:1, ocs0p0:2 and 2 more ports"
    assert light.unlit_ends(fabric) >= {
        (end.node, end.port) for end in fabric.optical_switch("ocs0p0").ends[:5]
    }
    for port in range(5):
        light.on_light("ocs0p0", port, True)
    assert light.look(fabric, {"ocs0p1:0-6"}) == (
        "no light at ocs0p1:0 and ocs0p1:6; light again at ocs0p0:0, ocs0p0:1, ocs0p0:2 and 2 more ports"
    )
    assert light.dark == {("ocs0p1", 0), ("ocs0p1", 6)}


def test_what_is_lacking_is_dealt_to_the_jobs_that_send_there() -> None:
    fabric = lumos(pods=3, leaves=1, accelerators=4, hb_size=2, ports=4)  # 8 ports a Pod
    jobs = {
        "small": {("gpu0", "gpu4"): 1000},
        "large": {("gpu1", "gpu5"): 2000, ("gpu5", "gpu1"): 1000},
        "other": {("gpu2", "gpu8"): 4000},
    }
    lit = standing_circuits(fabric)
    assert lit.tolist() == [[0, 4, 4], [4, 0, 4], [4, 4, 0]]
    assert circuit_shortages(fabric, jobs, lit) == ()
    down = {link.name for link in fabric.links_between("spine0.0", "spine1.0")}
    assert len(down) == 2
    assert circuit_shortages(fabric, jobs, standing_circuits(fabric, down)) == (
        CircuitShortage("large", (0, 1), 3, 1),
    )
    assert circuit_shortages(fabric, {}, lit) == ()
