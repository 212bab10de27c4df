# SPDX-License-Identifier: Apache-2.0
"""Records of a run: each has a kind and a payload, which is binary for a tick and JSON for all other kinds.

docs/reference/recordings.md describes each kind. The payload of a tick, little-endian:

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
    """Kinds of records; except for FRAMES, in the order in which they first appear in a recording."""

    HEADER = 1
    """Format, version, scenario, seed, variants."""
    FABRIC = 2
    """Drawing of the fabric for the page."""
    VARIANT = 3
    """A variant begins: names of its links, totals and jobs."""
    LINKS = 4
    """Names of circuits that are used for the first time; later ticks have them behind the earlier links."""
    TICK = 5
    """State of all links, and totals of the run, at a time."""
    EVENT = 6
    """An event of the run: `t` in picoseconds, `kind`, `text`, and further keys."""
    END = 7
    """End of a variant: its completion time, and the number of nodes with correct data."""
    CLOSE = 8
    """End of the run; a recording without this record was cut short."""
    FRAMES = 9
    """Some of the frames that crossed a link since the link's previous FRAMES record; since version 2."""


@final
@dataclass(frozen=True, slots=True)
class Record:
    """A record of a run: its kind, and its uncompressed payload."""

    kind: Kind
    payload: bytes

    @property
    def values(self) -> dict[str, Any]:
        """Values of a JSON record."""
        return json.loads(self.payload)


Sink = Callable[[Record], None]
"""Receiver of records, called with each record in order."""


@final
@dataclass(frozen=True, slots=True)
class Tick:
    """State of all links at `time_ps`, and totals of the run up to this time."""

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
        """Return the tick of a record; RecordingError if the payload's length contradicts its counts."""
        data = record.payload
        if len(data) < _HEAD.size:
            raise RecordingError(
                f"the record of a tick has {len(data)} bytes, expected at least {_HEAD.size}",
                remedy="record the run again",
            )
        time_ps, links, count = _HEAD.unpack_from(data)
        at = _HEAD.size + 8 * count
        if len(data) != at + 5 * links:
            raise RecordingError(
                f"the record of a tick with {links} links has {len(data)} bytes, expected {at + 5 * links}",
                remedy="record the run again",
            )
        totals = struct.unpack_from(f"<{count}d", data, _HEAD.size)
        load, queue, state = data[at : at + 2 * links], data[at + 2 * links : at + 4 * links], data[-links:]
        return cls(time_ps, totals, LinkSample(load, queue, state if links else b""))


def json_record(kind: Kind, values: Mapping[str, Any]) -> Record:
    """Return a record with JSON values; values with keys in equal order give equal bytes."""
    return Record(kind, json.dumps(values, separators=(",", ":")).encode())


def event(time_ps: int, kind: str, text: str, **keys: Any) -> Record:
    """Return the record of an event.

    `keys` are further keys of the record; `links` names the links that the event concerns.
    """
    links: Sequence[str] = keys.pop("links", ())
    return json_record(
        Kind.EVENT,
        {"t": time_ps, "kind": kind, "text": text, **({"links": [*links]} if links else {}), **keys},
    )
