# SPDX-License-Identifier: Apache-2.0
"""Replacements for a failed node, the smallest change first, or the reason why there is none.

In a rack with spares, a spare NPU replaces an NPU. In domains of GPUs the order is (Rail-only, faults; the
order is derived here):

    1. if the GPU's rail switch has failed: a spare rail switch, to which the optical switches of all domains
       turn the circuits of the rail
    2. an idle GPU of the same domain, which an optical switch connects to the rail
    3. if the GPU works but its links to the network are down: a spare rail switch, as in 1
    4. an idle domain, which replaces the whole domain, each GPU by the GPU of equal rank
"""

from collections.abc import Callable, Container, Iterator, Mapping, Set
from itertools import chain

from topologies.model import Fabric, Node
from topologies.model.circuits import crossconnect
from topologies.model.places import nic_ports
from topologies.transform.spares import Replacement, cut_from, idle_switches, replaced, spares_for, standbys

__all__ = ["advice", "remedies", "serves", "why_none"]

IsGone = Callable[[str], bool]


def remedies(
    fabric: Fabric, lost: str, *, holders: Mapping[str, str], down: Set[str], is_gone: IsGone
) -> Iterator[Replacement]:
    """Yield replacements in order of preference; the caller checks if their spares are free and useful.

    Args:
        fabric: the fabric with the failed node.
        lost: the failed node.
        holders: current replacement of each node replaced before.
        down: names of links known to have failed.
        is_gone: whether a node has failed.
    """
    leaves = _leaves(fabric, lost)
    failed_leaves = [leaf for leaf in leaves if is_gone(leaf)]
    yield from chain.from_iterable(_by_switch(fabric, leaf) for leaf in failed_leaves)
    for spare in spares_for(fabric, lost):
        circuits = _turned(fabric, lost, spare)
        if circuits or not leaves:
            yield Replacement({lost: spare}, circuits)
    if not failed_leaves and not is_gone(lost) and cut_from(fabric, lost, down) == "network":
        yield from chain.from_iterable(_by_switch(fabric, leaf) for leaf in leaves)
    if _two_sided(fabric, lost):
        original = next((name for name, holder in holders.items() if holder == lost), lost)
        for spares in _idle_domains(fabric, original).values():
            yield Replacement(
                {
                    holders.get(member.name, member.name): spares[member.coordinates[0]]
                    for member in _near(fabric, original)
                }
            )


def serves(fabric: Fabric, lost: str, replacement: Replacement, *, down: Set[str], is_gone: IsGone) -> bool:
    """Return whether nodes put in place of `lost` would have working links to their domain and network.

    `down` are names of failed links; new circuits count as intact. Always True in a fabric without NICs.
    """
    healed = (replacement.places.get(lost, lost), *replacement.places.values())
    concerned = [name for name in healed if _two_sided(fabric, name)]
    if not concerned:
        return True
    after = replaced(fabric, replacement)
    known = {link.name for link in fabric.links}
    failed = {
        link.name
        for name in concerned
        for port in after.node(name).ports
        if (link := after.link_at(name, port.number)) is not None
        and ((link.name in known and link.name in down) or is_gone(link.far(name).node))
    }
    return not any(cut_from(after, name, failed) for name in concerned)


def why_none(fabric: Fabric, lost: str, *, used: Container[str], is_gone: IsGone) -> str:
    """Return the reason why nothing can replace the failed node `lost`, as text for a message.

    `used` are the spares in use; `is_gone` says whether a node has failed.
    """

    def state(name: str) -> str:
        return "used already" if name in used else "gone" if is_gone(name) else ""

    spares = spares_for(fabric, lost)
    leaves = _leaves(fabric, lost)
    if not _two_sided(fabric, lost):
        said = [f"{name} is {state(name) or 'of no use'}" for name in spares]
        return " and ".join(said) or "its rack has no spare NPU"
    failed_leaves = [leaf for leaf in leaves if is_gone(leaf)]
    said = []
    if failed_leaves:
        return (
            f"{' and '.join(failed_leaves)} {'is' if len(failed_leaves) == 1 else 'are'} gone, "
            "with no spare rail switch left"
        )
    for spare in spares:
        if words := state(spare):
            said.append(f"{spare} is {words}")
        elif _turned(fabric, lost, spare):
            said.append(f"{spare} has no way to that rail")
        else:
            own = " and ".join(_leaves(fabric, spare))
            said.append(f"no optical switch could lead {spare} from {own} to {' and '.join(leaves)}")
    said = said or ["its domain has no idle GPU"]
    idle_domains = _idle_domains(fabric, lost)
    for domain, members in idle_domains.items():
        taken = any(name in used for name in members.values())
        said.append(f"domain {domain} is used already" if taken else f"domain {domain} has lost GPUs itself")
    return " and ".join([*said, *([] if idle_domains else ["there is no idle domain"])])


def advice(fabric: Fabric) -> str:
    """Return the remedy for a fabric without a replacement: what to add to the fabric."""
    if any(_two_sided(fabric, node.name) for node in fabric.nodes):
        return "give the fabric optical switches with idle GPUs or spare rail switches, or idle domains"
    return "give the fabric more spare NPUs"


def _two_sided(fabric: Fabric, name: str) -> bool:
    return bool(nic_ports(fabric.node(name)))


def _leaves(fabric: Fabric, name: str) -> list[str]:
    """Return the switches to which the NIC ports of an endpoint lead."""
    ends = (fabric.peer(name, port) for port in nic_ports(fabric.node(name)))
    return [end.node for end in ends if end is not None]


def _by_switch(fabric: Fabric, switch: str) -> Iterator[Replacement]:
    for idle in idle_switches(fabric):
        if circuits := _turned(fabric, switch, idle):
            yield Replacement({switch: idle}, circuits)


def _turned(fabric: Fabric, lost: str, spare: str) -> dict[str, dict[int, int]]:
    """Return the crossconnect maps, by optical switch, to move every circuit of `lost` to `spare`.

    Empty when no optical switch leads to both, or when `lost` has no circuit.
    """
    maps: dict[str, dict[int, int]] = {}
    for optical in fabric.optical:
        port_of = {end.node: port for port, end in enumerate(optical.ends)}
        if lost not in port_of or spare not in port_of:
            continue
        joined = crossconnect(fabric, optical.name)
        neighbour = joined.pop(port_of[lost], None)
        if neighbour is not None:
            joined.pop(joined.pop(port_of[spare], -1), None)
            joined |= {neighbour: port_of[spare], port_of[spare]: neighbour}
            maps[optical.name] = joined
    return maps


def _near(fabric: Fabric, name: str) -> list[Node]:
    """Return the members of the domain of a node."""
    domain = fabric.node(name).coordinates[1:]
    return [node for node in fabric.nodes if node.kind.member and node.coordinates[1:] == domain]


def _idle_domains(fabric: Fabric, member: str) -> dict[str, dict[int, str]]:
    """Return the spares of domains without members, as {domain: {rank: spare}}.

    Domains in the segment of `member` come first. The key of a domain is its number, or "SEGMENT.HOST" (both
    numbers) in a fabric with segments.
    """
    segment = fabric.node(member).coordinates[2:]
    members = {node.coordinates[1:] for node in fabric.nodes if node.kind.member}
    ranks = {node.coordinates[0] for node in fabric.nodes if node.kind.member}
    idle: dict[str, dict[int, str]] = {}
    for name in sorted(standbys(fabric), key=lambda name: fabric.node(name).coordinates[2:] != segment):
        node = fabric.node(name)
        if nic_ports(node) and node.coordinates[1:] not in members and node.coordinates[0] in ranks:
            domain = ".".join(map(str, reversed(node.coordinates[1:])))
            idle.setdefault(domain, {})[node.coordinates[0]] = name
    return idle
