# SPDX-License-Identifier: Apache-2.0
"""Reading and checking of a scenario file; all mistakes are reported together, with FILE:LINE and remedy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, final

from pydantic import ValidationError

from harness.errors import ScenarioError
from harness.scenario.cell_metrics import cell_metric
from harness.scenario.document import Document, Location
from harness.scenario.explain import explain, in_file
from harness.scenario.metrics import ALL_METRICS, FAULT_METRICS, ITERATION_METRICS, JOB_METRICS
from harness.scenario.schema import SETTINGS, JobSettings, Relative, Scenario, Topology
from harness.scenario.traffic.jobs import GRAPH_KEYS
from harness.scenario.traffic.workload import jobs_of, takes_seed
from topologies.errors import RailyardError, suggestion

__all__ = ["Lines", "load", "read", "relocated", "with_seed"]

T = TypeVar("T")
P = ParamSpec("P")

_SEED: int = Scenario.model_fields["seed"].default

# Keys whose value begins with the path of a file.
_FILES = ("file", "p4info", "entries", "python")
# Keys whose value is the name of a plug-in, or `{python: FILE.py:NAME}`.
_NAMES = ("scheme", "strategy", "kind", "scheduler", "algorithm")


def load(path: Path) -> tuple[Scenario, Document]:
    """Read and check a scenario file.

    Raises:
        ScenarioError: The file has mistakes; the message has a line for each, with FILE:LINE and a remedy.
    """
    return read(Document(path))


def read(document: Document) -> tuple[Scenario, Document]:
    """Check a document.

    Raises:
        ScenarioError: The document has mistakes; the message has a line for each, with a remedy.
    """
    try:
        values = _with_defaults(document.values, document.folder)
        scenario = Scenario.model_validate(_with_workloads(document, values))
    except ValidationError as ex:
        raise ScenarioError.joined(explain(document, ex)) from None
    faults = [*_duplicates(document, scenario), *_unknown_metrics(document, scenario)]
    if faults:
        raise ScenarioError.joined(faults)
    return scenario, document


def with_seed(scenario: Scenario, document: Document, seed: int) -> Scenario:
    """Return a scenario with another seed, and with the jobs that its workloads draw from this seed.

    The scenario may have fewer variants than the document from which it was read.

    Raises:
        ScenarioError: A workload draws jobs from the seed, and the document is empty, or the workload returns
            no valid jobs for this seed.
    """
    drawn = {
        variant.name
        for variant in scenario.variants
        if variant.workload is not None and takes_seed(variant.workload.name, variant.workload.params)
    }
    if seed == scenario.seed or not drawn:
        return scenario.model_copy(update={"seed": seed})
    if not document.values:
        raise ScenarioError(
            f"the workload of {', '.join(sorted(drawn))} drew its jobs from the seed {scenario.seed}, "
            f"not {seed}",
            remedy="give the file or the dict in place of the loaded scenario",
        )
    fresh = read(document.with_values({**document.values, "seed": seed}))[0]
    variants = tuple(
        variant.model_copy(update={"jobs": fresh.variant(variant.name).jobs})
        if variant.name in drawn
        else variant
        for variant in scenario.variants
    )
    return scenario.model_copy(update={"seed": seed, "variants": variants})


def relocated(document: Document, location: Location, ex: RailyardError) -> ScenarioError:
    """Return an error of a lower floor as a ScenarioError with the line of its cause, `location`."""
    return ScenarioError(document.at(in_file(document, location), ex.message), remedy=ex.remedy)


@final
class Lines:
    """Calls functions; if one raises an error, adds the line of the scenario that caused it."""

    def __init__(self, document: Document) -> None:
        self.document = document

    def __call__(self, location: Location, make: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return `make(...)`; a RailyardError from it becomes a ScenarioError with `location`'s line."""
        try:
            return make(*args, **kwargs)
        except RailyardError as ex:
            raise relocated(self.document, location, ex) from ex


def _with_defaults(values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the values with the settings of the top level copied into each variant.

    File names are joined to the `folder` of the scenario. Values of a wrong type stay unchanged, so that the
    check of the scenario reports them.
    """
    base = {key: values[key] for key in SETTINGS if key in values}
    rest = {key: value for key, value in values.items() if key not in SETTINGS}
    variants = rest.get("variants", ({"name": "run"},))
    if isinstance(variants, tuple):
        rest["variants"] = tuple(_merged(base, variant) for variant in variants)
    return {key: _located(value, folder) for key, value in rest.items()}


def _with_workloads(document: Document, values: dict[str, Any]) -> dict[str, Any]:
    """Return the values with the jobs of each variant's workload; values of a wrong type stay unchanged."""
    variants = values.get("variants")
    if not isinstance(variants, tuple):
        return values
    return {
        **values,
        "variants": tuple(
            _with_workload(document, ("variants", index), values, variant)
            for index, variant in enumerate(variants)
        ),
    }


def _with_workload(document: Document, at: Location, values: Mapping[str, Any], variant: Any) -> Any:
    given = variant.get("workload") if isinstance(variant, dict) else None
    if not isinstance(given, dict):
        return variant
    chosen = {("name" if key == "python" else key): value for key, value in given.items()}
    name, parameters = chosen.get("name"), chosen.get("params", {})
    if not isinstance(name, str) or not isinstance(parameters, dict) or variant.get("jobs") is not None:
        if variant.get("jobs") is not None:
            fault = ScenarioError(
                "a variant has `workload:` beside `jobs:`, and a workload makes the jobs itself",
                remedy="leave out `jobs:` or `workload:`",
            )
            raise relocated(document, (*at, "workload"), fault)
        return {**variant, "workload": chosen}
    try:
        fabric = Topology.model_validate(values.get("topology")).build()
    except (ValidationError, RailyardError):
        return variant | {"workload": chosen}  # the scenario's own check reports the topology
    seed = values.get("seed", _SEED)
    try:
        jobs = jobs_of(name, parameters, fabric, seed if isinstance(seed, int) else _SEED)
    except RailyardError as ex:
        raise relocated(document, (*at, "workload"), ex) from None
    common = variant.get("collective", {})
    for number, job in enumerate(jobs):
        try:
            JobSettings.model_validate(_with_common({"collective": {}, **job}, common))
        except ValidationError as ex:
            first = ex.errors(include_url=False)[0]
            key = ".".join(map(str, first["loc"]))
            what = f"workload {name} returned an invalid job {number}: {key}: {first['msg']}"
            fault = ScenarioError(what, remedy="return jobs with the keys of `jobs:`")
            raise relocated(document, (*at, "workload"), fault) from None
    whole = tuple(_with_common({"collective": {}, **job}, common) for job in jobs)
    return {**variant, "workload": chosen, "jobs": whole}


def _located(value: Any, folder: Path) -> Any:
    """Return a value with `folder` joined to its file names, so that the working directory may differ.

    `{python: FILE.py:NAME}` in place of a plug-in's name becomes FILE.py:NAME.
    """
    if isinstance(value, tuple):
        return tuple(_located(item, folder) for item in value)
    if not isinstance(value, dict):
        return value
    located = {
        key: str(folder / item) if key in _FILES and isinstance(item, str) else _located(item, folder)
        for key, item in value.items()
    }
    for key, item in located.items():
        if key in _NAMES and isinstance(item, dict) and [*item] == ["python"]:
            located[key] = item["python"]
    return located


def _merged(base: Mapping[str, Any], variant: Any) -> Any:
    if not isinstance(variant, dict):
        return variant
    merged = {**base, **variant}
    for key in SETTINGS:
        default, own = base.get(key), variant.get(key)
        if isinstance(default, dict) and isinstance(own, dict):
            merged[key] = {**default, **own}
    jobs, common = merged.get("jobs"), merged.get("collective", {})
    if isinstance(jobs, tuple) and isinstance(common, dict):
        merged["jobs"] = tuple(_with_common(job, common) for job in jobs)
    return merged


def _with_common(job: Any, common: Mapping[str, Any]) -> Any:
    """Return a job with the missing keys of its collective taken from its variant's collective."""
    own = job.get("collective", {}) if isinstance(job, dict) else None
    if isinstance(job, dict) and job.get("graph") is not None:
        common = {key: common[key] for key in GRAPH_KEYS if key in common}
    return {**job, "collective": {**common, **own}} if isinstance(own, dict) else job


def _duplicates(document: Document, scenario: Scenario) -> list[str]:
    names = [variant.name for variant in scenario.variants]
    return [
        document.at(
            ("variants", index, "name"), f"two variants are called {name!r}; give each a different name"
        )
        for index, name in enumerate(names)
        if name in names[:index]
    ] + [
        document.at(
            in_file(document, ("variants", index, "jobs")),
            f"two jobs of variant {variant.name!r} have the same name; give each a different name",
        )
        for index, variant in enumerate(scenario.variants)
        if len({job.name for job in variant.jobs or ()}) < len(variant.jobs or ())
    ]


def _unknown_metrics(document: Document, scenario: Scenario) -> list[str]:
    known = [f"{variant.name}.{metric}" for variant in scenario.variants for metric in ALL_METRICS]
    known += [
        f"{variant.name}.{job.name}.{metric}"
        for variant in scenario.variants
        for job in variant.jobs or ()
        for metric in (*JOB_METRICS, *(ITERATION_METRICS if job.rhythm else ()))
    ]
    known += [
        f"{variant.name}.faults[{number}].{metric}"
        for variant in scenario.variants
        for number in range(len(variant.faults))
        for metric in FAULT_METRICS
    ]
    faults = []
    # Names of counters and registers need the user's programs, so harness.run.prepare checks them.
    own = {variant.name for variant in scenario.variants if variant.program}
    for index, assertion in enumerate(scenario.assertions):
        named: dict[Location, str] = {("metric",): assertion.metric}
        if isinstance(assertion.limit, Relative):
            named[assertion.relation, "metric"] = assertion.limit.metric
        for key, metric in named.items():
            variant, _, cells = metric.partition(".")
            if metric not in known and not (variant in own and cell_metric(cells)):
                remedy = suggestion(metric, known, "see `railyard list --metrics`")
                message = f"there is no metric {metric!r}; {remedy}"
                faults.append(document.at(("assertions", index, *key), message))
    return faults
