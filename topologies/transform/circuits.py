# SPDX-License-Identifier: Apache-2.0
"""Fabrics with other circuits of their optical switches."""

from collections.abc import Mapping
from dataclasses import replace

from topologies.model import Fabric
from topologies.model.circuits import circuit_link, circuits_of, crossconnect

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
    return replace(fabric, links=tuple(links))
