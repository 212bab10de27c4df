# SPDX-License-Identifier: Apache-2.0
"""Nodes of Chakra's traces, whatever the format of the file."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from harness.formats.text import FileLocation

__all__ = [
    "COLLECTIVE",
    "COLLECTIVES",
    "COMPUTE",
    "METADATA",
    "RECEIVE",
    "SEND",
    "Node",
    "rank_of",
]

METADATA, COMPUTE, SEND, RECEIVE, COLLECTIVE = 1, 4, 5, 6, 7
"""Types of nodes; the others, also loads and stores of memory, are computations."""

COLLECTIVES = {
    0: "allreduce",
    1: "reduce",
    2: "all-gather",
    5: "broadcast",
    6: "all-to-all",
    7: "reduce-scatter",
    8: "reduce-scatter",
}
"""Kinds of collectives by `comm_type`; gather, scatter and barrier have none here."""

_NAME = re.compile(r".*?(\d{1,9})\.(?:et|json)(?:\.gz)?", re.DOTALL)
_MAX_RANKS = 1 << 16


@final
@dataclass(frozen=True, slots=True)
class Node:
    """A node of a trace; `duration_us` in microseconds, `values` by the attributes' names."""

    id: int
    name: str
    type: int
    waits: tuple[int, ...]
    duration_us: int
    values: Mapping[str, Any]

    def number(self, key: str, location: FileLocation, low: int = 0, default: int | None = None) -> int:
        """Return an attribute as a whole number; FormatError if it is absent, no number or below `low`."""
        value = self.values.get(key, default)
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if not whole or value < low:
            location.refuse(f"node {self.id}: {key} is {str(value)[:40]!r}", f"give {low} or more")
        return int(value)


def rank_of(path: Path) -> int:
    """Return the rank of a trace by its name: NAME.RANK.et, or NAME.RANK.json."""
    match = _NAME.fullmatch(path.name)
    if match is None or int(match[1]) >= _MAX_RANKS:
        FileLocation(path).refuse(f"no rank below {_MAX_RANKS} in the name", "call the file NAME.RANK.et")
    return int(match[1])
