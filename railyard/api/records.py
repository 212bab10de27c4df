# SPDX-License-Identifier: Apache-2.0
"""Tables as lists of dicts, ready for `pandas.DataFrame(records)`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, final

from controller.p4runtime.entry_encoding import calls_of
from controller.plan.entry import Entry, Exact, Lpm, Match, Optional, Range
from emulation.testbed import LinkUsage
from topologies import Link

__all__ = ["Record", "entry_record", "link_records", "renamed"]

Record = dict[str, Any]
"""A row of a table: values by column name. The name of a column ends with its unit, such as `delay_ns`."""


@final
class _Renamed(Record):
    """A record with renamed columns: the KeyError for a former name tells the present name."""

    def __init__(self, values: Record, former: Mapping[str, str]) -> None:
        super().__init__(values)
        self._former = former

    def __missing__(self, key: str) -> Any:
        if key in self._former:
            raise KeyError(f"{key!r} is called {self._former[key]!r} now, as in the JSON files of `railyard`")
        raise KeyError(key)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Renamed, (dict(self), self._former)


def renamed(values: Record, **former: str) -> Record:
    """Return a record whose KeyError for a former column name tells the present name.

    `former` has the present name of each former column.
    """
    return _Renamed(values, former)


def link_records(link: Link, usage: tuple[LinkUsage, LinkUsage], elapsed_ps: int) -> Iterator[Record]:
    """Yield the counters of a link, a record for each direction.

    Args:
        link: The link.
        usage: Counters from the first to the second end of the link, and back.
        elapsed_ps: Time in picoseconds to which busy shares refer.
    """
    for (source, destination), way in zip(((link.a, link.b), (link.b, link.a)), usage, strict=True):
        busy_ps = 8 * way.bytes * 10**12 / link.rate_bps
        yield {
            "link": link.name,
            "source": source.node,
            "destination": destination.node,
            "frames": way.frames,
            "bytes": way.bytes,
            "busy_percent": round(100 * busy_ps / elapsed_ps, 3) if elapsed_ps else 0.0,
            "lost_frames": way.lost_frames,
            "refused_frames": way.refused_frames,
            "max_queued_bytes": way.max_queued_bytes,
            "rate_gbps": link.rate_bps / 10**9,
        }


def entry_record(node: str, entry: Entry) -> Record:
    """Return a table entry of a node as a record, with its match and its action parameters as text."""
    return {
        "node": node,
        "table": entry.table,
        "match": ", ".join(f"{key}={_match(match)}" for key, match in entry.match),
        "action": entry.action,
        "params": " | ".join(", ".join(_params(dict(call))) for call in calls_of(entry)),
        "priority": entry.priority,
    }


def _match(match: Match) -> str:
    if isinstance(match, Exact | Optional):
        return f"{match.value:#x}"
    if isinstance(match, Lpm):
        return f"{match.value:#x}/{match.prefix}"
    if isinstance(match, Range):
        return f"{match.low}..{match.high}"
    return f"{match.value:#x}&{match.mask:#x}"


def _params(params: Mapping[str, int]) -> Iterator[str]:
    yield from (f"{name}={value:#x}" for name, value in params.items())
