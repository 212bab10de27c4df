"""railyard sweep: the same run once for every link of the fabric, that link being the one that fails."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from lab.cli.screen import counting, out

__all__ = ["sweep"]


def sweep(
    file: Annotated[Path, typer.Argument(help="scenario file")],
    cut_each_link: Annotated[
        bool, typer.Option("--cut-each-link", help="put the fault on every link in turn")
    ] = False,
    variant: Annotated[str | None, typer.Option(help="which one [the first with a fault]")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="processes")] = os.cpu_count() or 1,
    seed: Annotated[int | None, typer.Option(min=0, help="instead of the scenario's own")] = None,
    folder: Annotated[
        Path | None, typer.Option("--out", help="folder for sweep.json [results/NAME-sweep]")
    ] = None,
) -> None:
    """Run a variant once for every link, in parallel processes; write sweep.json."""
    from lab.output import output_folder
    from lab.sweep import cuts, plan_sweep, to_json

    if not cut_each_link:
        raise typer.BadParameter("say what to sweep over: --cut-each-link", param_hint="sweep")
    scenario, planned = plan_sweep(file, variant, seed)
    results = []
    with output_folder(folder or Path("results", f"{scenario.name}-sweep")) as target:
        with counting(len(planned.links), "links cut") as advance, closing(cuts(planned, jobs)) as running:
            for cut in running:
                results.append(cut)
                advance()
        written = target.write("sweep.json", to_json(scenario, planned, "embedded", results))
    console = out()
    for cut in results:
        if not cut.right:
            console.print(f"[red]wrong[/] {cut.link}: {cut.trouble}", soft_wrap=True)
    right = sum(cut.right for cut in results)
    slowest = max(results, key=lambda cut: cut.completion_us)
    console.print(
        f"{right} right results of {len(results)}; slowest {slowest.completion_us:g} µs, {slowest.link}"
    )
    console.print(f"written: {written}", soft_wrap=True)
    raise typer.Exit(0 if right == len(results) else 1)
