# SPDX-License-Identifier: Apache-2.0
"""railyard sweep: repeat a run with every link, pair of links, NPU or switch failing in turn."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from railyard.cli.display.screen import counting, out
from railyard.cli.display.table import print_table

if TYPE_CHECKING:
    from lab.sweeps.failures import TargetKind
    from lab.sweeps.sweep import Cut

__all__ = ["EXAMPLES", "sweep"]

EXAMPLES = """
railyard sweep experiments/01_first_train/every_link.yaml --cut-each-link
railyard sweep experiments/08_recovery/scenario.yaml --pairs 100 --jobs 4
railyard sweep experiments/09_spare/scenario.yaml --fail-each-npu
"""

_FAILED = {"npu": "NPUs failed", "switch": "switches failed"}


def sweep(
    file: Annotated[Path, typer.Argument(help="scenario file")],
    cut_each_link: Annotated[
        bool, typer.Option("--cut-each-link", help="fail every link in turn, each in a run of its own")
    ] = False,
    pairs: Annotated[
        int, typer.Option(min=0, help="fail this number of pairs of links, drawn by the seed")
    ] = 0,
    fail_each_npu: Annotated[
        bool, typer.Option("--fail-each-npu", help="fail every NPU of the job in turn")
    ] = False,
    fail_each_switch: Annotated[
        bool, typer.Option("--fail-each-switch", help="fail every switch in turn")
    ] = False,
    variant: Annotated[
        list[str] | None,
        typer.Option(help="variant to run; unless given, all variants with a fault; may be repeated"),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="number of processes")] = os.cpu_count() or 1,
    seed: Annotated[int | None, typer.Option(min=0, help="seed in place of the scenario's own")] = None,
    folder: Annotated[
        Path | None, typer.Option("--out", help="folder for the results; else results/NAME-sweep")
    ] = None,
) -> None:
    """Run variants without a fault, then once for every failure; write sweep.json and sweep.svg.

    Exit code 1: the data of a run is wrong.
    """
    from lab.report.output import output_folder
    from lab.sweeps.sweep import cuts, plan_sweep, to_json

    links = cut_each_link or bool(pairs)
    if links + fail_each_npu + fail_each_switch != 1:
        raise typer.BadParameter(
            "say what to sweep over: --cut-each-link, --pairs or both; or --fail-each-npu; or "
            "--fail-each-switch",
            param_hint="sweep",
        )
    if not links:
        return _fail_each(
            file, "npu" if fail_each_npu else "switch", (variant or [None])[0], jobs, seed, folder
        )
    scenario, planned = plan_sweep(file, variant or (), seed, each_link=cut_each_link, pairs=pairs)
    results: list[Cut] = []
    with output_folder(folder or Path("results", f"{scenario.name}-sweep")) as target:
        with counting(len(planned.runs), "runs") as advance, closing(cuts(planned, jobs)) as running:
            for cut in running:
                results.append(cut)
                advance()
        written = [
            target.write("sweep.json", to_json(scenario, planned, "embedded", results)),
            target.write("sweep.svg", _picture(planned.variants, results)),
        ]
    console = out()
    _print(console, planned.variants, results)
    for cut in results:
        if not cut.right:
            console.print(f"[red]wrong[/] {cut.variant}, {cut.name}: {cut.trouble}", soft_wrap=True)
    with_cut = [cut for cut in results if cut.links]
    right = sum(cut.right for cut in with_cut)
    slowest = max(with_cut, key=lambda cut: cut.completion_us)
    console.print(
        f"{right} right results of {len(with_cut)}; slowest {slowest.completion_us:g} µs, {slowest.name}"
    )
    for path in written:
        console.print(f"written: {path}", soft_wrap=True)
    raise typer.Exit(0 if all(cut.right for cut in results) else 1)


def _fail_each(
    file: Path, kind: TargetKind, variant: str | None, jobs: int, seed: int | None, folder: Path | None
) -> None:
    """Run a variant once for every NPU or switch, in parallel processes; write sweep.json."""
    from lab.report.output import output_folder
    from lab.sweeps.failures import failures, passed, plan_failures, to_json

    scenario, planned = plan_failures(file, variant, seed, kind)
    results = []
    with output_folder(folder or Path("results", f"{scenario.name}-each-{kind}")) as target:
        total = len(planned.targets)
        with counting(total, _FAILED[kind]) as advance, closing(failures(planned, jobs)) as running:
            for outcome in running:
                results.append(outcome)
                advance()
        written = target.write("sweep.json", to_json(scenario, planned, "embedded", results))
    console = out()
    for outcome in results:
        if not outcome.right:
            word = "[yellow]stopped[/]" if outcome.stopped else "[red]wrong[/]"
            console.print(f"{word} {escape(outcome.target)}: {escape(outcome.trouble)}", soft_wrap=True)
    summary = f"{sum(outcome.right for outcome in results)} right results of {total}"
    if spares := sum(bool(outcome.spare) for outcome in results):
        summary += f", {spares} with a spare"
    if stopped := sum(outcome.stopped for outcome in results):
        summary += f", {stopped} stopped and said what was cut off"
    slowest = max(results, key=lambda outcome: outcome.completion_us)
    console.print(f"{summary}; slowest {slowest.completion_us:g} µs, {slowest.target}", markup=False)
    console.print(f"written: {written}", soft_wrap=True)
    raise typer.Exit(0 if passed(planned, results) else 1)


def _print(console: Console, variants: Sequence[str], results: Sequence[Cut]) -> None:
    """Print the healthy run of each variant, and the median and maximum of each figure over its cuts."""
    figures = {
        "took": lambda cut: cut.completion_us,
        "converged after": lambda cut: cut.convergence_us,
        "told": lambda cut: cut.nodes_notified,
        "messages": lambda cut: cut.notices,
        "rewritten": lambda cut: cut.entries_rewritten,
        "lost": lambda cut: cut.lost_frames,
        "sent again": lambda cut: cut.retransmitted_frames,
    }
    rows = []
    for variant in variants:
        own = [cut for cut in results if cut.variant == variant]
        for number in sorted({len(cut.links) for cut in own}):
            runs = [cut for cut in own if len(cut.links) == number]
            values = [_shown([figure(cut) for cut in runs]) for figure in figures.values()]
            links = ("none", "1 link")[number] if number < 2 else f"{number} links"
            rows.append((variant, links, str(len(runs)), str(sum(cut.right for cut in runs)), *values))
    print_table(
        console,
        ("variant", "cut", "runs", "right", *figures),
        rows,
        numbers=("runs", "right", *figures),
        caption="median and maximum of the runs; times in µs",
    )


def _shown(values: Sequence[float]) -> str:
    middle, largest = median(values), max(values)
    return f"{middle:.4g}" if middle == largest else f"{middle:.4g} - {largest:.4g}"


def _picture(variants: Sequence[str], results: Sequence[Cut]) -> str:
    """Return the distributions over all runs with a cut; runs without a correct result are counted only."""
    from lab.report.figures.comparison_charts import Samples, distributions_svg

    panels = {
        "from the cut to the last table write, µs": lambda cut: cut.convergence_us,
        "until the last NPU has its result, µs": lambda cut: cut.completion_us,
    }
    runs = [[cut for cut in results if cut.links and cut.variant == variant] for variant in variants]
    curves = {
        title: [
            Samples(
                index,
                variant,
                [of(cut) for cut in runs[index] if cut.right],
                failed=sum(not cut.right for cut in runs[index]),
            )
            for index, variant in enumerate(variants)
        ]
        for title, of in panels.items()
    }
    return distributions_svg(curves) + "\n"
