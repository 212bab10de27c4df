# SPDX-License-Identifier: Apache-2.0
"""Interfaces of hosts and agents driven by a testbed, sans-IO."""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

__all__ = ["Host", "Output", "Participant", "RepeatingParticipant"]

Output = tuple[list[tuple[bytes, int]], int | None]
"""Frames to send, each with its VL, and the time in ps of the next call of `on_timer`; None for never."""


@runtime_checkable
class Host(Protocol):
    """A state machine on a node's host port; returns frames to send and a deadline. Times are picoseconds."""

    def start(self, now: int) -> Output:
        """Return the first frames and the first deadline."""
        ...

    def on_frame(self, frame: bytes, now: int) -> Output:
        """Handle a received frame."""
        ...

    def on_timer(self, now: int) -> Output:
        """Handle the deadline that was returned last."""
        ...


@runtime_checkable
class Participant(Host, Protocol):
    """An agent of a collective, a traffic graph or a training job."""

    def on_reroute(self, routes: Mapping[int, frozenset[int]], now: int) -> Output:
        """Retransmit frames under way in re-routed buckets; `routes` has the buckets by destination CNA."""
        ...


@runtime_checkable
class RepeatingParticipant(Participant, Protocol):
    """An agent with iterations."""

    def set_level(self, level: int) -> None:
        """Set the service level of data, for iterations that have received no frame yet."""
        ...
