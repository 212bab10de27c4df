# SPDX-License-Identifier: Apache-2.0
"""Routing techniques of UB-Mesh's Table 4: entries and paths of their plans, what a cut costs, a picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from math import isinf
from statistics import mean
from typing import Any

from controller import Plan, make_plan
from controller.paths.finder import differing_coordinates
from harness.report.figures.plot import bar_panels, colour, svg_of
from topologies import full_mesh

DIMS = (8, 8)
# Variant, strategy and rules by technique.
TECHNIQUES: Mapping[str, tuple[str, str, str]] = {
    "LPM": ("lpm", "tables", "T2-G"),
    "host-based": ("host", "all-path", "T2-G"),
    "DOR": ("dor", "tables", "T1-DOR"),
    "all-path": ("apr", "all-path", "T2-G"),
}


def techniques(result: Mapping[str, Any]) -> dict[str, float]:
    """Return by VARIANT.FIGURE: entries of a node, paths a pair, pairs with longer paths, what a cut costs.

    `recovery_us` is infinite for a technique that does not survive the cut.
    """
    metrics = result["metrics"]
    figures: dict[str, float] = {}
    for name, strategy, rules in TECHNIQUES.values():
        figures |= {f"{name}.{key}": value for key, value in planned(strategy, rules).items()}
        right = metrics[f"{name}-cut.correct_npus"] == DIMS[0] * DIMS[1]
        cost = metrics[f"{name}-cut.completion_us"] - metrics[f"{name}.completion_us"]
        figures[f"{name}.recovery_us"] = cost if right else float("inf")
    return figures


@cache
def planned(strategy: str, rules: str) -> Mapping[str, float]:
    """Return the figures of a technique's plan; entries are of a node."""
    fabric = full_mesh(DIMS)
    plan = make_plan(fabric, strategy=strategy, rules=rules)
    distinct = {pair: set(paths) for pair, paths in plan.routes.items()}
    longer = [
        max(map(len, paths)) - 1 > differing_coordinates(fabric, *pair) for pair, paths in distinct.items()
    ]
    return {
        "address_entries": entries(plan, "segment", "linear"),
        "path_entries": entries(plan, "all_path"),
        "paths": mean(map(len, distinct.values())),
        "longer_percent": 100 * mean(longer),
    }


def entries(plan: Plan, *tables: str) -> float:
    """Return the mean number of entries of a node in some tables."""
    counts = Counter(entry.table for rows in plan.entries.values() for entry in rows)
    return sum(counts[table] for table in tables) / len(plan.entries)


def picture(result: Mapping[str, Any]) -> str:
    """Draw a panel for each of four figures and a bar for each technique."""
    figures = techniques(result)
    names = [name for name, _, _ in TECHNIQUES.values()]
    costs = [figures[f"{name}.recovery_us"] for name in names]
    times = [result["metrics"][f"{name}-pair.completion_us"] for name in names]
    rows = [figures[f"{name}.address_entries"] + figures[f"{name}.path_entries"] for name in names]
    panels = {
        "entries of a node": [(row, f"{row:,.0f}" if row >= 1000 else f"{row:.3g}") for row in rows],
        "paths a pair": [(count, f"{count:.3g}") for count in (figures[f"{name}.paths"] for name in names)],
        "one pair sends 4 MiB, µs": [(time, f"{time:.3g}") for time in times],
        "a cut costs, µs": [(0.0, "no result") if isinf(cost) else (cost, f"{cost:.3g}") for cost in costs],
    }
    colours = [colour(index) for index in range(len(names))]
    return svg_of(bar_panels([*TECHNIQUES], panels, colours, height=2.3, room=1.5), "routing")
