# SPDX-License-Identifier: Apache-2.0
"""Counters at begin and end of circuits: an endpoint counts the frames of all its circuits together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from emulation.mininet.links.counters import EndpointCounters
from topologies import Link

__all__ = ["Carried", "Span"]

Counters = Mapping[str, EndpointCounters]


@final
@dataclass(frozen=True, slots=True)
class Span:
    """Counters of all endpoints when a circuit was set up, and when it was torn down.

    `before` is None for a circuit that was up when the run began, `after` for a circuit that is still up.
    """

    link: Link
    before: Counters | None
    after: Counters | None


@final
class Carried:
    """Records the counters of all endpoints before a circuit is set up, and after it is torn down.

    `read` returns the present counters.
    """

    def __init__(self, read: Callable[[], Counters]) -> None:
        self._read = read
        self._up: dict[str, Span] = {}
        self._ended: list[Span] = []

    def joined(self, link: Link) -> None:
        """Record the counters before a circuit; call just before the circuit is set up."""
        self._up[link.name] = Span(link, self._read(), None)

    def cut(self, link: Link) -> None:
        """Record the counters after a circuit; call just after the circuit is torn down."""
        began = self._up.pop(link.name, Span(link, None, None))
        self._ended.append(Span(link, began.before, self._read()))

    def spans(self) -> Sequence[Span]:
        """Return the counters of all moved circuits: a Span for each time a circuit was up."""
        return (*self._ended, *self._up.values())
