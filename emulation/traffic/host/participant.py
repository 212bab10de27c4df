# SPDX-License-Identifier: Apache-2.0
"""The interface of an agent driven by a testbed, sans-IO."""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

__all__ = ["Output", "Participant", "RepeatingParticipant"]

Output = tuple[list[tuple[bytes, int]], int | None]
"""Frames to send, each with its VL, and the time in ps of the next call of `on_timer`; None for never."""


@runtime_checkable
class Participant(Protocol):
    """An agent of a collective, a traffic graph or a training job. Times are picoseconds."""

    def start(self, now: int) -> Output:
        """Begin to send or to compute."""
        ...

    def on_frame(self, frame: bytes, now: int) -> Output:
        """Handle a received frame."""
        ...

    def on_timer(self, now: int) -> Output:
        """Handle the passing of the deadline set by an earlier output."""
        ...

    def on_reroute(self, routes: Mapping[int, frozenset[int]], now: int) -> Output:
        """Retransmit frames under way in re-routed buckets; `routes` has the buckets by destination CNA."""
        ...


@runtime_checkable
class RepeatingParticipant(Participant, Protocol):
    """An agent with iterations."""

    def set_level(self, level: int) -> None:
        """Set the service level of data, for iterations that have received no frame yet."""
        ...
