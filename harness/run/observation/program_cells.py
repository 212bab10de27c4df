# SPDX-License-Identifier: Apache-2.0
"""Counters and registers of P4 programs of the user's own, read from the switches when a run has ended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from controller.p4runtime.client import P4RuntimeClient
from controller.p4runtime.p4info import P4Info
from harness.files import PROGRAMS
from harness.run.observation.values import CounterCell, RegisterCell
from harness.run.prepare import Prepared

__all__ = ["counters_of", "registers_of"]


def counters_of(ready: Prepared, client: P4RuntimeClient) -> Iterator[CounterCell]:
    """Yield the cells, other than 0, of every indexed counter that the built-in program lacks."""
    for info, built_in, nodes in _programs(ready):
        known = {counter.preamble.alias for counter in built_in.message.counters}
        for name in _new((counter.preamble.alias for counter in info.message.counters), known):
            for node, cells in client.read_counters(nodes, name).items():
                for index in (cells.packets | cells.bytes).nonzero()[0].tolist():
                    yield CounterCell(node, name, index, int(cells.packets[index]), int(cells.bytes[index]))


def registers_of(ready: Prepared, client: P4RuntimeClient) -> Iterator[RegisterCell]:
    """Yield the cells, other than 0, of every register that the built-in program lacks.

    A server that reads no registers, as that of BMv2, has none.
    """
    for info, built_in, nodes in _programs(ready):
        known = {register.preamble.alias for register in built_in.message.registers}
        ids = {register.preamble.alias: register.preamble.id for register in info.message.registers}
        for name in _new(ids, known):
            for node, values in client.read_registers(nodes, ids[name]).items():
                yield from (
                    RegisterCell(node, name, index, value) for index, value in values.items() if value
                )


def _new(names: Iterable[str], known: set[str]) -> list[str]:
    return sorted({*names} - known)


def _programs(ready: Prepared) -> Iterator[tuple[P4Info, P4Info, list[str]]]:
    """Yield each program of the user's own with the built-in program that it replaces, and its nodes."""
    nodes: dict[tuple[bytes, str], list[str]] = {}
    for node, files in ready.own.files.items():
        nodes.setdefault((files.p4info, ready.fabric.node(node).program), []).append(node)
    for (p4info, replaced), names in nodes.items():
        built_in = (PROGRAMS / f"{replaced}.p4info.txtpb").read_bytes()
        yield P4Info.parse(p4info), P4Info.parse(built_in), names
