# SPDX-License-Identifier: Apache-2.0
"""The JSON form of a traffic graph: reader, which names mistakes by operation and key, and writer.

A graph is `{"format": "railyard-graph", "version": 1, "name": ..., "signals": ..., "operations": [...]}`. An
operation has an `id` and one of the keys `send`, `receive`, `compute_us` with `on`, and `copy`.
docs/use/graphs.md describes all keys, graph.schema.json is their schema.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from emulation.errors import GraphError
from emulation.traffic.frames.values import Combine
from emulation.traffic.graph.operations import Graph, Kind, Operation
from topologies.errors import suggestion

__all__ = ["FORMAT", "VERSION", "line_of", "read_graph", "to_document", "write_graph"]

FORMAT = "railyard-graph"
VERSION = 1

_COMMON = ("id", "after", "at_us", "delay_us")
_KEYS: Mapping[Kind, tuple[str, ...]] = {
    "send": ("send", "from", "to", "read", "write", "combine", "tag", "compute_us", "unit"),
    "receive": ("receive", "on", "from", "write", "combine", "tag"),
    "compute": ("compute_us", "on", "unit"),
    "copy": ("copy", "on", "read", "write", "combine", "compute_us", "unit"),
}
_COMBINE = {"copy": Combine.COPY, "reduce": Combine.REDUCE}
_PS = 10**6


def read_graph(document: Any, name: str = "graph") -> Graph:
    """Return the graph of a JSON document; GraphError names the operation and the key that are wrong."""
    if not isinstance(document, Mapping):
        raise GraphError("the graph is not a block of keys", remedy='give {"operations": [...]}')
    for key in document:
        if key not in ("format", "version", "name", "signals", "operations"):
            raise GraphError(
                f"unknown key {key!r} in a graph", key=str(key), remedy=suggestion(key, ["operations"])
            )
    if document.get("format", FORMAT) != FORMAT or document.get("version", VERSION) != VERSION:
        raise GraphError(
            f"format {document.get('format', FORMAT)!r}, version {document.get('version', VERSION)!r}, "
            "is not supported",
            key="format",
            remedy=f"give {FORMAT!r} of version {VERSION}",
        )
    rows = document.get("operations")
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        raise GraphError("the graph has no list of operations", key="operations", remedy="add `operations:`")
    signals = document.get("signals", False)
    if not isinstance(signals, bool):
        raise GraphError(f"`signals` is {signals!r}", key="signals", remedy="give true or false")
    operations = tuple(_operation(number, row) for number, row in enumerate(rows))
    return Graph(str(document.get("name", name)), operations, signals)


def write_graph(graph: Graph, path: Path) -> None:
    """Write a graph as JSON, one operation per line."""
    document = to_document(graph)
    rows = ",\n".join(json.dumps(row) for row in document.pop("operations"))
    head = json.dumps(document)[:-1]
    path.write_text(f'{head}, "operations": [\n{rows}\n]}}\n', encoding="utf-8")


def to_document(graph: Graph) -> dict[str, Any]:
    """Return the JSON document of a graph; sends added for `signals` are ordinary operations."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": graph.name,
        "operations": [_row(operation) for operation in graph.operations],
    }


def line_of(text: str, number: int, key: str) -> int:
    """Return the line, from 1, of a key of operation `number` in a JSON text, or of the operation itself."""
    decoder = json.JSONDecoder()
    at = text.find("[", text.find('"operations"')) + 1
    start = end = at
    for _ in range(number + 1):
        at = text.index("{", at)
        _, end = decoder.raw_decode(text, at)
        start, at = at, end
    match = re.compile(rf'"{re.escape(key)}"\s*:').search(text, start, end)
    return text.count("\n", 0, match.start() if match else start) + 1


def _operation(number: int, row: Any) -> Operation:
    if not isinstance(row, Mapping):
        raise GraphError(f"{row!r} is not an operation", operation=number, remedy="give a block of keys")
    values = _Values(number, row)
    kind = values.kind()
    for key in row:
        if key not in (*_COMMON, *_KEYS[kind]):
            known = [*_COMMON, *_KEYS[kind]]
            remedy = suggestion(str(key), known, f"known are {', '.join(known)}")
            values.refuse(str(key), f"unknown key {key!r} of a {kind}", remedy)
    combine = row.get("combine", "copy")
    if combine not in _COMBINE:
        values.refuse("combine", f"{combine!r} is not known", "give copy or reduce")
    after = row.get("after", ())
    if isinstance(after, str):
        after = (after,)
    if not isinstance(after, Sequence) or not all(isinstance(name, str | int) for name in after):
        values.refuse("after", f"{after!r} is no list of names", "name operations")
    name = row.get("id", f"{kind}{number}")
    if isinstance(name, bool) or not isinstance(name, str | int):
        values.refuse("id", f"{name!r} is no name", "give a word or a number")
    return Operation(
        id=str(name),
        kind=kind,
        member=values.node("from" if kind == "send" else "on"),
        peer={"send": lambda: values.node("to"), "receive": lambda: values.node("from")}.get(kind, str)(),
        size=values.whole(kind) if kind != "compute" else 0,
        read=values.source("read"),
        write=values.position("write"),
        combine=_COMBINE[combine],
        tag=None if row.get("tag") is None else values.whole("tag"),
        after=tuple(str(other) for other in after),
        at_ps=values.time("at_us"),
        delay_ps=values.time("delay_us"),
        compute_ps=values.time("compute_us"),
        unit=values.whole("unit") if "unit" in row else 0,
    )


class _Values:
    """Reader of the values of an operation's keys; GraphError for a wrong value."""

    def __init__(self, number: int, row: Mapping[str, Any]) -> None:
        self._number = number
        self._row = row

    def refuse(self, key: str, message: str, remedy: str) -> NoReturn:
        raise GraphError(message, operation=self._number, key=key, remedy=remedy)

    def kind(self) -> Kind:
        kinds: list[Kind] = [kind for kind in ("send", "receive", "copy") if kind in self._row]
        if not kinds and "compute_us" in self._row:
            return "compute"
        if len(kinds) != 1:
            what = " and ".join(kinds) or "nothing"
            self.refuse("id", f"an operation does {what}", "give one of send, receive, compute_us and copy")
        return kinds[0]

    def node(self, key: str) -> str:
        value = self._row.get(key)
        if not isinstance(value, str) or not value:
            self.refuse(key, f"{key} is {value!r}", "name a node such as npu0")
        return str(value)

    def whole(self, key: str) -> int:
        value = self._row.get(key)
        if isinstance(value, bool) or not isinstance(value, int):
            self.refuse(key, f"{key} is {value!r}", "give a whole number")
        assert isinstance(value, int)
        if value < 0 and key == "unit":
            self.refuse(key, f"unit {value}", "give 0 or more")
        return value

    def source(self, key: str) -> int | str | None:
        value = self._row.get(key)
        return value if isinstance(value, str) else self.position(key)

    def position(self, key: str) -> int | None:
        value = self._row.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            self.refuse(key, f"{key} is {value!r}", "give a position in bytes")
        return value

    def time(self, key: str) -> int:
        value = self._row.get(key, 0)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 10**9:
            self.refuse(key, f"{key} is {value!r}", "give microseconds from 0 to 1e9")
        return round(value * _PS)


def _row(operation: Operation) -> dict[str, Any]:
    row: dict[str, Any] = {"id": operation.id}
    match operation.kind:
        case "send":
            row |= {"send": operation.size, "from": operation.member, "to": operation.peer}
        case "receive":
            row |= {"receive": operation.size, "on": operation.member, "from": operation.peer}
        case "compute":
            row |= {"compute_us": operation.compute_ps / _PS, "on": operation.member}
        case "copy":
            row |= {"copy": operation.size, "on": operation.member}
    optional = {
        "read": operation.read,
        "write": operation.write,
        "combine": "reduce" if operation.combine is Combine.REDUCE else None,
        "tag": operation.tag,
        "after": list(operation.after) or None,
        "at_us": operation.at_ps / _PS or None,
        "delay_us": operation.delay_ps / _PS or None,
        "compute_us": operation.compute_ps / _PS or None,
        "unit": operation.unit or None,
    }
    return row | {key: value for key, value in optional.items() if value is not None}
