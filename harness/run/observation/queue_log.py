# SPDX-License-Identifier: Apache-2.0
"""Depths of queues, pauses and rates of flows over time. Times are picoseconds of virtual time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

__all__ = ["FlowSeries", "QueueLog", "QueueSeries"]


@final
@dataclass(frozen=True, slots=True)
class QueueSeries:
    """The queue of the egress port of `node` towards `to`, a node or "host": a value for each sample.

    `bytes` is the longest queue observed since the previous sample; `paused` is True if priority flow
    control then stopped the port.
    """

    node: str
    to: str
    bytes: tuple[int, ...]
    paused: tuple[bool, ...]


@final
@dataclass(frozen=True, slots=True)
class FlowSeries:
    """Bytes of data that `destination` has acknowledged to `source` since the start, by sample."""

    source: str
    destination: str
    bytes: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class QueueLog:
    """Samples at `times_ps` of only the deepest queues and the largest flows, in descending order."""

    times_ps: tuple[int, ...]
    queues: tuple[QueueSeries, ...]
    flows: tuple[FlowSeries, ...]
