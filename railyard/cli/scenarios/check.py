# SPDX-License-Identifier: Apache-2.0
"""railyard check: find the errors of a scenario without running it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from railyard.cli.completion import scenarios
from railyard.cli.display.screen import complain, exit_code, progress, say
from railyard.cli.options import Quiet
from topologies.errors import RailyardError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from controller.plan.plan import Plan
    from harness.run.prepare import Prepared

__all__ = ["EXAMPLES", "check"]

# Largest number of pairs for which all paths are searched.
_MAX_SEARCHED_PAIRS = 20_000

EXAMPLES = """
railyard check experiments/01_first_train/scenario.yaml
railyard check experiments/*/scenario.yaml
"""


def _lanes(plan: Plan) -> Iterator[str]:
    """Yield a line about the virtual lanes of routes on a graph, and about longer paths for lack of lanes.

    Fabrics whose routes follow dimensions have no such line.
    """
    from controller.paths.graph.virtual_lanes import lanes_used, lengthened
    from controller.schemes.registry import scheme_of

    scheme = scheme_of(plan)
    if scheme.follows_dimensions:
        return
    rules = scheme.rules
    used = lanes_used(plan.fabric, rules, (path for paths in plan.routes.values() for path in paths))
    longer = lengthened(plan.fabric, plan.routes)
    line = f"{used} of {rules.vls} lanes; every pair has a shortest path"
    if longer:
        hops = f"{max(longer)} hop{'s' if max(longer) > 1 else ''}"
        line = (
            f"{used} of {rules.vls} lanes; {sum(longer.values())} of {len(plan.routes)} pairs have paths up "
            f"to {hops} longer than their shortest paths, which need more lanes"
        )
    yield line


def _single_paths(plan: Plan) -> Iterator[str]:
    """Yield a line with the number of pairs with a single permitted path, in a mesh without switches."""
    from controller.paths.single_paths import pairs_with_one_path
    from controller.paths.source_route import MAX_INSTRUCTIONS
    from controller.schemes.registry import scheme_of

    if plan.fabric.switches or len(plan.routes) > _MAX_SEARCHED_PAIRS:
        return
    single = pairs_with_one_path(scheme_of(plan), plan.routes)
    if single:
        yield (
            f"{len(single)} of {len(plan.routes)} pairs have a single path of up to {MAX_INSTRUCTIONS} hops "
            f"under {plan.rules}, such as {single[0][0]} to {single[0][1]}; a failure of this path separates "
            "the pair"
        )


def _graphs(ready: Prepared) -> Iterator[str]:
    """Yield lines about the traffic graphs of a variant: numbers of operations, and longest chains."""
    from emulation.traffic.graph.operations import KINDS
    from harness.run.planning.graphs import chain_of

    for plan in ready.jobs:
        for job in () if plan.graph is None else plan.graph.jobs:
            graph = job.job.graph
            counts = {kind: sum(o.kind == kind for o in graph.operations) for kind in KINDS}
            parts = [f"{count:,} {kind}" for kind, count in counts.items() if count]
            size = sum(o.size for o in graph.operations if o.kind == "send")
            free = sum(not (o.after or isinstance(o.read, str)) for o in graph.operations)
            yield (
                f"job {job.job.name}: {', '.join(parts)} among {len(graph.members)} members, {size:,} bytes; "
                f"{free:,} wait for nothing"
            )
            time_ps, names = chain_of(ready.fabric, graph)
            shown = names if len(names) <= 6 else (*names[:3], "...", *names[-2:])
            yield (
                f"job {job.job.name}: longest chain of {len(names)}: {' > '.join(shown)}, "
                f"{time_ps / 10**6:.3f} µs or more"
            )
        if len(plan.shares) > 1:
            yield f"jobs {', '.join(share.name for share in plan.shares)} share members"


def check(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="scenario files, or names of `railyard list`",
            autocompletion=scenarios,
        ),
    ],
    quiet: Quiet = False,
) -> None:
    """Check the keys, fabric, faults, collective, routes and study of scenarios without running them.

    The schedules of your own collectives are proved: each NPU ends with the data that the collective
    promises.

    The memory of a run is estimated; `railyard run` refuses a run that needs more than this machine has.

    Every error is printed with FILE:LINE and a remedy; the files after it are still checked. Exit code 2:
    there is an error.
    """
    from harness.scenario.library import file_of

    code = 0
    for file in files:
        try:
            _check(file_of(file), quiet=quiet)
        except RailyardError as ex:
            if len(files) == 1:
                raise
            complain(str(ex))
            code = max(code, exit_code(ex))
    raise typer.Exit(code)


def _check(file: Path, *, quiet: bool) -> None:
    from harness.run.estimated_memory import available_bytes, estimated_bytes, in_words, whole_bytes
    from harness.run.observation.incidents import first_names
    from harness.run.prepare import prepare
    from harness.run.proof import prove_own
    from harness.scenario.loader import load
    from harness.sweeps.plan import check_study

    scenario, document = load(file)
    points = None if scenario.study is None else check_study(scenario, document)
    lines: dict[str, list[str]] = {}  # names of variants by line
    variants = [variant.name for variant in scenario.variants]
    with progress(variants, quiet=quiet, terminal_only=True) as note:
        prepared = prepare(scenario, document, lambda variant: note(variant, "planning", 0.0))
        for ready in prepared:
            note(ready.variant.name, "checking the routes", 0.0)
            for line in _lines(ready):
                lines.setdefault(line, []).append(ready.variant.name)
        printed = [f"{first_names(names)}: {line}" for line, names in lines.items()]
        printed += prove_own(prepared, document)
    if quiet:
        return
    if points is not None:
        printed.append(f"study: {points} points, see `railyard sweep`")
    free = available_bytes()
    lacks = f"; this machine has {in_words(free)} left" if free and free < estimated_bytes(prepared) else ""
    printed += [f"memory: about {in_words(whole_bytes(prepared))}{lacks}", f"{file}: good"]
    say(*printed)


def _lines(ready: Prepared) -> Iterator[str]:
    """Yield lines about the fabric, plan and traffic of a variant."""
    cycles = "cycles allowed" if ready.variant.cycles_allowed else "no cycle"
    entries = sum(len(own) for own in ready.plan.entries.values())
    yield (
        f"{len(ready.fabric.nodes)} nodes, {len(ready.fabric.links)} links, {entries} table entries, "
        f"{cycles} under {ready.plan.rules}, bound {ready.bound_ps / 10**6:.3f} µs"
    )
    yield from _lanes(ready.plan)
    yield from _single_paths(ready.plan)
    yield from _graphs(ready)
