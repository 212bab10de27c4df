# SPDX-License-Identifier: Apache-2.0
"""The fabric with other circuits of its optical switches."""

from collections.abc import Mapping
from dataclasses import replace

from topologies.model import Fabric
from topologies.model.circuits import circuit_link, circuits_of, crossconnect

__all__ = ["with_circuits", "with_maps"]


def with_circuits(fabric: Fabric, name: str, joined: Mapping[int, int]) -> Fabric:
    """Return the fabric whose optical switch `name` joins these ports alone.

    Circuits come after all other links, in the order of the fabric's optical switches and of their ports, so
    that it does not show in what order the switches came to be as they are. Nothing but `joined` is checked.
    """
    return with_maps(fabric, {name: joined})


def with_maps(fabric: Fabric, changed: Mapping[str, Mapping[int, int]]) -> Fabric:
    """Return the fabric with other maps for some optical switches, by name; the rest stay."""
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
