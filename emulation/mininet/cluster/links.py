# SPDX-License-Identifier: Apache-2.0
"""Links of a fabric over several machines, by orders to the parts."""

from collections.abc import Mapping
from typing import final

from emulation.mininet.cabling import jack_at
from emulation.mininet.cluster.cutting import Cut
from emulation.mininet.cluster.session import Session
from emulation.mininet.counters import JackCounters
from emulation.testbed import Impairment

__all__ = ["PartLinks"]


@final
class PartLinks:
    """Links of the whole fabric; `sessions` are the parts by the machine's name."""

    def __init__(self, cut: Cut, sessions: Mapping[str, Session]) -> None:
        self._cut = cut
        self._sessions = sessions

    def set_link(self, name: str, up: bool) -> None:
        """Take a link down or up at every machine that has an end of it."""
        link = self._cut.fabric.link(name)
        machines = dict.fromkeys(self._cut.machine_of[end.node] for end in (link.a, link.b))
        for machine in machines:
            self._sessions[machine].call("set_link", name, up)

    def set_host_link(self, node: str, up: bool) -> None:
        """Take the link of a host down or up."""
        self._of(node).call("set_host_link", node, up)

    def impair(self, name: str, direction: int, how: Impairment) -> None:
        """Impair a direction of a link at the machine of its sender."""
        link = self._cut.fabric.link(name)
        sender = link.b.node if direction == 1 else link.a.node
        self._of(sender).call("impair", name, direction, how)

    def counters(self) -> Mapping[str, JackCounters]:
        """Return the counters of every jack; those of tunnels are left out."""
        merged: dict[str, JackCounters] = {}
        tunnels = {
            (self._cut.machine_of[own.node], jack_at(other))
            for link in self._cut.crossing
            for own, other in ((link.a, link.b), (link.b, link.a))
        }
        for machine, session in self._sessions.items():
            counted = session.call("counters")
            merged |= {name: jack for name, jack in counted.items() if (machine, name) not in tunnels}
        return merged

    def _of(self, node: str) -> Session:
        return self._sessions[self._cut.machine_of[self._cut.fabric.node(node).name]]
