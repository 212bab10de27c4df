# SPDX-License-Identifier: Apache-2.0
"""Messages between node controllers about links, their order, and the reaction to an event."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, final

from controller.plan.updates import Update
from topologies import Fabric, Link

__all__ = [
    "SEQUENCES",
    "Acknowledgement",
    "Mode",
    "Notice",
    "Outgoing",
    "Reaction",
    "Subscription",
    "ends_of",
    "is_newer",
    "latest_sequences",
    "link_of",
]

Mode = Literal["direct", "flooding"]

# Number of sequence numbers: they have 16 bits and wrap.
SEQUENCES = 1 << 16


@final
@dataclass(frozen=True, slots=True)
class Notice:
    """State of one link, named by the address and port of its ends; `origin` is the address of the reporter.

    Both ends give a change of the link the same number, so the two notices differ in `origin` only.
    """

    cna_a: int
    port_a: int
    cna_b: int
    port_b: int
    up: bool
    sequence: int
    origin: int


@final
@dataclass(frozen=True, slots=True)
class Subscription:
    """Request of the node `origin` to be notified of a link's changes, sent to an end of the link."""

    cna_a: int
    port_a: int
    cna_b: int
    port_b: int
    origin: int


@final
@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """Confirmation by the node `origin` that a notice with this sequence number, or a subscription, arrived.

    A subscription has the sequence number 0.
    """

    cna_a: int
    port_a: int
    cna_b: int
    port_b: int
    subscription: bool
    sequence: int
    origin: int


@final
@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message to send, and the egress port of each of its hops, from this node on.

    Without ports, tables forward the message. With one port, the message goes to the neighbour at that port.
    With more ports, the message takes a source route.
    """

    message: Notice | Subscription | Acknowledgement
    destination_cna: int
    ports: tuple[int, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Reaction:
    """Updates of this node's tables, to be applied before the notices and subscriptions are sent.

    `lost` has, by destination CNA, the buckets that used a failed link or a silent path and now have another
    route. Frames that this node has sent in these buckets are lost.
    """

    updates: Sequence[Update] = ()
    notices: tuple[Outgoing, ...] = ()
    subscriptions: tuple[Outgoing, ...] = ()
    lost: Mapping[int, frozenset[int]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.updates or self.notices or self.subscriptions)


def ends_of(fabric: Fabric, link: Link) -> tuple[int, int, int, int]:
    """Return the addresses and ports of a link's ends, as in a message."""
    a, b = fabric.node(link.a.node), fabric.node(link.b.node)
    return a.address, link.a.port, b.address, link.b.port


def link_of(fabric: Fabric, message: Notice | Subscription) -> Link | None:
    """Return the link named by a message, or None if the fabric has no such link."""
    a, b = fabric.node_of(message.cna_a), fabric.node_of(message.cna_b)
    link = fabric.link_at(a.name, message.port_a) if a else None
    if link is None or a is None or b is None:
        return None
    opposite = link.far(a.name)
    return link if (opposite.node, opposite.port) == (b.name, message.port_b) else None


def is_newer(sequence: int, known: int) -> bool:
    """Return whether a sequence number is newer than a known number, allowing for one wrap."""
    return 0 < (sequence - known) % SEQUENCES < SEQUENCES // 2


class Numbered(Protocol):
    """Interface of an object with the sequence numbers of links, such as a node's controller."""

    @property
    def sequences(self) -> Mapping[str, int]:
        """Last known sequence numbers by link; a link without any change so far is missing."""
        ...


def latest_sequences(controllers: Iterable[Numbered]) -> dict[str, int]:
    """Return the newest sequence number of every link that any of the controllers knows of."""
    latest: dict[str, int] = {}
    for controller in controllers:
        for link, sequence in controller.sequences.items():
            if link not in latest or is_newer(sequence, latest[link]):
                latest[link] = sequence
    return latest
