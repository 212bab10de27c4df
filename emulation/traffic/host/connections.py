# SPDX-License-Identifier: Apache-2.0
"""The connections of a rank with its peers: a single one, or one for each of several paths (HPN).

Each connection has its own load-balance value (lb), by which switches choose its path, and its own sequence
numbers. A message uses one connection. Queue numbers encode connection and rank, so both ends agree on it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final, final

from emulation.errors import EmulationError
from emulation.traffic.frames.wire import AckWriter, DataWriter
from emulation.traffic.host.paths.choice import ONE, PathShares
from emulation.traffic.host.paths.sender import PathSender
from emulation.traffic.host.paths.spray import PathHealth, RoundTrips, Spray
from emulation.traffic.host.transport import Receiver, Sender, TransportParameters
from emulation.traffic.schedule.slicing import CellPlan

__all__ = ["Ends", "Peer", "connect", "ends_of"]

_MAX_QUEUES: Final = 1 << 16
_DATA: Final = 1


@final
class Peer:
    """The connections with a peer, and its queues; `active` are the queues with ready slices."""

    __slots__ = (
        "_draw",
        "_drawn",
        "_own",
        "_ranks",
        "active",
        "left",
        "rank",
        "receivers",
        "senders",
        "waiting",
    )

    def __init__(
        self,
        rank: int,
        own: int,
        ranks: int,
        senders: Sequence[Sender],
        receivers: Sequence[Receiver],
        draw: Callable[[int], int] | None = None,
    ) -> None:
        self.rank = rank
        self._own = own
        self._ranks = ranks
        self.senders = tuple(senders)
        self.receivers = tuple(receivers)
        self.active: list[Any] = []
        self.left = 0
        self.waiting = False  # is in the agent's round robin
        self._draw = draw
        self._drawn: Sender | None = None

    def number(self, fields: tuple[int, ...]) -> int:
        """Return the connection of a frame from the peer's address, by its queues; -1 for none."""
        number, rank = divmod(fields[5], self._ranks)
        ends = self.receivers if fields[0] == _DATA else self.senders
        if rank != self.rank or fields[4] != number * self._ranks + self._own or number >= len(ends):
            return -1
        return number

    def pick(self) -> Sender | None:
        """Return the connection of the next message; None while its window is full.

        A drawn connection stays chosen until a message has used it.
        """
        senders = self.senders
        if len(senders) == 1:
            sender = senders[0]
        elif self._draw is None:
            sender = min(senders, key=_unfinished)
        else:
            sender = self._drawn = self._drawn or senders[self._draw(len(senders))]
        return sender if sender.has_room() else None

    def message_sent(self) -> None:
        """Note that a message has left; the next one draws its connection again."""
        self._drawn = None


def _unfinished(sender: Sender) -> int:
    return sender.unfinished


@final
@dataclass(frozen=True, slots=True)
class Ends:
    """First load-balance values of a rank's connections with a peer, and what chooses among them.

    `lbs` are of data to the peer, `ack_lbs` of acknowledgements to it; each has an entry for each connection.
    `shares` are the paths to the peer, if they are known. `seed` is the seed of a random choice of the
    connection, None for the connection with the fewest unfinished bytes.
    """

    rank: int
    lbs: tuple[int, ...]
    ack_lbs: tuple[int, ...]
    shares: PathShares | None
    seed: str | None


def ends_of(
    rank: int, plans: Iterable[CellPlan], ranks: int, parameters: TransportParameters
) -> Iterator[Ends]:
    """Yield the ends of a rank with all ranks with which its plans exchange data.

    The order begins with the next higher rank, so that ranks begin with different peers. EmulationError if
    queue numbers do not suffice.
    """
    chosen = parameters.connections or ONE
    for peer in sorted(_peers(plans) - {rank}, key=lambda peer: (peer - rank) % ranks):
        out, back = chosen.of(rank, peer), chosen.of(peer, rank)
        if ranks * max(len(out), len(back)) > _MAX_QUEUES:
            raise EmulationError(
                f"{max(len(out), len(back))} connections a pair of {ranks} ranks: queues have 16 bits",
                remedy=f"use {_MAX_QUEUES // ranks} connections or fewer",
            )
        # Without chosen connections, acknowledgements use the lb of data in their direction.
        ack_lbs = back if parameters.connections else out
        shares = None if parameters.paths is None else parameters.paths.get((rank, peer))
        seed = f"{chosen.seed} {rank} {peer}" if chosen.choose == "random" else None
        yield Ends(peer, out, ack_lbs, shares, seed)


def connect(
    rank: int,
    plans: Iterable[CellPlan],
    addresses: Sequence[int],
    parameters: TransportParameters,
    *,
    job: int,
    dtype: int,
    trips: RoundTrips | None = None,
) -> dict[int, Peer]:
    """Return the peers of a rank by rank, in the order of `ends_of`.

    `trips` has the round trips of the whole rank.
    """
    ranks = len(addresses)
    peers: dict[int, Peer] = {}
    for each in ends_of(rank, plans, ranks, parameters):
        peer, shares = each.rank, each.shares
        ends = {"scna": addresses[rank], "dcna": addresses[peer]}
        writers = [
            DataWriter(
                **ends,
                src_q=number * ranks + peer,
                dst_q=number * ranks + rank,
                job=job,
                dtype=dtype,
                lb_mode=parameters.lb_mode,
                level=parameters.level,
                marks=parameters.marks,
            )
            for number in range(len(each.lbs))
        ]
        health = None if shares is None else PathHealth(shares.paths)
        senders = [
            Sender(parameters, writer, lb)
            if shares is None or health is None
            else PathSender(
                parameters, writer, Spray(shares, lb, health), trips or RoundTrips(), shares.timings
            )
            for writer, lb in zip(writers, each.lbs, strict=True)
        ]
        receivers = [
            Receiver(
                parameters,
                AckWriter(
                    **ends,
                    src_q=number * ranks + peer,
                    dst_q=number * ranks + rank,
                    lb_mode=parameters.lb_mode,
                ),
                lb,
                None if shares is None or health is None else Spray(shares, lb, health),
            )
            for number, lb in enumerate(each.ack_lbs)
        ]
        draw = None if each.seed is None else Random(each.seed).randrange
        peers[peer] = Peer(peer, rank, ranks, senders, receivers, draw)
    return peers


def _peers(plans: Iterable[CellPlan]) -> set[int]:
    distinct = {id(plan): plan for plan in plans}.values()
    sources = {source for plan in distinct for phase in plan.phases for source in phase.sources}
    return sources | {send.peer for plan in distinct for group in plan.releases for send in group}
