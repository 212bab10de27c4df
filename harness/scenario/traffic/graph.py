# SPDX-License-Identifier: Apache-2.0
"""`graph:` of a scenario's job: a traffic graph, given as a list of operations or as a JSON file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Self, final

from pydantic import model_validator

from emulation.errors import GraphError
from emulation.traffic.graph.document import line_of, read_graph
from emulation.traffic.graph.operations import Graph
from harness.errors import ScenarioError
from harness.scenario.document import Document, Location
from harness.scenario.topology import Model

__all__ = ["GraphSettings", "refused"]


@final
class GraphSettings(Model):
    """A traffic graph: a list `operations` (docs/use/graphs.md), or a `file` with that list.

    With `signals`, an operation may wait for an operation of another member; a message reports its end.
    """

    file: str | None = None
    operations: tuple[Mapping[str, Any], ...] = ()
    signals: bool = False

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.file is None) == (not self.operations):
            raise ValueError("a graph needs either `operations:` or a `file:`; give exactly one of them")
        return self

    def __hash__(self) -> int:
        """Return a hash of the file, `signals` and the ids of the operations (unhashable mappings)."""
        return hash((self.file, self.signals, tuple(str(row.get("id")) for row in self.operations)))

    def read(self, name: str) -> Graph:
        """Return the graph, called `name` unless it comes from a file.

        Raises:
            GraphError: The graph is invalid; the error names the operation and the key.
            ScenarioError: The file cannot be read or is not JSON.
        """
        if self.file is not None:
            return _of_file(self.file, Path(self.file).stat().st_mtime_ns, self.signals)
        return read_graph({"operations": self.operations, "signals": self.signals}, name)


@lru_cache(maxsize=4)
def _of_file(path: str, changed: int, signals: bool) -> Graph:
    document = _json(path)
    if signals and isinstance(document, dict):
        document = {**document, "signals": True}
    return read_graph(document, Path(path).stem)


def _json(path: str) -> Any:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as ex:
        raise ScenarioError(
            f"{path}: the file cannot be read: {ex.strerror}", remedy="give the path of a readable file"
        ) from None
    except json.JSONDecodeError as ex:
        raise ScenarioError(
            f"{path}:{ex.lineno}: the file is not JSON: {ex.msg}", remedy="correct the file"
        ) from None
    except (UnicodeDecodeError, RecursionError):
        raise ScenarioError(
            f"{path}: the file is not JSON text in UTF-8", remedy="give a file with a traffic graph"
        ) from None


def refused(settings: GraphSettings, document: Document, location: Location, ex: GraphError) -> ScenarioError:
    """Return a GraphError as a ScenarioError with the file, the line and the key.

    `location` is the location of the graph in the scenario's document.
    """
    operation = f"operations[{ex.operation}]" if ex.operation >= 0 else ""
    where = ".".join(filter(None, [operation, ex.key]))
    message = f"{where}: {ex.message}" if where else ex.message
    if settings.file is None:
        steps = (*location, "operations", ex.operation, ex.key) if operation else (*location, ex.key)
        return ScenarioError(document.at(steps, message), remedy=ex.remedy)
    line = 1
    if operation:
        line = line_of(Path(settings.file).read_text(encoding="utf-8"), ex.operation, ex.key)
    return ScenarioError(f"{settings.file}:{line}: {message}", remedy=ex.remedy)
