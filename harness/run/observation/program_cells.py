# SPDX-License-Identifier: Apache-2.0
"""Counters and registers of P4 programs of the user's own, read from the switches when a run has ended."""

from __future__ import annotations

from collections.abc import Iterator

from controller.p4runtime.client import P4RuntimeClient
from harness.run.observation.values import CounterCell, RegisterCell
from harness.run.prepare import Prepared
from harness.run.programs.own_cells import own_cells

__all__ = ["counters_of", "registers_of"]


def counters_of(ready: Prepared, client: P4RuntimeClient) -> Iterator[CounterCell]:
    """Yield the nonzero cells of the counters added by the user's programs."""
    for own in own_cells(ready.fabric, ready.own):
        for name in own.counters:
            for node, cells in client.read_counters(own.nodes, name).items():
                for index in (cells.packets | cells.bytes).nonzero()[0].tolist():
                    yield CounterCell(node, name, index, int(cells.packets[index]), int(cells.bytes[index]))


def registers_of(
    ready: Prepared, client: P4RuntimeClient
) -> tuple[tuple[RegisterCell, ...], tuple[str, ...]]:
    """Return the nonzero cells of the registers added by the user's programs.

    The second value has the names of registers that a switch refused to read; BMv2 refuses to read any
    register.
    """
    cells: list[RegisterCell] = []
    refused: dict[str, None] = {}
    for own in own_cells(ready.fabric, ready.own):
        for name, (register_id, _) in own.registers.items():
            for node, values in client.read_registers(own.nodes, register_id).items():
                if values is None:
                    refused[name] = None
                    continue
                cells += (RegisterCell(node, name, index, value) for index, value in values.items() if value)
    return tuple(cells), tuple(refused)
