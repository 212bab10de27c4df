"""railyard check: everything that can be wrong with a scenario, without running it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from railyard.cli.screen import out

__all__ = ["check"]


def check(file: Annotated[Path, typer.Argument(help="scenario file")]) -> None:
    """Check a scenario: its keys, fabric, faults, collective, routes; nothing is started."""
    from lab.run.prepare import prepare
    from lab.scenario.loader import load

    scenario, document = load(file)
    console = out()
    for ready in prepare(scenario, document):
        entries = sum(len(own) for own in ready.plan.entries.values())
        console.print(
            f"{ready.variant.name}: {len(ready.fabric.nodes)} nodes, {len(ready.fabric.links)} links, "
            f"{entries} table entries, no cycle under {ready.plan.rules}, "
            f"bound {ready.bound_ps / 10**6:.3f} µs",
            markup=False,
            soft_wrap=True,
        )
    console.print(f"{file}: good", markup=False, soft_wrap=True)
