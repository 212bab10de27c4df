# SPDX-License-Identifier: Apache-2.0
"""Records of a run: a kind and a payload. Ticks are binary, all other records JSON.

docs/reference/recordings.md describes each kind. A tick has, little-endian:

    u64   virtual time in picoseconds
    u32   number of links, n
    u32   number of totals, m
    f64   m totals, named by the VARIANT record
    u8    2 n loads, a byte for each direction of a link (emulation.testbed.LinkSample)
    u8    2 n queues
    u8    n states
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, final

from emulation.testbed import LinkSample
from harness.errors import RecordingError

__all__ = ["FORMAT", "VERSION", "Kind", "Record", "Sink", "Tick", "event", "json_record"]

FORMAT = "railyard-recording"
VERSION = 2

_HEAD = struct.Struct("<QII")


class Kind(IntEnum):
    """Kinds of records, in the order in which a recording first has them."""

    HEADER = 1
    """Format, version, scenario, seed, variants."""
    FABRIC = 2
    """The fabric as the page draws it."""
    VARIANT = 3
    """A variant begins: names of its links, totals and jobs."""
    LINKS = 4
    """Names of circuits that were first used now; later ticks have them after all links before."""
    TICK = 5
    """All links and totals at one time."""
    EVENT = 6
    """Something that happened: `t` in picoseconds, `kind`, `text`, and further keys."""
    END = 7
    """The variant has ended: its completion time, and whether its data is right."""
    CLOSE = 8
    """The run has ended. A recording without this record was cut short."""
    FRAMES = 9
    """Frames that crossed a link since the last record of it, or some of them; since version 2."""


@final
@dataclass(frozen=True, slots=True)
class Record:
    """A record of a recording."""

    kind: Kind
    payload: bytes

    @property
    def values(self) -> dict[str, Any]:
        """Values of a JSON record."""
        return json.loads(self.payload)


Sink = Callable[[Record], None]
"""Receives records in their order."""


@final
@dataclass(frozen=True, slots=True)
class Tick:
    """State of all links at `time_ps`, and totals of the run up to then."""

    time_ps: int
    totals: tuple[float, ...]
    links: LinkSample

    def record(self) -> Record:
        """Return the tick as a record."""
        count = len(self.links.state)
        head = _HEAD.pack(self.time_ps, count, len(self.totals))
        totals = struct.pack(f"<{len(self.totals)}d", *self.totals)
        return Record(
            Kind.TICK, b"".join((head, totals, self.links.load, self.links.queue, self.links.state))
        )

    @classmethod
    def of(cls, record: Record) -> Tick:
        """Return the tick of a record; a RecordingError if its length is not that of its counts."""
        data = record.payload
        if len(data) < _HEAD.size:
            raise RecordingError("a tick is too short", remedy="record the run again")
        time_ps, links, count = _HEAD.unpack_from(data)
        at = _HEAD.size + 8 * count
        if len(data) != at + 5 * links:
            raise RecordingError(
                f"a tick of {len(data)} bytes for {links} links", remedy="record the run again"
            )
        totals = struct.unpack_from(f"<{count}d", data, _HEAD.size)
        load, queue, state = data[at : at + 2 * links], data[at + 2 * links : at + 4 * links], data[-links:]
        return cls(time_ps, totals, LinkSample(load, queue, state if links else b""))


def json_record(kind: Kind, values: Mapping[str, Any]) -> Record:
    """Return a record of values; equal values give equal bytes."""
    return Record(kind, json.dumps(values, separators=(",", ":")).encode())


def event(time_ps: int, kind: str, text: str, **keys: Any) -> Record:
    """Return the record of an event; `links` are those that it took down or brought up, if any."""
    links: Sequence[str] = keys.pop("links", ())
    return json_record(
        Kind.EVENT,
        {"t": time_ps, "kind": kind, "text": text, **({"links": [*links]} if links else {}), **keys},
    )
