# SPDX-License-Identifier: Apache-2.0
"""Targets of faults: links, directions of links, and nodes, found in a fabric by kind and name.

`TARGET_KINDS` declares every kind once; a scenario's keys and checks come from it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from types import MappingProxyType
from typing import final

from topologies import HOST_PORT, End, Fabric, Link, Node, TopologyError
from topologies.model.circuits import circuit_of
from topologies.model.places import boards, domains, nic_planes, planes

__all__ = ["LinkDirection", "TARGET_KINDS", "Target", "TargetKind", "find_target"]

LinkDirection = tuple[str, int]
"""Link name, and direction: 0 from the link's first end to its second, 1 the reverse."""


@final
@dataclass(frozen=True, slots=True)
class Target:
    """Everything affected by a fault.

    When the target goes down, `links` lose their carrier at both ends, `one_way` directions lose their frames
    and keep the carrier, `hosts` are nodes that lose the link to their host, and `nodes` lose their power.
    `name` identifies the cause if several targets hold a link or node down.
    """

    name: str
    links: tuple[str, ...] = ()
    one_way: tuple[LinkDirection, ...] = ()
    hosts: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()

    @property
    def directions(self) -> tuple[LinkDirection, ...]:
        """All directions that loss, rate and delay change."""
        return (*((link, direction) for link in self.links for direction in (0, 1)), *self.one_way)


@final
@dataclass(frozen=True, slots=True)
class TargetKind:
    """A kind of target: `find` returns a target by its name; `numbered` names are integers from 0."""

    find: Callable[[Fabric, str | int, str | None], Target]
    numbered: bool = False


def find_target(fabric: Fabric, kind: str, name: str | int, source: str | None = None) -> Target:
    """Return the target of a kind and name; TopologyError if the fabric has no such target.

    A direction is `npu0->npu1` or, if several links join the two nodes, a link's name and the `source` node.
    A port is `npu0:3`, and `npu0:host` the port to the node's host. A target with fibres to an optical switch
    includes all circuits that may be set up over these fibres. `npu` and `gpu` are synonyms. A board is
    the NPUs that differ in the first dimension only; a domain is the GPUs of a high-bandwidth domain, idle
    GPUs included, with their NICs; a plane is a set of low-radix switches of a rack joined by links. Boards,
    domains and planes are numbered from 0. A group is the nodes of a user's graph whose attribute `group`
    has this value, such as a server or a rack.
    """
    if source is not None and kind != "direction":
        raise _missing(fabric, f"{kind} {name} from {source}", "give `from` only for a direction of a link")
    if kind not in TARGET_KINDS:
        raise _missing(fabric, f"target of kind {kind}", f"take one of {', '.join(TARGET_KINDS)}")
    return TARGET_KINDS[kind].find(fabric, name if TARGET_KINDS[kind].numbered else str(name), source)


def _missing(fabric: Fabric, what: str, remedy: str) -> TopologyError:
    return TopologyError(f"fabric {fabric.name}: no {what}", remedy=remedy)


def _circuit(fabric: Fabric, word: str | int, _: str | None) -> Target:
    """Find a possible circuit, set up or not."""
    name, _, ports = str(word).rpartition(":")
    low, _, high = ports.partition("-")
    if not (name and low.isdecimal() and high.isdecimal()):
        raise _missing(fabric, f"circuit named {word!r}", "write SWITCH:PORT-PORT, such as ocs0:3-7")
    last = len(fabric.optical_switch(name).ends) - 1
    if not int(low) < int(high) <= last:
        raise _missing(fabric, f"circuit {word}", f"name two ports of 0 to {last}, the lower one first")
    link = f"{name}:{int(low)}-{int(high)}"
    return Target(link, links=(link,))


def _link(fabric: Fabric, word: str | int, _: str | None) -> Target:
    return Target(str(word), links=(fabric.link(str(word)).name,))


def _direction(fabric: Fabric, word: str | int, source: str | None) -> Target:
    word = str(word)
    sender, arrow, receiver = (part.strip() for part in word.partition("->"))
    if not arrow:
        link = fabric.link(word)
        if source is None:
            raise TopologyError(
                f"link {word} has two directions, and none is chosen",
                remedy=f"write {link.a.node}->{link.b.node}, or add `from:`",
            )
        return _one_way(fabric, link, source)
    if source is not None:
        raise TopologyError(
            f"direction {word} from {source} names its source twice", remedy="leave `from:` out"
        )
    fabric.port_to(sender, receiver)  # raises if the nodes are not neighbours
    links = _between(fabric, sender, receiver)
    if len(links) > 1:
        raise TopologyError(
            f"direction {word}: {len(links)} links lead there",
            remedy=f"name one of {', '.join(link.name for link in links)} and add `from: {sender}`",
        )
    return _one_way(fabric, links[0], sender)


def _one_way(fabric: Fabric, link: Link, source: str) -> Target:
    receiver = link.far(source).node
    alone = len(_between(fabric, source, receiver)) == 1
    name = f"{source}->{receiver}" if alone else f"{source}->{receiver} of {link.name}"
    return Target(name, one_way=((link.name, 0 if source == link.a.node else 1),))


def _between(fabric: Fabric, source: str, destination: str) -> list[Link]:
    return [link for link in fabric.links if {link.a.node, link.b.node} == {source, destination}]


def _port(fabric: Fabric, word: str | int, _: str | None) -> Target:
    word = str(word)
    name, colon, number = word.rpartition(":")
    if not colon or not (number == "host" or number.isdecimal()):
        raise _missing(fabric, f"port named {word!r}", "write NODE:PORT, such as npu0:3")
    if any(optical.name == name for optical in fabric.optical):
        ends = fabric.optical_switch(name).ends
        if number == "host" or int(number) >= len(ends):
            raise _missing(fabric, f"port {number} on {name}", f"{name} has 0 to {len(ends) - 1}")
        return Target(word, links=tuple(_fibres(fabric, ends[int(number)].__eq__)))
    node = fabric.node(name)
    number = HOST_PORT if number == "host" else int(number)
    numbers = [port.number for port in node.ports]
    if number not in numbers:
        raise _missing(fabric, f"port {number} on {name}", f"{name} has {', '.join(map(str, numbers))}")
    if number == HOST_PORT:
        return Target(f"{name}:host", hosts=(name,))
    links = tuple(_leading_to(fabric, End(name, number).__eq__))
    if not links:
        raise _missing(fabric, f"link on port {number} of {name}", "name a port that has a link")
    return Target(f"{name}:{number}", links=links)


def _switch(fabric: Fabric, word: str | int, _: str | None) -> Target:
    word = str(word)
    if any(optical.name == word for optical in fabric.optical):
        ends = set(fabric.optical_switch(word).ends)
        return Target(word, links=tuple(_fibres(fabric, ends.__contains__)))
    return _nodes(fabric, word, [fabric.node(word)])


def _npu(fabric: Fabric, word: str | int, _: str | None) -> Target:
    word = str(word)
    node = fabric.node(word)
    if not (node.kind.member or node.kind.spare):
        raise TopologyError(
            f"fabric {fabric.name}: {word} is no NPU but {node.kind}", remedy=f"write `switch: {word}`"
        )
    return _nodes(fabric, word, [node])


def _nodes(fabric: Fabric, name: str, nodes: Sequence[Node]) -> Target:
    """Return the target of nodes that fail with all their links and the links to their hosts."""
    names = {node.name for node in nodes}
    return Target(
        name,
        links=tuple(_leading_to(fabric, lambda end: end.node in names)),
        hosts=tuple(node.name for node in nodes if any(port.number == HOST_PORT for port in node.ports)),
        nodes=tuple(node.name for node in nodes),
    )


def _leading_to(fabric: Fabric, struck: Callable[[End], bool]) -> Iterator[str]:
    """Yield the links and possible circuits with an end for which `struck` is true."""
    for link in fabric.links:
        if circuit_of(fabric, link.name) is None and (struck(link.a) or struck(link.b)):
            yield link.name
    yield from _fibres(fabric, struck)


def _fibres(fabric: Fabric, struck: Callable[[End], bool]) -> Iterator[str]:
    """Yield all possible circuits, set up or not, with an end for which `struck` is true."""
    for optical in fabric.optical:
        for low, high in combinations(range(len(optical.ends)), 2):
            if struck(optical.ends[low]) or struck(optical.ends[high]):
                yield f"{optical.name}:{low}-{high}"


def _group(
    kind: str,
    groups_of: Callable[[Fabric], Sequence[Sequence[Node]]],
    fabric: Fabric,
    number: str | int,
    _: str | None,
) -> Target:
    groups = groups_of(fabric)
    if not groups:
        raise _missing(fabric, f"{kind} {number}", f"it has no {kind}s; take another target")
    if not isinstance(number, int) or not 0 <= number < len(groups):
        raise _missing(fabric, f"{kind} {number}", f"its {kind}s are 0 to {len(groups) - 1}")
    return _nodes(fabric, f"{kind} {number}", groups[number])


def _named_group(fabric: Fabric, word: str | int, _: str | None) -> Target:
    nodes = [node for node in fabric.nodes if node.group == word]
    if not nodes:
        groups = list(dict.fromkeys(node.group for node in fabric.nodes if node.group))
        remedy = (
            f"its groups are {', '.join(groups[:8])}{' ...' * (len(groups) > 8)}"
            if groups
            else "its nodes have no attribute `group`; take another target"
        )
        raise _missing(fabric, f"group named {word!r}", remedy)
    return _nodes(fabric, f"group {word}", nodes)


def _planes(fabric: Fabric) -> Sequence[Sequence[Node]]:
    return planes(fabric) or nic_planes(fabric)


TARGET_KINDS: Mapping[str, TargetKind] = MappingProxyType(
    {
        "link": TargetKind(_link),
        "direction": TargetKind(_direction),
        "port": TargetKind(_port),
        "switch": TargetKind(_switch),
        "npu": TargetKind(_npu),
        "gpu": TargetKind(_npu),
        "board": TargetKind(partial(_group, "board", boards), numbered=True),
        "domain": TargetKind(partial(_group, "domain", domains), numbered=True),
        "plane": TargetKind(partial(_group, "plane", _planes), numbered=True),
        "group": TargetKind(_named_group),
        "circuit": TargetKind(_circuit),
    }
)
"""Every kind of target by its key in a scenario, in the order in which messages list them."""
