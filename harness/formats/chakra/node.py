# SPDX-License-Identifier: Apache-2.0
"""Nodes of Chakra traces, independent of the file's encoding (protobuf or JSON)."""

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
"""Numbers of node types in Chakra's schema; all types not listed, such as memory loads, are computations."""

COLLECTIVES = {
    0: "allreduce",
    1: "reduce",
    2: "all-gather",
    5: "broadcast",
    6: "all-to-all",
    7: "reduce-scatter",
    8: "reduce-scatter",
}
"""Kinds of collectives by Chakra's `comm_type`; gather (3), scatter (4) and barrier are not supported."""

_NAME = re.compile(r".*?(\d{1,9})\.(?:et|json)(?:\.gz)?", re.DOTALL)
_MAX_RANKS = 1 << 16


@final
@dataclass(frozen=True, slots=True)
class Node:
    """A node of a trace; `waits` are ids of the nodes it depends on, `values` its attributes by name."""

    id: int
    name: str
    type: int
    waits: tuple[int, ...]
    duration_us: int
    values: Mapping[str, Any]

    def number(self, key: str, location: FileLocation, low: int = 0, default: int | None = None) -> int:
        """Return an attribute as a whole number; `default`, if given, for an absent attribute.

        Raises FormatError if the attribute is absent, is no whole number, or is below `low`.
        """
        value = self.values.get(key, default)
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if not whole or value < low:
            location.refuse(
                f"{key} of node {self.id} is {str(value)[:40]!r}, expected a whole number",
                f"give {low} or more",
            )
        return int(value)


def rank_of(path: Path) -> int:
    """Return the rank in the file name of a trace: NAME.RANK.et or NAME.RANK.json, perhaps with .gz."""
    match = _NAME.fullmatch(path.name)
    if match is None or int(match[1]) >= _MAX_RANKS:
        FileLocation(path).refuse(
            f"the file name has no rank below {_MAX_RANKS}", "call the file NAME.RANK.et"
        )
    return int(match[1])
