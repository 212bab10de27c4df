# SPDX-License-Identifier: Apache-2.0
"""Details of a frame's hops on a terminal: changed fields, and executed lines of P4."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.markup import escape

from harness.frames.anatomy import changes
from harness.frames.steps import Step, deciding_step
from harness.frames.walk import Hop, Journey
from railyard.cli.display.table import print_table
from topologies import Fabric

__all__ = ["print_hops"]

_DECIDES = " (decides)"
_LARGEST_DECIMAL = 0xFFFF


def print_hops(console: Console, fabric: Fabric, journey: Journey) -> None:
    """Print the changed fields of each hop, then a row for each table, condition, counter and write."""
    for number, hop in enumerate(journey.hops):
        console.print(f"\nhop {number}, {hop.node}", style="bold", markup=False)
        for line in _changes(fabric, hop):
            console.print(line, markup=False, soft_wrap=True)
        decisive = deciding_step(hop.steps)
        rows = [
            (
                _place(step),
                escape(_text(step)),
                escape(_result(step)) + (_DECIDES if step is decisive else ""),
            )
            for step in hop.steps
            if step is decisive or _shown(step)
        ]
        print_table(console, ("P4", "step", "result"), rows, names=("P4",))


def _changes(fabric: Fabric, hop: Hop) -> Iterator[str]:
    if hop.frame_out is None:
        yield f"dropped: {hop.dropped}"
        return
    changed = changes(fabric, hop.frame_in, hop.frame_out)
    if not changed:
        yield "no field changes"
    for change in changed:
        before, after = (value or "not there" for value in (change.before, change.after))
        yield f"{change.header}.{change.field}: {before} -> {after}"


def _shown(step: Step) -> bool:
    """Return whether to show a step: parser states and changes of the program's variables are left out."""
    if step.kind == "statement":
        return not step.target.startswith("scalars.")
    return step.kind != "state"


def _place(step: Step) -> str:
    return f"{step.source.file}:{step.source.line}" if step.source is not None else ""


def _text(step: Step) -> str:
    if step.lookup is not None:
        return f"table {step.name.rpartition('.')[2]}"
    return step.source.text if step.source is not None else step.name


def _result(step: Step) -> str:
    if step.lookup is not None:
        lookup = step.lookup
        key = ", ".join(
            f"{field.name} {field.value}"
            + (f" in {field.asked}" if field.asked not in ("", field.value) else "")
            for field in lookup.key
        )
        params = ", ".join(f"{name} {_number(value)}" for name, value in lookup.params)
        action = f"{lookup.action.rpartition('.')[2]}({params})" if lookup.action else "no action"
        counted = f", entry's frame {lookup.packets}" if lookup.packets is not None else ""
        return f"{key}: {'hit' if lookup.hit else 'miss'}, {action}{counted}"
    if step.outcome is not None:
        return "yes" if step.outcome else "no"
    if step.name == "count":
        return f"{step.target.rpartition('.')[2]}[{step.value}] + 1"
    if step.value is not None:
        return f"{step.target} = {_number(step.value)}"
    return ""


def _number(value: int) -> str:
    return str(value) if value <= _LARGEST_DECIMAL else hex(value)
