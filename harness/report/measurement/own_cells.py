# SPDX-License-Identifier: Apache-2.0
"""Counters and registers of the user's own P4 programs, for assertions and report.html."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape

from harness.report.markup import shown, table
from harness.run.observation.values import Observation
from harness.run.observation.variant_run import VariantRun
from harness.scenario.cell_metrics import CellMetric, cell_metric
from harness.scenario.schema import Scenario

__all__ = ["UNREAD", "cell_figures", "cells_html", "is_unread"]

UNREAD = "not read: the P4Runtime server of the switches refuses to read registers, as that of BMv2 does"
"""Text of the report for a register that could not be read."""

# Largest number of cells of a counter or register in the report; cells with the largest values are shown.
_ROWS = 16


def cell_figures(metrics: frozenset[str], runs: Mapping[str, VariantRun]) -> dict[str, int]:
    """Return the values of counter and register metrics, by their names VARIANT.METRIC.

    The value is the sum over the cells of a counter, and the maximum over the cells of a register.
    """
    figures: dict[str, int] = {}
    for metric in metrics:
        variant, _, name = metric.partition(".")
        cell = cell_metric(name)
        if cell is not None and variant in runs:
            figures[metric] = _figure(cell, runs[variant].observation)
    return figures


def is_unread(metric: str, runs: Mapping[str, VariantRun]) -> bool:
    """Return whether a metric, VARIANT.METRIC, names a register that the switches refused to read."""
    variant, _, name = metric.partition(".")
    cell = cell_metric(name)
    return (
        cell is not None
        and cell.kind == "register"
        and cell.name in runs[variant].observation.unread_registers
    )


def cells_html(scenario: Scenario, runs: Mapping[str, VariantRun]) -> Iterator[str]:
    """Yield HTML tables of non-zero cells, one per variant and counter or register, largest values first."""
    for variant in scenario.variants:
        seen = runs[variant.name].observation
        counters = sorted(seen.counters, key=lambda cell: -cell.packets)
        registers = sorted(seen.registers, key=lambda cell: -cell.value)
        tables = {
            f"counter {name}": (
                ["node", "index", "packets", "bytes"],
                [
                    [escape(cell.node), str(cell.index), shown(cell.packets), shown(cell.bytes)]
                    for cell in counters
                    if cell.counter == name
                ],
            )
            for name in sorted({cell.counter for cell in counters})
        } | {
            f"register {name}": (
                ["node", "index", "value"],
                [
                    [escape(cell.node), str(cell.index), shown(cell.value)]
                    for cell in registers
                    if cell.register == name
                ],
            )
            for name in sorted({cell.register for cell in registers})
        }
        for name, (heads, rows) in tables.items():
            count = f"{len(rows):,} cell{'s' * (len(rows) > 1)} other than 0"
            yield f"<details><summary>{escape(variant.label)}, {escape(name)}: {count}</summary>"
            yield table(heads, rows[:_ROWS], len(heads) - 1)
            if len(rows) > _ROWS:
                yield f'<p class="soft">The {_ROWS} largest; result.json has all.</p>'
            yield "</details>"
        for name in seen.unread_registers:
            yield f'<p class="soft">{escape(variant.label)}, register {escape(name)}: {UNREAD}.</p>'


def _figure(cell: CellMetric, seen: Observation) -> int:
    if cell.kind == "register":
        stored = (item for item in seen.registers if item.register == cell.name)
        return max((item.value for item in stored if cell.has(item.node, item.index)), default=0)
    counted = (item for item in seen.counters if item.counter == cell.name)
    return sum(
        item.packets if cell.unit == "packets" else item.bytes
        for item in counted
        if cell.has(item.node, item.index)
    )
