# SPDX-License-Identifier: Apache-2.0
"""Traffic graphs written in Python: sends, receives, computations and copies that wait for each other."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, final

from emulation.traffic.graph.document import read_graph, write_graph

__all__ = ["TrafficGraph"]

Names = str | Iterable[str]


@final
class TrafficGraph:
    """A traffic graph, built by method calls; each call adds an operation and returns its name.

    `operations` has the rows of `graph: {operations: ...}` in a scenario. Times are in microseconds, sizes
    and offsets in bytes. `after` has the names of operations that end before the added operation begins.
    docs/use/graphs.md explains every argument.
    """

    def __init__(self, name: str = "graph") -> None:
        self.name = name
        self.operations: list[dict[str, Any]] = []

    def send(self, source: str, target: str, size: int, *, after: Names = (), **keys: Any) -> str:
        """Add a send of `size` bytes from member `source` to member `target`.

        `keys` are id, read, write, combine, tag, at_us, delay_us, compute_us, unit.
        """
        return self._add("send", {"send": size, "from": source, "to": target}, after, keys)

    def receive(self, member: str, source: str, *, after: Names = (), **keys: Any) -> str:
        """Add the receive, at `member`, of the next send from `source` with an equal tag.

        `keys` are id, tag, write, combine, at_us, delay_us.
        """
        return self._add("receive", {"receive": 0, "on": member, "from": source}, after, keys)

    def compute(self, member: str, us: float, *, after: Names = (), **keys: Any) -> str:
        """Add a computation of `us` microseconds on `member`; `keys` are id, unit, at_us, delay_us."""
        return self._add("compute", {"compute_us": us, "on": member}, after, keys)

    def copy(
        self,
        member: str,
        size: int,
        *,
        combine: Literal["copy", "reduce"] = "copy",
        after: Names = (),
        **keys: Any,
    ) -> str:
        """Add a copy of `size` bytes inside a member's memory; `combine` "reduce" adds to the target.

        `keys` are id, read, write, at_us, delay_us, compute_us.
        """
        return self._add("copy", {"copy": size, "on": member, "combine": combine}, after, keys)

    def save(self, path: str | Path) -> Path:
        """Write the graph as JSON, for `graph: {file: ...}` of a scenario, and return the path.

        Raises:
            RailyardError: An operation is impossible.
        """
        write_graph(read_graph({"name": self.name, "operations": self.operations}), Path(path))
        return Path(path)

    def _add(self, kind: str, row: dict[str, Any], after: Names, keys: dict[str, Any]) -> str:
        name = str(keys.pop("id", f"{kind}{len(self.operations)}"))
        waits = [after] if isinstance(after, str) else [*after]
        self.operations.append({"id": name, **row, **({"after": waits} if waits else {}), **keys})
        return name

    def __repr__(self) -> str:
        return f"<TrafficGraph {self.name}: {len(self.operations)} operations>"
