# SPDX-License-Identifier: Apache-2.0
"""The connections of a rank with its peers, at work: the connection of a frame, and of the next message."""

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any, Final, final

from emulation.traffic.host.connections import ends_of
from emulation.traffic.host.path_choice import BUCKETS
from emulation.traffic.host.transport import TransportParameters
from emulation.traffic.schedule.slicing import CellPlan
from tests.oracle.codec import AckWriter, DataWriter
from tests.oracle.paths.entropies import Entropies, make_entropies
from tests.oracle.paths.sender import PathSender
from tests.oracle.paths.spray import PathHealth, RoundTrips, Spray
from tests.oracle.transport import Receiver, Sender

__all__ = ["Peer", "connect"]

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
        sprays = [
            _entropies(parameters, addresses[rank], addresses[peer], number, known=shares is not None)
            for number in range(len(each.lbs))
        ]
        senders = [
            Sender(parameters, writer, lb, entropies)
            if shares is None or health is None
            else PathSender(
                parameters,
                writer,
                Spray(shares, lb, health),
                trips or RoundTrips(),
                shares.timings,
                entropies,
            )
            for writer, lb, entropies in zip(writers, each.lbs, sprays, strict=True)
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


def _entropies(
    parameters: TransportParameters, scna: int, dcna: int, number: int, *, known: bool
) -> Entropies | None:
    """Return the spraying of a connection: over all buckets if its paths are known."""
    chosen = parameters.spray
    if chosen is None:
        return None
    seed = chosen.seed ^ (scna << 40 | dcna << 24 | number)
    return make_entropies(chosen.algorithm, BUCKETS if known else chosen.entropies, seed)
