# SPDX-License-Identifier: Apache-2.0
"""What faults strike: links, directions of links, and the ways to nodes, found in a fabric by name."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, final

from topologies import HOST_PORT, End, Fabric, Link, Node, TopologyError
from topologies.model.places import boards, domains, planes
from topologies.transform.circuits import circuit_of

__all__ = ["Target", "TargetKind", "LinkDirection", "find_target"]

TargetKind = Literal[
    "link", "direction", "port", "switch", "npu", "gpu", "board", "domain", "plane", "circuit"
]

LinkDirection = tuple[str, int]
"""A link and a direction of it: 0 from its first end to its second, 1 back."""


@final
@dataclass(frozen=True, slots=True)
class Target:
    """What a fault strikes.

    `links` lose their carrier at both ends when it goes down, `ways` lose their frames and keep it, and
    `hosts` are nodes that lose the link to their own side. `name` tells targets, so causes, apart.
    """

    name: str
    links: tuple[str, ...] = ()
    one_way: tuple[LinkDirection, ...] = ()
    hosts: tuple[str, ...] = ()

    @property
    def directions(self) -> tuple[LinkDirection, ...]:
        """All that loss, rate and delay change."""
        return (*((link, direction) for link in self.links for direction in (0, 1)), *self.one_way)


def find_target(fabric: Fabric, kind: TargetKind, name: str | int, source: str | None = None) -> Target:
    """The target of that kind and name; TopologyError when the fabric has none such.

    A direction is `npu0->npu1`, or, when several links join the two, a link's name and the `source` node. A
    port is `npu0:3`, `npu0:host` the one to its own side. What leads to an optical switch is struck with all
    circuits that may be made there. An NPU may be called a GPU and the other way round. A board is the NPUs
    that differ in the first dimension only, counted as NPUs are; a domain is the GPUs of one, idle ones too,
    with their NICs; a plane is the low-radix switches of a rack that links among them join, counted rack
    by rack.
    """
    if source is not None and kind != "direction":
        raise _missing(fabric, f"{kind} {name} from {source}", "only a direction is from somewhere")
    word = str(name)
    match kind:
        case "link":
            return Target(word, links=(fabric.link(word).name,))
        case "circuit":
            return _circuit(fabric, word)
        case "direction":
            return _direction(fabric, word, source)
        case "port":
            return _port(fabric, word)
        case "switch":
            return _switch(fabric, word)
        case "npu" | "gpu":
            return _npu(fabric, word)
        case "board":
            return _one_of(fabric, kind, name, boards(fabric))
        case "domain":
            return _one_of(fabric, kind, name, domains(fabric))
        case "plane":
            return _one_of(fabric, kind, name, planes(fabric))


def _missing(fabric: Fabric, what: str, remedy: str) -> TopologyError:
    return TopologyError(f"fabric {fabric.name}: no {what}", remedy=remedy)


def _circuit(fabric: Fabric, word: str) -> Target:
    """One that is not among the links yet, but may be made, is found too."""
    name, _, ports = word.rpartition(":")
    low, _, high = ports.partition("-")
    if not (name and low.isdecimal() and high.isdecimal()):
        raise _missing(fabric, f"circuit named {word!r}", "write SWITCH:PORT-PORT, such as ocs0:3-7")
    last = len(fabric.optical_switch(name).ends) - 1
    if not int(low) < int(high) <= last:
        raise _missing(fabric, f"circuit {word}", f"name two ports of 0 to {last}, the lower one first")
    link = f"{name}:{int(low)}-{int(high)}"
    return Target(link, links=(link,))


def _direction(fabric: Fabric, word: str, source: str | None) -> Target:
    near, arrow, far = (part.strip() for part in word.partition("->"))
    if not arrow:
        link = fabric.link(word)
        if source is None:
            raise TopologyError(
                f"direction {word}: which way is not said",
                remedy=f"write {link.a.node}->{link.b.node}, or add `from:`",
            )
        return _way(fabric, link, source)
    if source is not None:
        raise TopologyError(
            f"direction {word} from {source}: says twice where from", remedy="leave `from:` out"
        )
    fabric.port_to(near, far)  # raises when they are no neighbours
    found = _between(fabric, near, far)
    if len(found) > 1:
        raise TopologyError(
            f"direction {word}: {len(found)} links lead there",
            remedy=f"name one of {', '.join(link.name for link in found)} and add `from: {near}`",
        )
    return _way(fabric, found[0], near)


def _way(fabric: Fabric, link: Link, source: str) -> Target:
    far = link.far(source).node
    alone = len(_between(fabric, source, far)) == 1
    name = f"{source}->{far}" if alone else f"{source}->{far} of {link.name}"
    return Target(name, one_way=((link.name, 0 if source == link.a.node else 1),))


def _between(fabric: Fabric, near: str, far: str) -> list[Link]:
    return [link for link in fabric.links if {link.a.node, link.b.node} == {near, far}]


def _port(fabric: Fabric, word: str) -> Target:
    name, colon, number = word.rpartition(":")
    if not colon or not (number == "host" or number.isdecimal()):
        raise _missing(fabric, f"port named {word!r}", "write NODE:PORT, such as npu0:3")
    if any(optical.name == name for optical in fabric.optical):
        ends = fabric.optical_switch(name).ends
        if number == "host" or int(number) >= len(ends):
            raise _missing(fabric, f"port {number} on {name}", f"{name} has 0 to {len(ends) - 1}")
        return Target(word, links=tuple(_fibres(fabric, ends[int(number)].__eq__)))
    node = fabric.node(name)
    port = HOST_PORT if number == "host" else int(number)
    if port not in (one.number for one in node.ports):
        some = ", ".join(str(one.number) for one in node.ports)
        raise _missing(fabric, f"port {port} on {name}", f"{name} has {some}")
    if port == HOST_PORT:
        return Target(f"{name}:host", hosts=(name,))
    links = tuple(_leading_to(fabric, End(name, port).__eq__))
    if not links:
        raise _missing(fabric, f"link on port {port} of {name}", "name a port that has a link")
    return Target(f"{name}:{port}", links=links)


def _switch(fabric: Fabric, word: str) -> Target:
    if any(optical.name == word for optical in fabric.optical):
        ends = set(fabric.optical_switch(word).ends)
        return Target(word, links=tuple(_fibres(fabric, ends.__contains__)))
    return _nodes(fabric, word, [fabric.node(word)])


def _npu(fabric: Fabric, word: str) -> Target:
    node = fabric.node(word)
    if not (node.kind.member or node.kind.spare):
        raise TopologyError(
            f"fabric {fabric.name}: {word} is no NPU but {node.kind}", remedy=f"write `switch: {word}`"
        )
    return _nodes(fabric, word, [node])


def _nodes(fabric: Fabric, name: str, nodes: Sequence[Node]) -> Target:
    """All that leads to these nodes, their own sides too."""
    names = {node.name for node in nodes}
    return Target(
        name,
        links=tuple(_leading_to(fabric, lambda end: end.node in names)),
        hosts=tuple(node.name for node in nodes if any(port.number == HOST_PORT for port in node.ports)),
    )


def _leading_to(fabric: Fabric, struck: Callable[[End], bool]) -> Iterator[str]:
    for link in fabric.links:
        if circuit_of(fabric, link.name) is None and (struck(link.a) or struck(link.b)):
            yield link.name
    yield from _fibres(fabric, struck)


def _fibres(fabric: Fabric, struck: Callable[[End], bool]) -> Iterator[str]:
    """All circuits over the fibres to these ends, whether they stand or not."""
    for optical in fabric.optical:
        for low, high in combinations(range(len(optical.ends)), 2):
            if struck(optical.ends[low]) or struck(optical.ends[high]):
                yield f"{optical.name}:{low}-{high}"


def _one_of(fabric: Fabric, kind: str, number: str | int, groups: Sequence[Sequence[Node]]) -> Target:
    if not groups:
        raise _missing(fabric, f"{kind} {number}", f"it has no {kind}s; take another target")
    if not isinstance(number, int) or not 0 <= number < len(groups):
        raise _missing(fabric, f"{kind} {number}", f"its {kind}s are 0 to {len(groups) - 1}")
    return _nodes(fabric, f"{kind} {number}", groups[number])
