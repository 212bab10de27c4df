# SPDX-License-Identifier: Apache-2.0
"""Counters and registers of a user's P4 programs that the replaced built-in programs lack."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from controller.p4runtime.p4info import P4Info
from emulation.errors import ProgramError
from harness.files import PROGRAMS
from harness.run.programs.own_program import OwnPrograms
from harness.scenario.cell_metrics import CellMetric
from topologies import Fabric
from topologies.errors import suggestion

__all__ = ["OwnCells", "check_cells", "own_cells"]


@final
@dataclass(frozen=True, slots=True)
class OwnCells:
    """Counters and registers added by a user's P4 program: (id, number of cells) by name.

    `nodes` are the nodes that run the program.
    """

    nodes: Sequence[str]
    counters: Mapping[str, tuple[int, int]]
    registers: Mapping[str, tuple[int, int]]


def own_cells(fabric: Fabric, programs: OwnPrograms) -> tuple[OwnCells, ...]:
    """Return the counters and registers of the user's programs that the replaced built-in programs lack."""
    nodes: dict[tuple[bytes, str], list[str]] = {}
    for node, files in programs.files.items():
        nodes.setdefault((files.p4info, fabric.node(node).program), []).append(node)
    cells: list[OwnCells] = []
    for (p4info, replaced), names in nodes.items():
        own = P4Info.parse(p4info).message
        built_in = P4Info.parse((PROGRAMS / f"{replaced}.p4info.txtpb").read_bytes()).message
        cells.append(
            OwnCells(names, _new(own.counters, built_in.counters), _new(own.registers, built_in.registers))
        )
    return tuple(cells)


def check_cells(metric: CellMetric, fabric: Fabric, cells: Sequence[OwnCells]) -> None:
    """Raise a ProgramError unless a user's program has the counter or register cells of a metric."""
    of_kind = [(own.nodes, own.counters if metric.kind == "counter" else own.registers) for own in cells]
    names = sorted({name for _, known in of_kind for name in known})
    holders = {node: known[metric.name] for nodes, known in of_kind if metric.name in known for node in nodes}
    if not holders:
        raise ProgramError(
            f"none of your own programs has a {metric.kind} {metric.name!r} that the built-in program lacks",
            remedy=suggestion(metric.name, names) if names else f"declare this {metric.kind} in a program",
        )
    if metric.node is None:
        return
    fabric.node(metric.node)
    if metric.node not in holders:
        raise ProgramError(
            f"{metric.node} runs no program with a {metric.kind} {metric.name!r}",
            remedy=suggestion(metric.node, holders),
        )
    _, size = holders[metric.node]
    if metric.index is not None and metric.index >= size:
        raise ProgramError(
            f"the {metric.kind} {metric.name} has no cell {metric.index}",
            remedy=f"use a cell from 0 to {size - 1}",
        )


def _new(own: Iterable[Any], built_in: Iterable[Any]) -> dict[str, tuple[int, int]]:
    """Return (id, number of cells) of each item of `own` not in `built_in`, by name in sorted order."""
    known = {item.preamble.alias for item in built_in}
    added = (item for item in own if item.preamble.alias not in known)
    return {
        item.preamble.alias: (item.preamble.id, item.size)
        for item in sorted(added, key=lambda item: item.preamble.alias)
    }
