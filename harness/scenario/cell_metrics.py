# SPDX-License-Identifier: Apache-2.0
"""Metrics from the cells of counters and registers in the user's own P4 programs.

counters.NAME.packets           packets of all cells on all nodes; NAME.bytes for bytes
counters.NAME[npu0].packets     packets of all cells on the node npu0
counters.NAME[npu0:3].packets   packets of cell 3 on the node npu0
registers.NAME                  largest value of all cells on all nodes; also with [npu0] or [npu0:3]
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
    """Cells of a counter or register: all, the cells of `node`, or the cell `index` of `node`.

    `unit` is `packets` or `bytes` for a counter, and empty for a register.
    """

    kind: Literal["counter", "register"]
    name: str
    node: str | None
    index: int | None
    unit: str

    def has(self, node: str, index: int) -> bool:
        """Return whether the metric covers the cell `index` of `node`."""
        return self.node in (None, node) and self.index in (None, index)


def cell_metric(metric: str) -> CellMetric | None:
    """Return the cells selected by the name of a metric; None if it names no counter or register."""
    for form in _FORMS:
        if match := form.fullmatch(metric):
            parts = match.groupdict()
            index = None if parts["index"] is None else int(parts["index"])
            kind: Literal["counter", "register"] = "counter" if parts["kind"] == "counter" else "register"
            return CellMetric(kind, parts["name"], parts["node"], index, parts.get("unit", ""))
    return None
