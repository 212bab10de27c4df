# SPDX-License-Identifier: Apache-2.0
"""Studies: a scenario run many times, along axes, over seeds, or with one target after another failing."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, final

from pydantic import ValidationError

from harness.errors import ScenarioError
from harness.output import OutputFolder
from harness.report.figures.plot import on_sheet
from harness.run.estimated_memory import check_processes
from harness.scenario.study import Study as Axes
from harness.sweeps.cases import KEPT, kind_in_words
from harness.sweeps.comparisons import compare_variants
from harness.sweeps.conduct import Results, ResultStore, conduct, local_executor, memory_of
from harness.sweeps.page import distributions, study_html
from harness.sweeps.plan import StudyPlan, plan_study
from harness.sweeps.statistics import grouped
from harness.sweeps.store import RunResult, open_study
from harness.sweeps.table import HEAD, axes_of, passed, record_of, summary_json
from railyard.api.drawings import Drawing
from railyard.api.records import Record
from topologies.errors import suggestion

__all__ = ["Study", "sweep"]


@final
@dataclass(frozen=True, slots=True, repr=False)
class Study:
    """The results of a study.

    Attributes:
        plan: The planned runs of the study.
        results: Contents of the result files, in the order of the planned runs.
        lost: A sentence for each run that was tried and has no result.
    """

    plan: StudyPlan
    results: Sequence[RunResult]
    lost: Sequence[str] = ()

    @property
    def passed(self) -> bool:
        """True if no run was lost, and every run is right or ended before its fault."""
        return not self.lost and passed(self.results)

    def records(self) -> list[Record]:
        """Return a record for each run: variant, axes, seed, cut, status, trouble, and every metric."""
        return [record_of(result) for result in self.results]

    def intervals(self, metric: str = "completion_us") -> list[Record]:
        """Return the median of a metric over the seeds, with its 95 % interval, for each variant and point.

        The interval is the percentile bootstrap that report.html draws. Runs with wrong data are left out.

        Args:
            metric: Name of a metric, a column of `records`.

        Returns:
            Records of variant, axes, failed (number of targets that fail in a run), runs, median, low, high,
            minimum, maximum.

        Raises:
            RailyardError: No run has a metric of that name.
        """
        axes = axes_of(self.results)
        records = self.records()
        rows = [
            {
                "variant": group.variant,
                **group.point,
                "failed": group.failed,
                "runs": spread.count,
                "median": spread.median,
                "low": spread.low,
                "high": spread.high,
                "minimum": spread.minimum,
                "maximum": spread.maximum,
            }
            for group in grouped(records, axes)
            if (spread := group.spread(metric)) is not None
        ]
        if not rows:
            known = dict.fromkeys(name for record in records for name in record if name not in (*HEAD, *axes))
            raise ScenarioError(f"no run has a metric {metric!r}", remedy=suggestion(metric, known))
        return rows

    def plot(self) -> Drawing:
        """Draw the distributions of completion and convergence times over the runs."""
        return Drawing(distributions(self.records(), axes_of(self.results)) + "\n")

    def report(self) -> str:
        """Return the text of report.html, a self-contained page."""
        scenario = self.plan.scenario
        axes = axes_of(self.results)
        study = self.plan.study
        about = "; ".join(
            [
                *(f"{len(values)} values of {key}" for key, values in study.set.items()),
                *map(kind_in_words, study.fail_each),
                *([KEPT] if study.keep_faults else []),
            ]
        )
        compared = compare_variants(self.plan, self.results)
        title = scenario.title or scenario.name
        return study_html(title, about, self.records(), axes, "railyard.sweep(...)", compared)

    def save(self, folder: str | Path) -> None:
        """Write sweep.json, sweep.svg and report.html into a folder.

        Raises:
            RailyardError: The folder cannot be written.
        """
        from harness.output import output_folder

        with output_folder(Path(folder)) as target:
            self._write(target)

    def _write(self, target: OutputFolder) -> None:
        target.write("sweep.json", summary_json(self.plan, self.results))
        target.write("sweep.svg", on_sheet(self.plot().svg))
        target.write("report.html", self.report())

    def __repr__(self) -> str:
        right = sum(result["status"] == "right" for result in self.results)
        return f"<Study of {self.plan.scenario.name}: {right} of {len(self.results)} runs right>"


def sweep(
    scenario: str | Path,
    axes: Mapping[str, Sequence[Any]] | None = None,
    *,
    seeds: Sequence[int] = (),
    fail_each: str | Sequence[str] = (),
    keep_faults: bool = False,
    combine: Literal["grid", "list"] = "grid",
    sample: int | None = None,
    variant: str | Sequence[str] = (),
    seed: int | None = None,
    jobs: int | None = None,
    folder: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Study:
    """Run a scenario many times, in several processes.

    Args:
        scenario: Path of a scenario file; its key `study:` may have axes as well.
        axes: Values of each axis, by the key of the file that takes them, such as `link.detect_us`.
        seeds: Seeds of each point; empty means the scenario's own seed.
        fail_each: Targets that fail in turn: `link`, `switch`, `npu`, `pair:N` or `random:NxR@US`.
        keep_faults: Keep the variant's faults but the last, at whose time targets fail beside them.
        combine: `grid` takes all combinations of values; `list` takes the first values of all axes together,
            then the second values, and so on.
        sample: Number of points drawn at random; None means all points.
        variant: Name or names of the variants to run; empty means all.
        seed: Seed in place of the scenario's own.
        jobs: Number of processes, by default the number of processors; no result depends on it.
        folder: Folder to which each result is written as soon as its run ends, and sweep.json, sweep.svg and
            report.html at the end. Repeating an interrupted call runs only the missing runs.
        progress: Called after each run with the number of ended runs and the number of all runs to do.

    Raises:
        RailyardError: The scenario or an axis is wrong, and no run has started; or this machine cannot carry
            out the runs.
    """
    if isinstance(scenario, Mapping):
        raise ScenarioError(
            "a study needs a scenario file, which its processes read, and a dict is given",
            remedy='write the dict to a file: Path("mine.yaml").write_text(json.dumps(scenario))',
        )
    study_axes = _axes(axes or {}, seeds, fail_each, combine, sample, keep_faults=keep_faults)
    plan = plan_study(Path(scenario), study_axes, _names(variant), seed)
    count = jobs or os.cpu_count() or 1
    with ExitStack() as stack:
        results: Results = ResultStore()
        target = None
        if folder is not None:
            results = study = stack.enter_context(open_study(Path(folder), plan))
            target = study.output
        missing = [run for run in plan.runs if results.get(run.key) is None]
        processes = min(count, len(missing))
        if processes > 1:
            check_processes(memory_of(missing, plan.path), processes)
        executor = stack.enter_context(closing(local_executor(plan, count, len(missing))))
        ended = 0

        def note(_: object) -> None:
            nonlocal ended
            ended += 1
            if progress is not None:
                progress(ended, len(missing))

        conducted = conduct(plan.runs, results, executor, note=note)
        known = [result for run in plan.runs if (result := results.get(run.key)) is not None]
        lost = [f"{item.run.name}: {item.lost}" for item in conducted.lost]
        finished = Study(plan, known, lost)
        if target is not None and known:
            finished._write(target)
    return finished


def _axes(
    axes: Mapping[str, Sequence[Any]],
    seeds: Sequence[int],
    fail_each: str | Sequence[str],
    combine: str,
    sample: int | None,
    *,
    keep_faults: bool,
) -> Axes:
    """Return the axes of a call of `sweep`; raise a ScenarioError that names an invalid argument."""
    given: dict[str, Any] = {
        "set": {key: values if isinstance(values, str) else tuple(values) for key, values in axes.items()},
        **({"seeds": tuple(seeds)} if seeds else {}),
        **({"fail_each": _names(fail_each)} if fail_each else {}),
        **({"keep_faults": True} if keep_faults else {}),
        **({"combine": combine} if combine != "grid" else {}),
        **({"sample": sample} if sample is not None else {}),
    }
    try:
        return Axes.model_validate(given)
    except ValidationError as ex:
        first = ex.errors(include_url=False)[0]
        key = str(first["loc"][0])
        raise ScenarioError(
            f"the argument {key} of sweep is invalid: {first['msg']}",
            remedy="correct it; docs/use/scenarios.md describes the axes of a study",
        ) from None


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
