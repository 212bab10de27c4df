# SPDX-License-Identifier: Apache-2.0
"""railyard clean: what runs have left behind."""

from __future__ import annotations

from typing import Annotated

import typer

from railyard.cli.screen import out

__all__ = ["clean"]


def clean(
    all_runs: Annotated[bool, typer.Option("--all", help="end runs that are still going on, too")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only say what would be removed")] = False,
) -> None:
    """Remove what runs on Mininet have left whose process is gone; needs root.

    Every run notes what it makes before it makes it; nothing else is touched. Exit code 1 where something is
    left.
    """
    from emulation.mininet.linux import record

    cleaned = record.clean(all_runs, dry_run=dry_run)
    console = out()

    def say(text: str) -> None:
        console.print(text, markup=False, soft_wrap=True)

    verb = "would remove" if dry_run else "removed"
    for one in cleaned:
        for thing in one.removed:
            say(f"{one.run}: {verb} {thing}")
        for thing in one.left:
            say(f"{one.run}: left {thing}")
    done = {one.run for one in cleaned}
    for run, pid in record.living():
        if run not in done:
            say(f"{run}: goes on, process {pid} runs it; `railyard clean --all` ends it")
    if not cleaned:
        say("nothing to clean")
    if any(one.left for one in cleaned):
        raise typer.Exit(1)
