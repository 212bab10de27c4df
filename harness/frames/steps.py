# SPDX-License-Identifier: Apache-2.0
"""Steps of a P4 program on a frame: parser states, tables, conditions and statements, with source lines.

The engine reports the steps of a traced program (emulation/engine/switch/trace.cpp). p4c writes the source
lines of tables, conditions and statements into the compiled program, but not of parser states.
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
    3: "its cfg names an unknown next header",
    4: "its bitmap asks for a seventh instruction",
    5: "its ptr is past 11",
    6: "the port does not exist",
    7: "the tables have no route",
    8: "the turn rule has no lane for it",
    9: "the tables do not know its ingress port",
    10: "its length cannot hold another header",
    11: "a switch has no host to deliver it to",
    12: "it is for a foreign rail",
    13: "it belongs to no reduction tree of the switch, or comes from no neighbour in the tree",
    14: "its values are already part of the block",
}
"""Reason for a dropped frame by index of the counter `drops`; see docs/reference/wire-format.md."""

_EGRESS_PORT = "egress_port"


@final
@dataclass(frozen=True, slots=True)
class Source:
    """A line of a P4 source: path from the root of the project, line number from 1, text."""

    file: str
    line: int
    text: str


@final
@dataclass(frozen=True, slots=True)
class KeyField:
    """A field of a table's key: `value` in the frame, `asked` in the matching entry ("" on a miss)."""

    name: str
    value: str
    asked: str


@final
@dataclass(frozen=True, slots=True)
class Lookup:
    """Result of a table lookup: the key, whether an entry matched, and the action that ran.

    `packets` is the entry's direct counter, including this frame; None if the table has no direct counter.
    """

    key: tuple[KeyField, ...]
    hit: bool
    action: str
    params: tuple[tuple[str, int], ...]
    packets: int | None


@final
@dataclass(frozen=True, slots=True)
class Step:
    """A step of a P4 program on a frame.

    Attributes:
        kind: Kind of the step.
        name: Name of the parser state, table or condition; operation of a statement.
        source: Source line; None for parser states, and for programs compiled without source lines.
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
    """Convert the dictionaries reported by the engine's `Network.trace` to steps."""
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
    """Return an entry's value for a key field in P4 notation, such as 0x0a/8, 0x01 &&& 0x0f, or `any`."""
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
    """Return the reason of a drop in words; `counted` has the indices of the counter `drops` that grew."""
    return " and ".join(REASONS.get(index, f"reason {index}") for index in counted) or "no reason is counted"


def deciding_step(steps: Iterable[Step]) -> Step | None:
    """Return the statement that dropped a frame, or else the last statement that set its egress port."""
    decided = None
    for step in steps:
        if step.name == "mark_to_drop":
            return step
        target, _, field = step.target.rpartition(".")
        if field == _EGRESS_PORT and not target.startswith("standard_metadata"):
            decided = step
    return decided


def source_text(file: str) -> str | None:
    """Return the text of a P4 source file; None if this installation does not have the file."""
    root = PROGRAMS.parents[1]
    path = (root / file).resolve()
    if not path.is_relative_to(root.resolve()) or path.suffix != ".p4" or not path.is_file():
        return None
    return path.read_text(encoding="utf-8")
