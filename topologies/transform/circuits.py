# SPDX-License-Identifier: Apache-2.0
"""Fabrics with other circuits of their optical switches."""

from collections.abc import Mapping

from topologies.model import Fabric
from topologies.model.circuits import circuit_link, circuits_of, crossconnect
from topologies.model.computed_once import computed_for_any_circuits

__all__ = ["with_circuits", "with_maps"]


def with_circuits(fabric: Fabric, name: str, joined: Mapping[int, int]) -> Fabric:
    """Return the fabric whose optical switch `name` joins the ports of `joined` and no others.

    `joined` maps a port to its peer; nothing else is checked. Circuits follow all other links, sorted by
    optical switch and port, so that the result does not depend on the order of changes.
    """
    return with_maps(fabric, {name: joined})


def with_maps(fabric: Fabric, changed: Mapping[str, Mapping[int, int]]) -> Fabric:
    """Return the fabric with other crossconnect maps for some optical switches.

    `changed` has the new maps by name of the switch; all other switches keep their circuits.
    """
    maps: dict[str, Mapping[int, int]] = {
        switch.name: changed[switch.name] if switch.name in changed else crossconnect(fabric, switch.name)
        for switch in fabric.optical
    }
    for name in changed:
        fabric.optical_switch(name)
    fibres = {end for switch in fabric.optical for end in switch.ends}
    links = [link for link in fabric.links if link.a not in fibres]
    for switch in fabric.optical:
        links += [
            circuit_link(fabric, switch.name, circuit)
            for circuit in circuits_of(switch.name, len(switch.ends), maps[switch.name])
        ]
    return fabric.with_links(links, circuits_alone=_join_one_mesh(fabric))


@computed_for_any_circuits
def _join_one_mesh(fabric: Fabric) -> bool:
    """Return whether all circuits join nodes of one tier and level along one dimension."""
    kinds = set()
    for end in (end for switch in fabric.optical for end in switch.ends):
        node = fabric.node(end.node)
        port = next((port for port in node.ports if port.number == end.port), None)
        kinds.add((node.tier, node.level, port and port.dimension))
    return len(kinds) == 1 and kinds.pop()[2] is not None
