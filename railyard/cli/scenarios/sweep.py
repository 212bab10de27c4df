# SPDX-License-Identifier: Apache-2.0
"""railyard sweep: run a study of a scenario: along axes, over seeds, or with targets failing in turn."""

from __future__ import annotations

import math
import os
import re
import shlex
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from railyard.cli.completion import fail_kinds, scenarios, variants
from railyard.cli.display.screen import MACHINE, counting, tell
from railyard.cli.options import RayAddress, Seed, check_targets, refuse

if TYPE_CHECKING:
    from harness.scenario.study import Study
    from harness.sweeps.plan import Run, StudyPlan
    from harness.sweeps.store import RunResult
    from harness.sweeps.worker_processes import Executor

__all__ = ["EXAMPLES", "sweep"]

EXAMPLES = """
railyard sweep experiments/01_first_train/every_link.yaml --fail-each link
railyard sweep experiments/08_recovery/scenario.yaml --fail-each pair:100 --jobs 4
railyard sweep FILE --set link.detect_us=1,10,100 --seeds 1..20
railyard sweep FILE --faults 3 --budget 10m
railyard sweep FILE --seeds 1..100 --shard 2/8 --out results/part2
"""

# Largest number of runs of a variant in a random campaign with `--budget`, all points and seeds together.
_DRAWN = 2000

_POLITE = "stopping: runs that have begun may finish; press Ctrl-C again to end at once"


class Combine(StrEnum):
    """Values of `--combine`: ways to combine the values of axes."""

    grid = "grid"
    list = "list"


def sweep(
    file: Annotated[
        Path,
        typer.Argument(
            help="scenario file or name; its key `study:` may have the axes", autocompletion=scenarios
        ),
    ],
    axes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=A,B",
            help="axis: values of a key of the file, such as link.detect_us=1,10 or topology.dims=2x4,4x4",
        ),
    ] = None,
    seeds: Annotated[str, typer.Option(metavar="1..20", help="seeds of each point")] = "",
    fail_each: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            help="let each `link`, `switch` or `npu` fail in turn, or N random pairs of links (`pair:N`)",
            autocompletion=fail_kinds,
        ),
    ] = None,
    faults: Annotated[
        int | None,
        typer.Option(
            min=1, max=99, help="random campaign: runs with N random faults of links, drawn from the seed"
        ),
    ] = None,
    within: Annotated[
        float | None,
        typer.Option(
            metavar="US",
            min=0.001,
            help="with --faults: draw faults until this time, in place of the time of the file's last fault",
        ),
    ] = None,
    keep_faults: Annotated[
        bool,
        typer.Option(
            "--keep-faults",
            help="keep the variant's faults but the last, at whose time what fails in turn fails beside them",
        ),
    ] = False,
    budget: Annotated[
        str,
        typer.Option(
            metavar="90s",
            help="begin no run after this time, such as 90s, 10m or 2h; the same command continues the study",
        ),
    ] = "",
    combine: Annotated[
        Combine | None,
        typer.Option(
            help="grid: all combinations of values; list: the first values of all axes, then the second ..."
        ),
    ] = None,
    sample: Annotated[
        int | None, typer.Option(min=1, help="draw this number of points at random, from the seed")
    ] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(
            help="variant to run; may be repeated; unless given, all, or with --fail-each all with a fault",
            autocompletion=variants,
        ),
    ] = None,
    allow_stopped: Annotated[
        bool,
        typer.Option(
            "--allow-stopped",
            help="exit with 0 although runs stopped because a failure left nodes unreachable",
        ),
    ] = False,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="write each run as a test case of JUnit XML")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="number of processes")] = os.cpu_count() or 1,
    shard: Annotated[
        str, typer.Option(metavar="I/N", help="carry out only the I-th of N parts of the runs")
    ] = "",
    ray: RayAddress = None,
    seed: Seed = None,
    folder: Annotated[
        Path | None, typer.Option("--out", help="folder for the results; else results/NAME-sweep")
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume/--no-resume", help="keep the results in the folder, or remove them and begin anew"
        ),
    ] = True,
) -> None:
    """Run a scenario many times; write the result of each run, sweep.json, sweep.svg and report.html.

    Each result is written to the folder as soon as its run ends. The first Ctrl-C lets runs finish that have
    begun, the second ends at once. After an interruption, the same command carries out the missing runs.

    Exit code 0: all runs are right, or ended before their fault; 1: a run is not, also if it stopped because
    nodes were unreachable, unless --allow-stopped is given; 2: an error in the scenario; 3: an error of the
    machine, and some runs have no result; 130: Ctrl-C.
    """
    from harness.scenario.library import file_of
    from harness.sweeps.conduct import conduct, shard_of
    from harness.sweeps.plan import places_of, plan_study
    from harness.sweeps.store import open_study
    from harness.sweeps.table import passed
    from railyard.cli.display.study import print_study
    from railyard.cli.scenarios.interrupts import Interrupts

    check_targets({"--junit": junit})
    seconds = _seconds(budget)
    kinds = [*(fail_each or ())]
    if within is not None and faults is None:
        refuse("--within", "this option needs a random campaign; add --faults N, or leave it out")
    if faults is not None:
        until = "" if within is None else f"@{within:.3f}"
        places = places_of(
            file_of(file), _options(axes or (), seeds, (), combine, sample, keep_faults=False), seed
        )
        drawn = f"x{max(1, _DRAWN // places)}" if seconds else ""
        kinds.append(f"random:{faults}{drawn}{until}")
    options = _options(axes or (), seeds, kinds, combine, sample, keep_faults=keep_faults)
    part = _shard(shard)
    plan = plan_study(file_of(file), options, variant or (), seed)
    if not any(key.split(".")[0] == "topology" for key in plan.study.set):
        plan.scenario.topology.build()  # raises an error for an impossible fabric before the first run
    runs = plan.runs if part is None else shard_of(plan.runs, *part)
    with open_study(
        folder or Path("results", f"{plan.scenario.name}-sweep"), plan, resume=resume, shard=part
    ) as study:
        wanted = {run.key: run for run in runs if run.key not in study}
        missing = len(wanted)
        tell(_first_line(plan, runs, missing, min(jobs, missing), ray))
        if others := study.others(plan):
            tell(f"{others} results of other axes stay in {study.output.path}; the report leaves them out")
        with (
            closing(_executor(plan, jobs, [*wanted.values()], ray)) as executor,
            Interrupts(_POLITE) as interrupts,
            counting(missing, "runs") as advance,
        ):
            ends = time.monotonic() + seconds if seconds else math.inf
            conducted = conduct(
                runs,
                study,
                executor,
                in_turn=bool(seconds),
                stop=lambda: interrupts.stopped() or time.monotonic() >= ends,
                note=lambda _: advance(),
            )
        late = {run.key for run in conducted.late}
        done = [result for run in plan.runs if (result := study.get(run.key)) is not None]
        complete = len(done) == len([run for run in plan.runs if run.key not in late])
        if junit is not None:
            _write_junit(junit, plan, done, allow_stopped=allow_stopped)
        for item in conducted.lost:
            tell(f"lost: {item.run.name}: {item.lost}")
        if seconds and done and not (complete or interrupts.code or conducted.lost):
            tell(f"{len(done)} of {len(plan.runs)} runs within {budget}; the same command continues")
        elif interrupts.code or not complete:
            count = f"{len(done)} of {len(plan.runs)}"
            tell(f"{count} results are in {study.output.path}; the same command continues")
            if interrupts.code or conducted.lost:
                raise typer.Exit(interrupts.code or MACHINE)
            own = [result for run in runs if (result := study.get(run.key)) is not None]
            raise typer.Exit(0 if passed(own, allow_stopped=allow_stopped) else 1)
        good = print_study(
            plan, done, conducted.late, study.output, _command(file), allow_stopped=allow_stopped
        )
    raise typer.Exit(0 if good else 1)


def _write_junit(junit: Path, plan: StudyPlan, done: Sequence[RunResult], *, allow_stopped: bool) -> None:
    from harness.output import write_file
    from harness.sweeps.junit import study_junit
    from harness.sweeps.table import axes_of, record_of

    text = study_junit(
        plan.scenario.name, [*map(record_of, done)], axes_of(done), allow_stopped=allow_stopped
    )
    write_file(junit, text)


def _seconds(text: str) -> float:
    """Return the seconds of a text such as 90s, 10m or 2h; 0 for an empty text."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text)
    if text and match is None:
        refuse("--budget", f"{text!r} cannot be read; write a time like 90s, 10m or 2h")
    return float(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]] if match else 0.0


def _first_line(plan: StudyPlan, runs: Sequence[Run], missing: int, jobs: int, ray: str | None) -> str:
    where = "on Ray" if ray is not None else f"in {jobs} process{'es' if jobs > 1 else ''}"
    there = f", {len(runs) - missing} are done already" if missing < len(runs) else ""
    part = f" of {len(plan.runs)}" if len(runs) < len(plan.runs) else ""
    return f"{plan.scenario.name}: {len(runs)}{part} runs{there}" + (
        f", {missing} {where}" if missing else ""
    )


def _executor(plan: StudyPlan, jobs: int, runs: Sequence[Run], ray: str | None) -> Executor:
    """Check the memory for local processes, and return an executor for the runs."""
    from harness.sweeps.conduct import local_executor, memory_of, work_of

    processes = min(jobs, len(runs))
    each = memory_of(runs, plan.path) if ray is not None or processes > 1 else 0
    if ray is not None:
        from harness.sweeps.cluster import RayCluster

        return RayCluster(work_of(plan, plan.path.resolve()), None if ray == "local" else ray, each or None)
    if each:
        from harness.run.estimated_memory import check_processes

        check_processes(each, processes)
    return local_executor(plan, jobs, len(runs))


def _options(
    axes: Sequence[str],
    seeds: str,
    fail_each: Sequence[str],
    combine: Combine | None,
    sample: int | None,
    *,
    keep_faults: bool,
) -> Study:
    """Return the axes given by options of the command; raise a usage error for an invalid option."""
    from pydantic import ValidationError

    from harness.scenario.study import Study

    given: dict[str, Any] = {
        "set": dict(_axis(text) for text in axes),
        **({"seeds": seeds} if seeds else {}),
        **({"fail_each": tuple(fail_each)} if fail_each else {}),
        **({"keep_faults": True} if keep_faults else {}),
        **({"combine": combine.value} if combine else {}),
        **({"sample": sample} if sample else {}),
    }
    try:
        return Study.model_validate(given)
    except ValidationError as ex:
        key = str(ex.errors()[0]["loc"][0]).replace("_", "-")
        examples = {
            "seeds": "1..20 or 1,2,5",
            "fail-each": "link, switch, npu, pair:20, random:3x100 or random:3x100@50",
        }
        refuse(
            f"--{key}",
            f"{ex.errors()[0]['input']!r} cannot be read; write it like {examples.get(key, 'A,B')}",
        )


def _axis(text: str) -> tuple[str, Any]:
    """Return key and values of a text KEY=A,B; the values are read as YAML."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    key, equals, values = text.partition("=")
    if not (key and equals and values):
        refuse("--set", f"{text!r} cannot be read; write it like link.detect_us=1,10")
    try:
        return key, tuple(_plain(item) for item in YAML(typ="safe", pure=True).load(f"[{values}]"))
    except YAMLError:
        refuse("--set", f"{text!r} has no list of values; write it like link.detect_us=1,10")


def _plain(value: Any) -> Any:
    return tuple(_plain(item) for item in value) if isinstance(value, list) else value


def _shard(text: str) -> tuple[int, int] | None:
    """Return number and count of a shard I/N, None for an empty text; raise a usage error for other text."""
    if not text:
        return None
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        refuse("--shard", f"{text!r} is not a shard; write it like 2/8, for the second of 8 parts")
    return int(match[1]), int(match[2])


def _command(file: Path) -> str:
    """Return the command for the report: this process's command, or `sweep FILE` for a call in Python."""
    words = sys.argv[1:] if sys.argv[1:2] == ["sweep"] else ["sweep", str(file)]
    dropped = ("--out", "--jobs", "--junit", "--ray", "--shard")
    kept = [
        word
        for number, word in enumerate(words)
        if word not in dropped and (number == 0 or words[number - 1] not in dropped)
    ]
    return shlex.join(["railyard", *kept])
