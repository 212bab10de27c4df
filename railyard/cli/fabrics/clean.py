# SPDX-License-Identifier: Apache-2.0
"""railyard clean: remove namespaces and processes that killed Mininet runs have left."""

from __future__ import annotations

from typing import Annotated

import typer

from railyard.cli.display.screen import say

__all__ = ["EXAMPLES", "clean"]

EXAMPLES = """
sudo railyard clean --dry-run
sudo railyard clean
"""


def clean(
    all_runs: Annotated[bool, typer.Option("--all", help="also end active runs")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="print what would be removed, and remove nothing")
    ] = False,
    local: Annotated[
        bool,
        typer.Option("--local", help="skip runs over several machines that were started on this machine"),
    ] = False,
) -> None:
    """Remove the namespaces and processes left by killed Mininet runs; needs root.

    Leftovers of a run over several machines are removed on the other machines by ssh.

    A run records every namespace before creating it, and only recorded namespaces are removed.

    Exit code 1: a namespace or process could not be removed.
    """
    from emulation.linux import record

    cleaned = record.clean(all_runs, dry_run=dry_run, local=local)
    verb = "would remove" if dry_run else "removed"
    for report in cleaned:
        say(*report.lines(verb))
    done = {report.run for report in cleaned}
    for run, pid in record.living():
        if run not in done:
            say(f"{run}: still running, process {pid}; `railyard clean --all` ends it")
    if not cleaned:
        say("nothing to clean")
    if any(report.left for report in cleaned):
        raise typer.Exit(1)
