# SPDX-License-Identifier: Apache-2.0
"""The core of a LumosCore fabric: groups of optical switches, their wiring to spines, and their circuits.

Spine h of every Pod is in group h. It has K ports (K even, counted from 0) to the optical switches of the
group, by one of three wirings. Switches 2k and 2k + 1 of a group are pair k. `maps[h][k][i] = j` means: in
group h, switch or pair k joins Pod i to Pod j; -1 is dark.

    cross      Tx of port 2k leads to switch 2k, and Rx comes from switch 2k + 1; for port 2k + 1 the other
               way round. A circuit of pair k joins the even port of Pod i with the odd port of Pod j
    uniform    Tx and Rx of port k are on switch k. A circuit joins port k of two Pods; the map has both
               directions
    dual-link  Tx and Rx of both ports of pair k are on switch k, which needs a port for each. A switch of
               equal size serves half as many Pods (recalled from the paper, unverified). Maps as for cross

Cross wiring is derived from the authors' solver, which sets the odd switch of a pair to the transpose of the
even switch. Therefore a pair is one `OpticalSwitch` here, with duplex ports. For P Pods, port i is the even
port 2k of Pod i's spine, and port P + j is the odd port 2k + 1 of Pod j's spine; a circuit joins an even port
and an odd port.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

from topologies.errors import TopologyError
from topologies.model import Fabric, OpticalSwitch
from topologies.model.circuits import both_ways, circuits_of, crossconnect
from topologies.model.computed_once import computed_once
from topologies.transform import circuits as optical

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "DARK",
    "Core",
    "Maps",
    "WiringOfPorts",
    "check_wiring",
    "circulant",
    "core_of",
    "crossconnects",
    "crossconnects_of",
    "maps_of",
    "physical",
    "switch_name",
    "with_maps",
]

WiringOfPorts = Literal["cross", "uniform", "dual-link"]

# Value of a port without a circuit, in a map from ports to peers.
DARK = -1

Maps: TypeAlias = "Sequence[Sequence[Sequence[int]]] | NDArray[np.integer[Any]]"
"""`maps[h][k][i] = j`: in group h, switch or pair k joins Pod i to Pod j; -1 is dark."""

_NAMED = re.compile(r"ocs(\d+)([p.])(\d+)")

# Name of an optical switch and number of its port.
_Place = tuple[str, int]


@final
@dataclass(frozen=True, slots=True)
class Core:
    """Core of a fabric; `groups[h]` has the optical switches of group h, with cross wiring the pairs."""

    wiring: str
    pods: int
    groups: tuple[tuple[OpticalSwitch, ...], ...]

    @property
    def ports(self) -> int:
        """Number of ports of a spine that lead to optical switches."""
        return len(self.groups[0]) * (1 if self.wiring == "uniform" else 2)


def switch_name(wiring: str, group: int, number: int) -> str:
    """Return the name of switch K of group H, `ocsH.K`; with cross wiring `ocsHpK`, of pair K."""
    return f"ocs{group}p{number}" if wiring == "cross" else f"ocs{group}.{number}"


@computed_once
def core_of(fabric: Fabric) -> Core:
    """Return the core of a fabric; TopologyError when it has no groups of optical switches."""
    groups: dict[int, list[OpticalSwitch]] = {}
    named = [(_NAMED.fullmatch(switch.name), switch) for switch in fabric.optical]
    for match, switch in named:
        if match is None:
            raise TopologyError(
                f"fabric {fabric.name}: {switch.name} belongs to no group of optical switches",
                remedy="use a fabric of the family lumos",
            )
        groups.setdefault(int(match[1]), []).append(switch)
    if not groups:
        raise TopologyError(
            f"fabric {fabric.name} has no optical switches", remedy="use a fabric of the family lumos"
        )
    first = groups[min(groups)][0]
    pods = len({end.node for end in first.ends})
    twice = len(first.ends) > pods
    wiring = "uniform" if not twice else "cross" if ("p" in first.name) else "dual-link"
    return Core(wiring, pods, tuple(tuple(groups[number]) for number in sorted(groups)))


def circulant(wiring: str, pods: int, spines: int, ports: int) -> list[list[list[int]]]:
    """Return maps, equal for all groups, with nearly equal numbers of circuits between all pairs of Pods.

    Of P Pods, switch or pair k joins Pod i to the Pod 1 + k mod (P - 1) after it. With uniform wiring, switch
    k joins the pairs of round k of a round-robin tournament; with an odd number of Pods, each round leaves
    one Pod out.
    """
    if wiring == "uniform":
        group = [_round(pods, k) for k in range(ports)]
    else:
        group = [[(i + 1 + k % (pods - 1)) % pods for i in range(pods)] for k in range(ports // 2)]
    return [[list(row) for row in group] for _ in range(spines)]


def _round(pods: int, number: int) -> list[int]:
    """Return the opponent of each Pod in a round of a round-robin tournament, DARK for a Pod without one.

    If the number of Pods is even, the last Pod stays and the others rotate (circle method).
    """
    turning = pods - 1 if pods % 2 == 0 else pods
    opponents = [(2 * number - i) % turning for i in range(turning)]
    opponents = [DARK if i == j else j for i, j in enumerate(opponents)]
    if turning < pods:
        alone = opponents.index(DARK)
        opponents[alone] = turning
        opponents.append(alone)
    return opponents


def with_maps(fabric: Fabric, maps: Maps) -> Fabric:
    """Return the fabric with the circuits of `maps` alone; TopologyError names an invalid switch and port."""
    return optical.with_maps(fabric, _joined_ports(fabric, maps))


def crossconnects_of(fabric: Fabric, maps: Maps) -> dict[str, dict[int, int]]:
    """Return the `crossconnects` that the fabric would have with the circuits of `maps` alone."""
    joined = _joined_ports(fabric, maps)
    return {
        switch.name: both_ways(circuits_of(switch.name, len(switch.ends), joined[switch.name]))
        for switch in fabric.optical
    }


def _joined_ports(fabric: Fabric, maps: Maps) -> dict[str, dict[int, int]]:
    core = core_of(fabric)
    rows = len(core.groups[0])
    if len(maps) != len(core.groups) or any(len(group) != rows for group in maps):
        raise TopologyError(
            f"{len(maps)} maps were given for {len(core.groups)} groups",
            remedy=f"give {len(core.groups)} maps of {rows} rows each",
        )
    joined: dict[str, dict[int, int]] = {}
    for group, switches in zip(maps, core.groups, strict=True):
        for row, switch in zip(group, switches, strict=True):
            joined[switch.name] = _joined(core, switch.name, [int(to) for to in row])
    return joined


def _joined(core: Core, name: str, row: Sequence[int]) -> dict[int, int]:
    if len(row) != core.pods:
        raise TopologyError(
            f"{name}: the map has {len(row)} Pods instead of {core.pods}", remedy=f"give one for {core.pods}"
        )
    for i, j in enumerate(row):
        if not DARK <= j < core.pods:
            raise TopologyError(
                f"{name}: port {i} leads to Pod {j}, which does not exist",
                remedy=f"give a Pod from 0 to {core.pods - 1}, or {DARK} for a dark port",
            )
        if i == j:
            raise TopologyError(f"{name}: port {i} leads to its own Pod", remedy=f"leave it dark, {DARK}")
        if core.wiring == "uniform" and j != DARK and row[j] != i:
            raise TopologyError(
                f"{name}: port {i} leads to {j}, but port {j} leads to {row[j]}",
                remedy="with uniform wiring give each circuit in both directions",
            )
    odd = 0 if core.wiring == "uniform" else core.pods
    return {i: odd + j for i, j in enumerate(row) if j != DARK}


def crossconnects(fabric: Fabric) -> dict[str, dict[int, int]]:
    """Return the peer port of each joined port, by optical switch, for both ports of each circuit."""
    return {switch.name: crossconnect(fabric, switch.name) for switch in fabric.optical}


def maps_of(fabric: Fabric) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """Return the maps of the fabric's circuits: the inverse of `with_maps`."""
    core = core_of(fabric)
    return tuple(tuple(_row(fabric, core, switch.name) for switch in group) for group in core.groups)


def _row(fabric: Fabric, core: Core, name: str) -> tuple[int, ...]:
    joined, pods = crossconnect(fabric, name), core.pods
    if core.wiring == "uniform":
        return tuple(joined.get(i, DARK) for i in range(pods))
    for low, high in joined.items():
        if (low < pods) == (high < pods):
            kind = "even" if low < pods else "odd"
            raise TopologyError(
                f"{name}: ports {low} and {high} are both {kind}", remedy="join an even one with an odd one"
            )
    return tuple(joined[i] - pods if i in joined else DARK for i in range(pods))


def physical(fabric: Fabric) -> dict[str, dict[int, int]]:
    """Return the Rx fibre of each lit Tx fibre, by physical optical switch.

    Switch K of group H is `ocsH.K`. With cross and uniform wiring a switch has one fibre to and one from each
    Pod; with dual-link wiring it has two, the second for the odd ports.
    """
    core = core_of(fabric)
    settings: dict[str, dict[int, int]] = {}
    for h, group in enumerate(maps_of(fabric)):
        for k, row in enumerate(group):
            there = {i: j for i, j in enumerate(row) if j != DARK}
            back = {j: i for i, j in there.items()}
            match core.wiring:
                case "cross":
                    settings[_built(h, 2 * k)], settings[_built(h, 2 * k + 1)] = there, back
                case "uniform":
                    settings[_built(h, k)] = there
                case _:
                    odd = core.pods
                    there = {i: odd + j for i, j in there.items()}
                    settings[_built(h, k)] = there | {j: i for i, j in there.items()}
    return settings


def check_wiring(fabric: Fabric, switches: Mapping[str, Mapping[int, int]] | None = None) -> None:
    """Raise TopologyError unless both directions of every electrical port lead to the same peer.

    `switches` are the settings of the optical switches, by default the result of `physical`. Each setting has
    to be a partial permutation. With cross wiring this implies that switch 2k + 1 is the transpose of switch
    2k.
    """
    core = core_of(fabric)
    set_to = physical(fabric) if switches is None else switches
    fibres = core.pods * (2 if core.wiring == "dual-link" else 1)
    from_: dict[_Place, int] = {}
    for name, leads in set_to.items():
        for tx, rx in leads.items():
            for port in (tx, rx):
                if not 0 <= port < fibres:
                    raise TopologyError(
                        f"{name} has no port {port}", remedy=f"give a port from 0 to {fibres - 1}"
                    )
            if (other := from_.setdefault((name, rx), tx)) != tx:
                raise TopologyError(
                    f"{name}: ports {other} and {tx} both lead to port {rx}",
                    remedy="let at most one port lead there",
                )
    ends = {end: _fibres(core, *end) for end in _electrical(core)}
    talking = {tx: end for end, (tx, _) in ends.items()}
    hearing = {rx: end for end, (_, rx) in ends.items()}
    for (group, number, pod), (tx, rx) in ends.items():
        out = set_to.get(tx[0], {}).get(tx[1])
        source = from_.get(rx)
        to = None if out is None else hearing[tx[0], out]
        by = None if source is None else talking[rx[0], source]
        if to != by:
            raise TopologyError(
                f"port {number} of {_spine(group, pod)} sends to {_words(to)} by port {tx[1]} of {tx[0]}, "
                f"but receives from {_words(by)} by port {rx[1]} of {rx[0]}",
                remedy="give both directions of a port the same peer",
            )


def _electrical(core: Core) -> Iterator[tuple[int, int, int]]:
    """Yield (group, port, Pod) of all ports of spines to optical switches."""
    for group in range(len(core.groups)):
        for number in range(core.ports):
            for pod in range(core.pods):
                yield group, number, pod


def _fibres(core: Core, group: int, number: int, pod: int) -> tuple[_Place, _Place]:
    """Return the two optical ports of a spine's port: the first for sending, the second for receiving."""
    match core.wiring:
        case "cross":
            return (_built(group, number), pod), (_built(group, number ^ 1), pod)
        case "uniform":
            optical_port = _built(group, number), pod
        case _:
            optical_port = _built(group, number // 2), pod + core.pods * (number % 2)
    return optical_port, optical_port


def _built(group: int, number: int) -> str:
    return f"ocs{group}.{number}"


def _spine(group: int, pod: int) -> str:
    return f"spine{pod}.{group}"


def _words(end: tuple[int, int, int] | None) -> str:
    return "nobody" if end is None else f"port {end[1]} of {_spine(end[0], end[2])}"
