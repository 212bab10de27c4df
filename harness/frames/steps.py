# SPDX-License-Identifier: Apache-2.0
"""Execution of a P4 program by one frame: parser states, tables, conditions, statements, and their source.

The engine reports the steps of a traced program (emulation/engine/switch/trace.cpp). p4c writes the place of
tables, conditions and statements into the compiled program; parser states have none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, final

from harness.files import PROGRAMS

__all__ = [
    "REASONS",
    "KeyField",
    "Lookup",
    "Source",
    "Step",
    "deciding_step",
    "drop_reason",
    "read_steps",
    "source_text",
]

REASONS = {
    1: "it is cut short",
    2: "its Ethernet type is not a UB link's",
    3: "what its cfg says follows is unknown",
    4: "its bitmap asks for a seventh instruction",
    5: "its ptr is past 11",
    6: "the port does not exist",
    7: "the tables have no route",
    8: "the turn has no lane",
    9: "nothing is known of the port it came by",
    10: "its length cannot hold another header",
    11: "a switch has no host to deliver it to",
    12: "it is for a foreign rail",
    13: "it is of no tree of the switch, or comes from no neighbour in it",
    14: "its block has what it brings already",
}
"""Meaning of each index of the counter `drops`: docs/reference/wire-format.md."""

_EGRESS_PORT = "egress_port"


@final
@dataclass(frozen=True, slots=True)
class Source:
    """A place in the P4 source: path from the root of the project, line from 1, and its text."""

    file: str
    line: int
    text: str


@final
@dataclass(frozen=True, slots=True)
class KeyField:
    """A field of a table's key: the frame's value, and the value of the entry that was hit ("" on a miss)."""

    name: str
    value: str
    asked: str


@final
@dataclass(frozen=True, slots=True)
class Lookup:
    """Result of a table: its key, whether an entry was hit, and the action that ran.

    `packets` is the entry's direct counter with this frame counted; None if the table has no counter.
    """

    key: tuple[KeyField, ...]
    hit: bool
    action: str
    params: tuple[tuple[str, int], ...]
    packets: int | None


@final
@dataclass(frozen=True, slots=True)
class Step:
    """Something that the program did to a frame.

    Attributes:
        kind: What the step is.
        name: Parser state, table or condition; operation of a statement.
        source: Its place; None for parser states, and for programs compiled without places.
        outcome: Value of a condition.
        lookup: Result of a table.
        target: Field, header or counter that a statement changes.
        value: New value of the field, or index of the counter.
    """

    kind: Literal["state", "table", "condition", "statement"]
    name: str
    source: Source | None
    outcome: bool | None = None
    lookup: Lookup | None = None
    target: str = ""
    value: int | None = None


def read_steps(given: Iterable[Mapping[str, Any]]) -> tuple[Step, ...]:
    """Return the steps that the engine's trace() reported."""
    return tuple(_step(step) for step in given)


def _step(given: Mapping[str, Any]) -> Step:
    kind = given["kind"]
    source = Source(given["file"], given["line"], given["text"]) if given["file"] else None
    if kind == "table":
        return Step(kind, given["name"], source, lookup=_lookup(given))
    if kind == "statement":
        value = given["value"]
        number = int.from_bytes(value) if value is not None else None
        return Step(kind, given["name"], source, target=given["target"], value=number)
    return Step(kind, given["name"], source, outcome=given.get("outcome"))


def _lookup(given: Mapping[str, Any]) -> Lookup:
    match = given["match"]
    fields = tuple(
        KeyField(name, _hex(value, bits), "" if match is None else _asked(kind, bits, *match[index]))
        for index, (name, kind, bits, value) in enumerate(given["key"])
    )
    params = tuple((name, int.from_bytes(value)) for name, value in given["params"])
    return Lookup(fields, bool(given["outcome"]), given["action"], params, given.get("packets"))


def _hex(value: bytes, bits: int) -> str:
    return f"{int.from_bytes(value):#0{2 + (bits + 3) // 4}x}"


def _asked(kind: str, bits: int, value: bytes, extra: bytes, prefix: int) -> str:
    """Return what an entry asks of a field, as P4 writes keys."""
    match kind:
        case "lpm":
            return f"{_hex(value, bits)}/{prefix}"
        case "ternary":
            return f"{_hex(value, bits)} &&& {_hex(extra, bits)}" if any(extra) else "any"
        case "range":
            return f"{_hex(value, bits)}..{_hex(extra, bits)}"
        case "optional":
            return _hex(value, bits) if prefix else "any"
        case _:
            return _hex(value, bits)


def drop_reason(counted: Iterable[int]) -> str:
    """Return why a frame was dropped, by the indices of the counter `drops` that it incremented."""
    return " and ".join(REASONS.get(index, f"reason {index}") for index in counted) or "it does not say why"


def deciding_step(steps: Iterable[Step]) -> Step | None:
    """Return the statement that dropped a frame; else the last one that chose its egress port."""
    decided = None
    for step in steps:
        if step.name == "mark_to_drop":
            return step
        target, _, field = step.target.rpartition(".")
        if field == _EGRESS_PORT and not target.startswith("standard_metadata"):
            decided = step
    return decided


def source_text(file: str) -> str | None:
    """Return the P4 source of a step, None if this installation does not have the file."""
    root = PROGRAMS.parents[1]
    path = (root / file).resolve()
    if not path.is_relative_to(root.resolve()) or path.suffix != ".p4" or not path.is_file():
        return None
    return path.read_text(encoding="utf-8")
