# SPDX-License-Identifier: Apache-2.0
"""Plans of the parts of all machines, and the VXLAN tunnels between parts."""

import secrets
from collections.abc import Mapping
from typing import Final, final

from emulation.mininet.cluster.cutting import Cut
from emulation.mininet.cluster.machines import Machines
from emulation.mininet.cluster.orders import PartPlan
from emulation.mininet.links.endpoints import Tunnel
from emulation.mininet.switches.processes import SwitchKind
from topologies import HOST_PORT, End, Link

__all__ = ["Tunnels", "part_plans"]

_IDENTIFIERS: Final = (1 << 24) - 1  # largest VXLAN network identifier; the least is 1


@final
class Tunnels:
    """Tunnels for links between machines, each with a VXLAN network identifier of its own."""

    def __init__(self, cut: Cut, machines: Machines) -> None:
        self._cut = cut
        self._address = {machine.name: machine.address for machine in machines.machines}
        self._port = machines.vxlan_port
        # Random: two runs on the same machines must not share identifiers.
        self._next = secrets.randbelow(_IDENTIFIERS)

    def tunnel(self, link: Link) -> Mapping[str, tuple[End, Tunnel]]:
        """Return, by machine, the end of the link on the other machine and a new tunnel to it."""
        identifier = self._next + 1
        self._next = identifier % _IDENTIFIERS
        ends: dict[str, tuple[End, Tunnel]] = {}
        for own, other in ((link.a, link.b), (link.b, link.a)):
            here, there = self._cut.machine_of[own.node], self._cut.machine_of[other.node]
            local, remote = self._address[here], self._address[there]
            ends[here] = other, Tunnel(identifier, local, remote, self._port)
        return ends


def part_plans(
    cut: Cut,
    tunnels: Tunnels,
    switch: SwitchKind,
    dilation: int,
    mtu: int,
    *,
    ip: bool,
    lanes: bool,
    frame_bytes: int | None = None,
) -> Mapping[str, PartPlan]:
    """Return the plan of every machine's part; each link between machines has a tunnel in two plans."""
    hosts = None
    if ip:
        hosts = [node.address for node in cut.fabric.nodes if any(p.number == HOST_PORT for p in node.ports)]
    ends: dict[str, dict[End, Tunnel]] = {machine: {} for machine in cut.machine_of.values()}
    for link in cut.crossing:
        for machine, (end, tunnel) in tunnels.tunnel(link).items():
            ends[machine][end] = tunnel
    return {
        machine: PartPlan(cut.part(machine), switch, dilation, mtu, hosts, own, lanes, frame_bytes)
        for machine, own in ends.items()
    }
