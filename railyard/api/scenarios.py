# SPDX-License-Identifier: Apache-2.0
"""Scenarios, from a file or from values: loaded, checked and run."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from harness.errors import ScenarioError
from harness.recording.file import RecordingWriter
from harness.recording.recorder import Recorder
from harness.recording.records import Record as RunRecord
from harness.report.results import conclude
from harness.run.prepare import Prepared, prepare
from harness.run.resume_store import ResumeStore
from harness.run.runner import Progress, silent
from harness.run.runner import run as run_variants
from harness.run.testbeds import Embedded, TestbedChoice
from harness.run.watch import Watcher
from harness.scenario.by_hand import with_faults
from harness.scenario.document import Document
from harness.scenario.library import file_of
from harness.scenario.loader import load as read_scenario
from harness.scenario.loader import read, with_seed
from harness.scenario.schema import Assertion, Relative, Scenario
from railyard.api.results import Result
from topologies import Fabric

__all__ = ["execute", "load", "only", "run"]

_EMBEDDED = Embedded()


def run(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    *,
    variant: str | Sequence[str] | None = None,
    seed: int | None = None,
    progress: Callable[[str, str, float], None] | None = None,
    threads: int = 1,
    record: bool | str | Path = False,
) -> Result:
    """Run a scenario in virtual time, in this process.

    Args:
        scenario: Path of a scenario file, a name that `railyard list` prints, the content of a file as a
            dict, or a scenario from `load`; docs/use/scenarios.md describes the keys.
        variant: Name or names of the variants to run; None means all. Assertions about other variants are
            left out.
        seed: Seed in place of the scenario's own; equal scenarios and seeds give equal results.
        progress: Called with the variant, the stage and the completed share of the stage, 0 to 1.
        threads: Number of threads that run parts of the fabric in parallel, at most one per processor; no
            result depends on it (docs/testbeds/performance.md). A recorded run uses one thread.
        record: True keeps samples and events for `Result.links_over_time` and other tables over time. A path
            also writes them to this file, which `railyard serve` replays. No result depends on it.

    Raises:
        RailyardError: The scenario is wrong or cannot run; then no testbed has started.
    """
    checked, document = _read(scenario)
    if variant is not None:
        checked = only(checked, (variant,) if isinstance(variant, str) else tuple(variant))
    command = _command(scenario, variant, seed)
    note = None if progress is None else _without_pace(progress)
    choice = Embedded(threads=threads)
    if record is False:
        return execute(checked, document, seed, progress=note, choice=choice, command=command)
    records: list[RunRecord] = []
    with nullcontext() if record is True else RecordingWriter(Path(record)) as writer:
        watcher = Recorder([records.append, *([] if writer is None else [writer])])
        result = execute(
            checked, document, seed, progress=note, choice=choice, command=command, watcher=watcher
        )
    return replace(result, records=tuple(records))


def load(path: str | Path) -> Scenario:
    """Read and check a scenario file; `run` accepts the returned scenario.

    Raises:
        RailyardError: The file has mistakes; the message has a line for each, with FILE:LINE and a remedy.
    """
    return read_scenario(Path(path))[0]


def _without_pace(progress: Callable[[str, str, float], None]) -> Progress:
    return lambda variant, stage, share, pace=None: progress(variant, stage, share)


def execute(
    scenario: Scenario,
    document: Document,
    seed: int | None,
    *,
    progress: Progress | None = None,
    choice: TestbedChoice = _EMBEDDED,
    captures: Mapping[str, Path] | None = None,
    command: str = "",
    store: ResumeStore | None = None,
    watcher: Watcher | None = None,
    prepared: Sequence[Prepared] | None = None,
) -> Result:
    """Run a checked scenario on any testbed.

    Args:
        scenario: The scenario.
        document: The document from which the scenario was read; errors name its lines.
        seed: Seed in place of the scenario's own.
        progress: Called with the variant, the stage, the completed share of the stage, 0 to 1, and the pace.
        choice: The testbed.
        captures: Folder for the capture file of each link, by the name of the link.
        command: Command that repeats the run, for the report.
        store: Store of finished variants of an interrupted run.
        watcher: Watches the run; faults that it applies by hand become part of the result's scenario.
        prepared: The prepared variants of the scenario, if they have been prepared before.
    """
    note = progress or silent
    seed = scenario.seed if seed is None else seed
    if not 0 <= seed < 2**63:
        raise ScenarioError(
            f"the seed {seed} is out of range", remedy="give a whole number from 0 to 2^63 - 1"
        )
    scenario = with_seed(scenario, document, seed)
    if prepared is None:
        choice.check_machine(captures=bool(captures))
        prepared = prepare(
            scenario,
            document,
            lambda variant: note(variant, "planning", 0.0),
            check=partial(_check_links, captures or {}, watcher),
        )
        # The prepared variants have the algorithms that `prepare` chose where the file gives none.
        scenario = scenario.model_copy(update={"variants": tuple(ready.variant for ready in prepared)})
    fabric = prepared[0].fabric
    _check_links(captures or {}, watcher, fabric)
    if watcher is not None:
        watcher.open(scenario, seed, prepared)
    done = run_variants(prepared, seed, note, choice, captures or {}, store, watcher)
    scenario = with_faults(scenario, done.struck)
    verdict = conclude(scenario, seed, choice.name, done.runs, switch=choice.switch)
    if watcher is not None:
        watcher.close()
    files = {
        f"{variant.name}-{link}": folder / f"{variant.name}-{link}.pcap"
        for variant in scenario.variants
        for link, folder in (captures or {}).items()
    }
    return Result(scenario, fabric, verdict, done.runs, done.seconds, command, files)


def _check_links(captures: Mapping[str, Path], watcher: Watcher | None, fabric: Fabric) -> None:
    """Raise an error if a link to be recorded does not exist."""
    for link in captures:
        fabric.link(link)
    if watcher is not None:
        watcher.check(fabric)


def _read(scenario: str | Path | Mapping[str, Any] | Scenario) -> tuple[Scenario, Document]:
    """Return a checked scenario, and its document (for the lines or keys in error messages)."""
    if isinstance(scenario, str | Path):
        return read_scenario(file_of(Path(scenario)))
    if isinstance(scenario, Scenario):
        return scenario, Document.of_values({})
    return read(Document.of_values(scenario))


def _command(scenario: object, variant: str | Sequence[str] | None, seed: int | None) -> str:
    """Return the shell command to repeat the run, or a Python call for a scenario without a file."""
    path = str(scenario) if isinstance(scenario, str | Path) else None
    if path is not None:
        names = (variant,) if isinstance(variant, str) else variant or ()
        chosen = [word for name in names for word in ("--variant", name)]
        return shlex.join(
            ["railyard", "run", path, *chosen, *([] if seed is None else ["--seed", str(seed)])]
        )
    given = {"variant": variant, "seed": seed}
    options = [f"{name}={value!r}" for name, value in given.items() if value is not None]
    return f"railyard.run({', '.join(['...', *options])})"


def only(scenario: Scenario, names: Sequence[str]) -> Scenario:
    """Return the scenario with only the named variants, and the assertions about these variants alone."""
    known = [variant.name for variant in scenario.variants]
    for name in names:
        if name not in known:
            raise ScenarioError(
                f"the scenario has no variant named {name!r}", remedy=f"choose among {', '.join(known)}"
            )
    return scenario.model_copy(
        update={
            "variants": tuple(variant for variant in scenario.variants if variant.name in names),
            "assertions": tuple(
                assertion for assertion in scenario.assertions if _variants_of(assertion) <= {*names}
            ),
        }
    )


def _variants_of(assertion: Assertion) -> set[str]:
    metrics = [assertion.metric]
    if isinstance(assertion.limit, Relative):
        metrics.append(assertion.limit.metric)
    return {metric.partition(".")[0] for metric in metrics}
