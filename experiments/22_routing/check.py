# SPDX-License-Identifier: Apache-2.0
"""The routing techniques of UB-Mesh's Table 4: table entries, paths, paths that are not minimal, recovery.

Runs the scenario, reads entries and paths from the plans of its variants, and draws the figure. Exit code 1
when something is not as the README says.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import final

from rich.console import Console
from rich.table import Table

from controller import Plan, make_plan
from harness.report.figures.plot import INK, bare_rows, colour, new_figure, plain, svg_of
from papers.checking.statements import say
from railyard.command import result_of
from topologies import Fabric, full_mesh

HERE = Path(__file__).parent
OUT = Path("results", "routing")
DIMS = (8, 8)
TECHNIQUES: Mapping[str, tuple[str, str, str]] = {
    "LPM": ("lpm", "tables", "T2-G"),
    "host-based": ("host", "all-path", "T2-G"),
    "DOR": ("dor", "tables", "T1-DOR"),
    "all-path": ("apr", "all-path", "T2-G"),
}
ADDRESS_TABLES = ("segment", "linear")


@final
@dataclass(frozen=True)
class Figures:
    """Figures of a technique. Entries are of a node, `recovery_us` is what the cut costs; None: no result."""

    address_entries: float
    path_entries: float
    paths: float
    longer_percent: float
    pair_us: float
    recovery_us: float | None
    notices: int


def entries(plan: Plan, *tables: str) -> float:
    counts = Counter(entry.table for rows in plan.entries.values() for entry in rows)
    return sum(counts[table] for table in tables) / len(plan.entries)


def minimal_hops(fabric: Fabric, source: str, destination: str) -> int:
    a, b = fabric.node(source).coordinates, fabric.node(destination).coordinates
    return sum(x != y for x, y in zip(a, b, strict=True))


def figures(fabric: Fabric, technique: str, metrics: Mapping[str, float]) -> Figures:
    name, strategy, rules = TECHNIQUES[technique]
    plan = make_plan(fabric, strategy=strategy, rules=rules)
    distinct = {pair: set(paths) for pair, paths in plan.routes.items()}
    longer = [
        any(len(path) - 1 > minimal_hops(fabric, *pair) for path in paths) for pair, paths in distinct.items()
    ]
    cut = metrics[f"{name}-cut.correct_npus"] == len(fabric.nodes)
    in_time = metrics[f"{name}-cut.convergence_us"] < metrics[f"{name}-cut.completion_us"]
    cost = metrics[f"{name}-cut.completion_us"] - metrics[f"{name}.completion_us"]
    return Figures(
        address_entries=entries(plan, *ADDRESS_TABLES),
        path_entries=entries(plan, "all_path"),
        paths=mean(map(len, distinct.values())),
        longer_percent=100 * mean(longer),
        pair_us=metrics[f"{name}-pair.completion_us"],
        recovery_us=cost if cut else None,
        notices=int(metrics[f"{name}-cut.notices"]) if in_time else 0,
    )


def table(rows: Mapping[str, Figures]) -> Table:
    shown = Table(caption="needs: UB-Mesh, Table 4; figures: measured here, 8 x 8 mesh")
    for column in (
        "technique",
        "address entries",
        "path entries",
        "paths a pair",
        "pairs with longer paths",
        "one pair, µs",
        "a cut costs, µs",
        "notices",
    ):
        shown.add_column(column, justify="left" if column == "technique" else "right")
    for technique, row in rows.items():
        shown.add_row(
            technique,
            f"{row.address_entries:.0f}",
            f"{row.path_entries:,.0f}",
            f"{row.paths:.2f}",
            f"{row.longer_percent:.0f} %",
            f"{row.pair_us:.2f}",
            "no result" if row.recovery_us is None else f"{row.recovery_us:.2f}",
            f"{row.notices}",
        )
    return shown


def picture(rows: Mapping[str, Figures]) -> str:
    """Draw a panel for each of four figures and a bar for each technique."""
    panels = {
        "entries of a node": [row.address_entries + row.path_entries for row in rows.values()],
        "paths a pair": [row.paths for row in rows.values()],
        "one pair sends 4 MiB, µs": [row.pair_us for row in rows.values()],
        "a cut costs, µs": [row.recovery_us or 0.0 for row in rows.values()],
    }
    figure, _ = new_figure(height=2.3)
    figure.clear()
    all_axes = figure.subplots(1, len(panels), sharey=True)
    for axes, (title, values) in zip(all_axes, panels.items(), strict=True):
        plain(axes)
        axes.barh(range(len(values)), values, color=[colour(index) for index in range(len(values))])
        for row, value in enumerate(values):
            text = "no result" if title.startswith("a cut") and not value else f"{value:,.3g}"
            if value >= 1000:
                text = f"{value:,.0f}"
            axes.annotate(
                text, (value, row), xytext=(4, 0), textcoords="offset points", va="center", color=INK
            )
        axes.set_xlim(0, 1.5 * max(values))
        axes.set_xticks([])
        axes.set_xlabel(title)
        bare_rows(axes)
    all_axes[0].set_yticks(range(len(rows)), list(rows))
    all_axes[0].invert_yaxis()
    figure.tight_layout()
    return svg_of(figure, "routing")


def main() -> int:
    code, result = result_of(HERE / "scenario.yaml", folder=OUT)
    fabric = full_mesh(DIMS)
    rows = {technique: figures(fabric, technique, result["metrics"]) for technique in TECHNIQUES}
    Console(width=150).print(table(rows))
    (OUT / "routing.svg").write_text(picture(rows) + "\n")
    print(f"written: {OUT / 'routing.svg'}")
    lpm, host, dor, apr = rows.values()
    checks = {
        "all assertions hold": code == 0,
        "address tables are the same with and without source routes, up to the host's own paths": (
            lpm.address_entries == apr.address_entries and lpm.path_entries == dor.path_entries == 0
        ),
        "a source has 16 path entries for each destination": apr.path_entries == 16 * (len(fabric.nodes) - 1),
        "prefixes and DOR have a single path": lpm.paths == dor.paths == 1,
        "only host-based and all-path routing use paths that are not minimal": (
            lpm.longer_percent == dor.longer_percent == 0 < host.longer_percent == apr.longer_percent
        ),
        "DOR has no other path": dor.recovery_us is None,
        "all-path routing recovers first": all(
            other.recovery_us is None or (apr.recovery_us or 0.0) < other.recovery_us
            for other in (lpm, host, dor)
        ),
    }
    return say(checks)


if __name__ == "__main__":
    sys.exit(main())
