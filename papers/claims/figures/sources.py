# SPDX-License-Identifier: Apache-2.0
"""Sources of figures: a model or a scenario, its tasks, and its figures by name."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, final

from harness.files import EXPERIMENTS
from harness.program import program_digest
from harness.report.results import compare_metrics
from harness.scenario.cell_metrics import cell_metric
from harness.scenario.digest import canonical, sha256
from harness.scenario.metrics import ALL_METRICS
from harness.scenario.schema import Scenario
from harness.scenario.study import Study
from harness.sweeps.plan import Run, StudyPlan, plan_point, plan_study, variants_of
from harness.sweeps.table import summary_json
from papers.claims.claim import Measured
from papers.claims.figures.functions import called, function_of
from papers.claims.figures.tasks import ModelTask, RunTask, Task
from topologies.errors import RailyardError, suggestion
from topologies.plugins import python_file

__all__ = ["ASSERTIONS", "DIFFERING", "Figures", "ModelSource", "ScenarioSource", "Source"]

Texts: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Contents of result files of tasks, by the key of the task."""

# Figures that every scenario has, in addition to its metrics.
ASSERTIONS = "failed_assertions"
DIFFERING = "differing"


@final
class Figures:
    """Figures of a check: values by name, and entries of a result by path.

    Attributes:
        values: figures by name.
        document: the content of a result file, such as result.json.
    """

    def __init__(self, values: Mapping[str, Any], document: Mapping[str, Any] | None = None) -> None:
        self.values = values
        self.document = document or {}

    def of(self, name: str) -> Any:
        """Return the figure with a name, or at a path in the document; RailyardError if there is none."""
        if name in self.values:
            return self.values[name]
        if (cells := _cells_of(name, self.document)) is not None:
            return cells
        node: Any = self.document
        steps = [step for step in re.split(r"[.\[\]]", name) if step]
        for step in steps:
            if isinstance(node, Mapping) and step in node:
                node = node[step]
            elif isinstance(node, list) and step.isdigit() and int(step) < len(node):
                node = node[int(step)]
            else:
                remedy = suggestion(name, self.values, "see the keys of result.json")
                raise RailyardError(f"there is no figure {name!r}", remedy=remedy)
        return node

    def each(self, pattern: str) -> list[Any]:
        """Return the figures with a name matching a pattern such as `*.completion_us`, one at least."""
        matching = [_plain(value) for name, value in self.values.items() if fnmatch(name, pattern)]
        if not matching:
            raise RailyardError(
                f"no figure matches {pattern!r}", remedy="correct the pattern; it compares whole names"
            )
        return matching

    def plain(self, name: str) -> Any:
        """Return the value of a figure for use in an expression; of a `Measured`, its number."""
        return _plain(self.of(name))


def _cells_of(name: str, document: Mapping[str, Any]) -> int | None:
    """Return the value of a counter or register of a user's P4 program; None for names of other figures.

    A counter, such as VARIANT.counters.NAME.packets, is summed over its cells; of a register, the value is
    the maximum over its cells, as in assertions.
    """
    variant, _, metric = name.partition(".")
    if (cell := cell_metric(metric)) is None:
        return None
    rows = [
        row
        for row in document.get(f"{cell.kind}s", {}).get(variant, ())
        if row[cell.kind] == cell.name and cell.has(row["node"], row["index"])
    ]
    if cell.kind == "register":
        return max((row["value"] for row in rows), default=0)
    return sum(row[cell.unit] for row in rows)


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Measured) else value


@final
@dataclass(frozen=True, slots=True)
class ModelSource:
    """Figures returned by a function: a number, or numbers or `Measured` values by name.

    Attributes:
        function: `module:function`, or FILE.py:function.
        arguments: arguments of the function.
        picture: function that returns a drawing, called after `function` in the same process; empty for none.
        files: files that the function reads; when their content changes, it is called again.
    """

    function: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    picture: str = ""
    files: tuple[Path, ...] = ()

    def changed(self, values: Mapping[str, Any]) -> ModelSource:
        """Return the source with other arguments, without a picture."""
        return replace(self, arguments={**self.arguments, **values}, picture="")

    def check(self) -> None:
        """Raise a RailyardError unless the function exists and takes the arguments."""
        signature = inspect.signature(function_of(self.function))
        known = [name for name in signature.parameters if name != "note"]
        for name in self.arguments:
            if name not in known and not any(
                item.kind is item.VAR_KEYWORD for item in signature.parameters.values()
            ):
                remedy = suggestion(name, known) if known else "it takes no arguments"
                raise RailyardError(f"{self.function} has no argument {name!r}", remedy=remedy)
        note = {"note": None} if "note" in signature.parameters else {}
        try:
            signature.bind(**note, **self.arguments)
        except TypeError as ex:
            raise RailyardError(f"{self.function}: {ex}", remedy="give it in `arguments:`") from None

    def tasks(self, name: str) -> tuple[Task, ...]:
        """Return the task that calls the function; `name` is the name of the check."""
        read = [sha256(path.read_bytes()) for path in self.files if path.is_file()]
        about = [self.function, dict(self.arguments), self.picture, *_code(self.function), *read]
        key = sha256(canonical(about))[:20]
        return (ModelTask(key, name, self.function, self.arguments, self.picture),)

    def figures(self, texts: Texts) -> Figures:
        """Return the figures of the finished task; RailyardError if the function raised an error."""
        (content,) = texts.values()
        if content["trouble"]:
            raise RailyardError(content["trouble"], remedy="run the model by itself to find the cause")
        return Figures({name: Measured(**value) for name, value in content["figures"].items()})

    def names(self) -> None:
        """Return None, because the names are known only after the function has returned."""
        return


@final
@dataclass(frozen=True, slots=True)
class ScenarioSource:
    """Figures of runs of a scenario: VARIANT.METRIC, `failed_assertions`, and the keys of result.json.

    The attributes are keys of a check in a file of claims, which `form.schema.CheckSettings` explains;
    `files` is the key `scenario`, whose variants have different names, and `values` is `set`.
    """

    files: tuple[Path, ...]
    variants: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    fail_each: str = ""
    repeats: int = 1
    derive: str = ""
    picture: str = ""

    def changed(self, values: Mapping[str, Any]) -> ScenarioSource:
        """Return the source with these values of keys of the scenario, without a picture."""
        return replace(self, values={**self.values, **values}, picture="")

    def check(self) -> None:
        """Raise a RailyardError unless the scenarios, their variants and keys, and the functions exist."""
        self.plan()
        for function in filter(None, (self.derive, self.picture)):
            function_of(function)

    def plan(self) -> list[tuple[Path, Scenario, tuple[Run, ...]]]:
        """Return each file, its scenario with the values set, and its runs."""
        if self.fail_each:
            study = self.study()
            return [(self.files[0], study.scenario, study.runs)]
        return [(file, *plan_point(file, self.values, self.variants)) for file in self.files]

    def study(self) -> StudyPlan:
        """Return the sweep in which components fail in turn."""
        axes = {key: (value,) for key, value in self.values.items()}
        return plan_study(self.files[0], Study(set=axes, fail_each=(self.fail_each,)), self.variants)

    def tasks(self, name: str) -> tuple[Task, ...]:
        """Return a task for each run; `name` is the name of the check."""
        return tuple(
            RunTask(
                f"{run.key}-{repeat}" if repeat else run.key,
                run.scenario,
                run.point,
                run.case,
                path=file,
                check=name,
            )
            for file, _, runs in self.plan()
            for run in runs
            for repeat in range(self.repeats)
        )

    def figures(self, texts: Texts) -> Figures:
        """Return the figures of finished runs; RailyardError if a run could not start."""
        for content in texts.values():
            if content["status"] == "error" and content["result"] is None and not self.fail_each:
                raise RailyardError(
                    f"{content['variant']}: {content['trouble']}",
                    remedy="run the scenario with `railyard run` to find the cause",
                )
        if self.fail_each:
            # A run whose failure would be later than the end of the healthy run has no result.
            summary = json.loads(summary_json(self.study(), [dict(item) for item in texts.values()]))
            return Figures(summary["metrics"], summary)
        planned = self.plan()
        runs = [run for _, _, some in planned for run in some]
        document = _joined([texts[run.key]["result"] for run in runs])
        metrics = document["metrics"]
        failed = [item["name"] for item in document["assertions"] if not item["passed"]]
        for _, scenario, some in planned:
            failed += _failed(scenario, {run.variant.name for run in some}, metrics)
        differing = sum(
            texts[f"{run.key}-{repeat}"]["result"] != texts[run.key]["result"]
            for run in runs
            for repeat in range(1, self.repeats)
        )
        values = {ASSERTIONS: Measured(len(failed), detail="; ".join(failed)), DIFFERING: differing}
        derived = called(self.derive, document) if self.derive else {}
        return Figures({**metrics, **values, **derived}, document)

    def drawing(self, figures: Figures) -> str:
        """Return the picture of the figures; empty if the source has no picture."""
        return called(self.picture, figures.document) if self.picture else ""

    def names(self) -> Sequence[str] | None:
        """Return the names of the scenario's figures, or their beginnings, which end with a dot.

        None if only the results can give the names.
        """
        if self.fail_each or self.derive:
            return None
        variants = [variant for _, scenario, _ in self.plan() for variant in scenario.variants]
        jobs = [f"{variant.name}.{job.name}." for variant in variants for job in variant.jobs or ()]
        known = [f"{variant.name}.{metric}" for variant in variants for metric in ALL_METRICS]
        jobs += [
            f"{own.name}.{kind}." for own in variants if own.program for kind in ("counters", "registers")
        ]
        return [*known, *jobs, ASSERTIONS, DIFFERING]


def _failed(scenario: Scenario, ran: set[str], metrics: Mapping[str, float]) -> Iterator[str]:
    """Yield the names of failed assertions about several variants, if all these variants ran."""
    for assertion in scenario.assertions:
        about = variants_of(assertion)
        if len(about) > 1 and about <= ran and not (outcome := compare_metrics(assertion, metrics)).passed:
            yield outcome.name


Source: TypeAlias = ModelSource | ScenarioSource


def _joined(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Join the results of single variants into one result."""
    document: dict[str, Any] = {}
    for result in results:
        for key, value in result.items():
            if isinstance(value, Mapping):
                document[key] = {**document.get(key, {}), **value}
            elif isinstance(value, list):
                document[key] = [*document.get(key, ()), *value]
            else:
                document.setdefault(key, value)
    return document


def _code(function: str) -> Iterator[str]:
    """Yield hashes of all inputs of a model's figures: our code, our scenarios, and a user's file."""
    yield program_digest("papers")
    yield _experiments()
    if python_file.is_reference(function):
        path = Path(function.rpartition(":")[0])
        yield sha256(path.read_bytes()) if path.is_file() else ""


@cache
def _experiments() -> str:
    files = sorted(path for path in EXPERIMENTS.rglob("*.yaml") if path.name != "claims.yaml")
    return sha256(b"".join(sha256(path.read_bytes()).encode() for path in files))
