# SPDX-License-Identifier: Apache-2.0
"""The connections of a rank with its peers: one for each peer, or one for each of several paths (HPN).

Each connection has its own load-balance value (lb), by which switches choose its path, and its own sequence
numbers. A message uses one connection. Queue numbers encode connection and rank, equally at both ends.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, final

from emulation.errors import EmulationError
from emulation.traffic.host.path_choice import ONE, PathShares
from emulation.traffic.host.transport import TransportParameters
from emulation.traffic.schedule.slicing import CellPlan

__all__ = ["Ends", "ends_of"]

_MAX_QUEUES: Final = 1 << 16


@final
class Ends(NamedTuple):
    """A rank's ends of its connections with a peer.

    Attributes:
        rank: Rank of the peer.
        lbs: First load-balance value of the data to the peer, for each connection.
        ack_lbs: First load-balance value of the acknowledgements to the peer, for each connection.
        shares: Paths to the peer; None if they are not known.
        seed: Seed of the random choice of a message's connection; None chooses the connection with the
            fewest unfinished bytes.
    """

    rank: int
    lbs: tuple[int, ...]
    ack_lbs: tuple[int, ...]
    shares: PathShares | None
    seed: str | None


def ends_of(
    rank: int, plans: Iterable[CellPlan], ranks: int, parameters: TransportParameters
) -> Iterator[Ends]:
    """Yield the ends of the connections between a rank and each peer in its plans.

    The order of peers begins with the next higher rank, so that ranks begin with different peers.
    EmulationError if the connections need more queue numbers than there are.
    """
    chosen = parameters.connections or ONE
    for peer in sorted(_peers(plans) - {rank}, key=lambda peer: (peer - rank) % ranks):
        out = chosen.of(rank, peer)
        # Without chosen connections, acknowledgements begin with the lb of data in the same direction.
        back = chosen.of(peer, rank) if parameters.connections else out
        if ranks * max(len(out), len(back)) > _MAX_QUEUES:
            raise EmulationError(
                f"{max(len(out), len(back))} connections for each pair among {ranks} ranks need more than "
                f"the {_MAX_QUEUES} queues of a host",
                remedy=f"use {_MAX_QUEUES // ranks} connections or fewer",
            )
        shares = None if parameters.paths is None else parameters.paths.get((rank, peer))
        seed = f"{chosen.seed} {rank} {peer}" if chosen.choose == "random" else None
        yield Ends(peer, out, back, shares, seed)


def _peers(plans: Iterable[CellPlan]) -> set[int]:
    distinct = {id(plan): plan for plan in plans}.values()
    sources = {source for plan in distinct for phase in plan.phases for source in phase.sources}
    return sources | {send.peer for plan in distinct for group in plan.releases for send in group}
