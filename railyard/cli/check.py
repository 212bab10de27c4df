# SPDX-License-Identifier: Apache-2.0
"""railyard check: find every error of a scenario without running it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from railyard.cli.display.screen import out

__all__ = ["EXAMPLES", "check"]

EXAMPLES = """
railyard check experiments/01_first_train/scenario.yaml
"""


def check(file: Annotated[Path, typer.Argument(help="scenario file")]) -> None:
    """Check the keys, fabric, faults, collective and routes of a scenario; nothing is started.

    The memory that a run needs is foreseen; where this machine has less, `railyard run` refuses.

    Every error is printed with FILE:LINE and a remedy; exit code 2 when there is one.
    """
    from lab.run.memory import available_bytes, foreseen_bytes, in_words, whole_bytes
    from lab.run.prepare import prepare
    from lab.scenario.loader import load

    scenario, document = load(file)
    console = out()
    prepared = prepare(scenario, document)
    for ready in prepared:
        entries = sum(len(own) for own in ready.plan.entries.values())
        console.print(
            f"{ready.variant.name}: {len(ready.fabric.nodes)} nodes, {len(ready.fabric.links)} links, "
            f"{entries} table entries, no cycle under {ready.plan.rules}, "
            f"bound {ready.bound_ps / 10**6:.3f} µs",
            markup=False,
            soft_wrap=True,
        )
    free = available_bytes()
    lacks = f"; this machine has {in_words(free)} left" if free and free < foreseen_bytes(prepared) else ""
    console.print(f"memory: about {in_words(whole_bytes(prepared))}{lacks}", markup=False, soft_wrap=True)
    console.print(f"{file}: good", markup=False, soft_wrap=True)
