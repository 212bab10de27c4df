# SPDX-License-Identifier: Apache-2.0
"""Compare a discovered fabric with the planned fabric: which cables are wrong, and where they belong."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, final

from controller.discovery.entries import guid_of
from controller.discovery.scan import Discovered
from topologies import HOST_PORT, End, Fabric

__all__ = ["Finding", "compare_cables"]

Kind = Literal["swapped", "wrong", "missing", "extra", "node"]


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """A difference between the planned fabric and the discovered fabric.

    `ends` are the ports of a wrong cable, empty for a node. `text` says what was discovered and planned.
    """

    kind: Kind
    ends: tuple[End, ...]
    text: str


def compare_cables(fabric: Fabric, discovered: Discovered) -> list[Finding]:
    """Return all differences between the cables of a planned fabric and of a scan.

    The list is empty if both fabrics are equal port by port. Two cables with exchanged ends give one finding.
    """
    names = {guid_of(node): node.name for node in fabric.nodes}
    cabled = {_end(names, switch_port): _end(names, other) for switch_port, other in discovered.links.items()}
    planned = {end: peer for link in fabric.links for end, peer in ((link.a, link.b), (link.b, link.a))}
    return [*_strangers(names, discovered), *_differences(planned, cabled), *_unreached(fabric, discovered)]


def _end(names: Mapping[int, str], switch_port: tuple[int, int]) -> End:
    guid, port = switch_port
    return End(names.get(guid, f"{guid:032x}"), port)


def _differences(planned: Mapping[End, End], cabled: Mapping[End, End]) -> Iterator[Finding]:
    done: set[End] = set()
    for end, peer in cabled.items():
        if end in done or planned.get(end) == peer:
            continue
        done |= {end, peer}
        wanted_peer, wanted_end = planned.get(end), planned.get(peer)
        if wanted_peer is not None and wanted_end is not None and cabled.get(wanted_peer) == wanted_end:
            # Another cable joins the ports to which the two ends of this cable belong.
            done |= {wanted_peer, wanted_end}
            yield Finding(
                "swapped",
                (end, peer, wanted_peer, wanted_end),
                f"two cables are exchanged: {_name(end)} leads to {_name(peer)} "
                f"instead of {_name(wanted_peer)}, "
                f"and {_name(wanted_end)} to {_name(wanted_peer)} instead of {_name(peer)}",
            )
            continue
        wanted = " and ".join(
            f"{_name(port)} belongs to {_name(other)}"
            for port, other in ((end, wanted_peer), (peer, wanted_end))
            if other is not None
        )
        kind: Kind = "wrong" if wanted else "extra"
        text = f"{_name(end)} leads to {_name(peer)}: {wanted or 'no cable is planned there'}"
        yield Finding(kind, (end, peer), text)
    for end, peer in planned.items():
        if end in done or end in cabled or peer in cabled or peer in done:
            continue
        done |= {end, peer}
        yield Finding("missing", (end, peer), f"{_name(end)} leads nowhere: it belongs to {_name(peer)}")


def _strangers(names: Mapping[int, str], discovered: Discovered) -> Iterator[Finding]:
    for guid, device in discovered.nodes.items():
        if guid not in names:
            way = ", ".join(map(str, device.path)) or "none"
            yield Finding("node", (), f"node {guid:032x} is not planned; ports on the way to it: {way}")


def _unreached(fabric: Fabric, discovered: Discovered) -> Iterator[Finding]:
    for node in fabric.nodes:
        if guid_of(node) not in discovered.nodes and any(port.number != HOST_PORT for port in node.ports):
            yield Finding("node", (), f"{node.name} was not reached")


def _name(end: End) -> str:
    return f"port {end.port} of {end.node}"
