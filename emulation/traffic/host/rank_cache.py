# SPDX-License-Identifier: Apache-2.0
"""Cache of the engine's descriptions of ranks, for later agents of the same traffic."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import final

from emulation import _engine
from emulation.traffic.host.transport import TransportParameters
from emulation.traffic.schedule.slicing import SlicedTraffic

__all__ = ["RankCache"]


@final
class RankCache:
    """Descriptions of the ranks of one traffic, by rank and element type; agents do not change them.

    A description depends on the ranks' addresses, and on the slices, paths and connections, which are
    compared by identity. A pickled cache is empty when it is loaded.
    """

    def __init__(self) -> None:
        self._same: tuple[object, ...] = ()
        self._addresses: tuple[int, ...] = ()
        self._known: dict[tuple[int, int], _engine.Rank] = {}

    def __reduce__(self) -> tuple[type[RankCache], tuple[()]]:
        return RankCache, ()

    def of(
        self, sliced: SlicedTraffic, addresses: Sequence[int], parameters: TransportParameters
    ) -> dict[tuple[int, int], _engine.Rank]:
        """Return the descriptions of ranks known for this traffic, for the caller to add to.

        Descriptions of other traffic are dropped.
        """
        same = (sliced, parameters.connections, parameters.paths)
        alike = len(self._same) == len(same) and all(map(is_, self._same, same))
        if not alike or self._addresses != tuple(addresses):
            self._known = {}
            self._same, self._addresses = same, tuple(addresses)
        return self._known
