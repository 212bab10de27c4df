# SPDX-License-Identifier: Apache-2.0
"""Metrics that are cells of counters and registers of P4 programs of the user's own.

counters.NAME.packets         packets of all cells on all nodes; or .bytes
counters.NAME[npu0].packets   those of a node, counters.NAME[npu0:3].packets those of a cell
registers.NAME                largest value of all cells on all nodes; [npu0] and [npu0:3] likewise
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, final

__all__ = ["CellMetric", "cell_metric"]

_CELLS = r"(?P<name>[^\[\]]+?)(?:\[(?P<node>[^\[\]]+?)(?::(?P<index>\d+))?\])?"
_FORMS = (
    re.compile(rf"(?P<kind>counter)s\.{_CELLS}\.(?P<unit>packets|bytes)"),
    re.compile(rf"(?P<kind>register)s\.{_CELLS}"),
)


@final
@dataclass(frozen=True, slots=True)
class CellMetric:
    """Cells of a counter or a register: all, those of a node, or one; `unit` is that of a counter."""

    kind: Literal["counter", "register"]
    name: str
    node: str | None
    index: int | None
    unit: str

    def has(self, node: str, index: int) -> bool:
        """Return whether the cell of a node is among those of the metric."""
        return self.node in (None, node) and self.index in (None, index)


def cell_metric(metric: str) -> CellMetric | None:
    """Return the cells that a metric of a variant names; None if it is no such metric."""
    for form in _FORMS:
        if match := form.fullmatch(metric):
            parts = match.groupdict()
            index = None if parts["index"] is None else int(parts["index"])
            kind: Literal["counter", "register"] = "counter" if parts["kind"] == "counter" else "register"
            return CellMetric(kind, parts["name"], parts["node"], index, parts.get("unit", ""))
    return None
