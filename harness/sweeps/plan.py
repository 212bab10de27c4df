# SPDX-License-Identifier: Apache-2.0
"""Plan of a study: its runs, each with the key under which its result is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from harness.errors import ScenarioError
from harness.program import program_digest
from harness.scenario.digest import canonical, digest, sha256
from harness.scenario.document import Document
from harness.scenario.loader import read, with_seed
from harness.scenario.schema import Assertion, Scenario, Variant
from harness.scenario.study import Study
from harness.sweeps.axes import check_own, in_words, points_of, with_values
from harness.sweeps.cases import Case, cases_of
from harness.version import railyard_version
from topologies import Fabric

__all__ = ["Run", "StudyPlan", "check_study", "places_of", "plan_point", "plan_study", "variants_of"]


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a study.

    Attributes:
        key: Hash of the scenario, its seed, the files that it names, and Railyard's code.
        scenario: The scenario with a single variant, the seed, and the assertions about that variant alone.
        point: Value of each axis.
        case: Targets that fail in place of the variant's faults; None if the variant keeps its faults.
    """

    key: str
    scenario: Scenario
    point: Mapping[str, Any]
    case: Case | None = None

    @property
    def variant(self) -> Variant:
        """The variant to run."""
        return self.scenario.variants[0]

    @property
    def name(self) -> str:
        """Description for users: variant, values of axes, seed and failed targets."""
        words = [self.variant.name, *(f"{key} {in_words(value)}" for key, value in self.point.items())]
        words.append(f"seed {self.scenario.seed}")
        return ", ".join([*words, *([self.case.name] if self.case and self.case.targets else [])])


@final
@dataclass(frozen=True, slots=True)
class StudyPlan:
    """Plan of a study: all its runs.

    `base` is a hash of the scenario without `study:` and of Railyard's code.
    """

    path: Path
    scenario: Scenario
    study: Study
    variants: tuple[str, ...]
    base: str
    runs: tuple[Run, ...] = field(repr=False)

    def document(self) -> dict[str, Any]:
        """Return the content of study.json."""
        return {
            "format": "railyard-study",
            "schema": 1,
            "railyard": railyard_version(),
            "scenario": self.scenario.name,
            "base": self.base,
            "variants": list(self.variants),
            "axes": {key: list(values) for key, values in self.study.set.items()},
            "seeds": list(self.study.seeds or (self.scenario.seed,)),
            "fail_each": list(self.study.fail_each),
            **({"keep_faults": True} if self.study.keep_faults else {}),
            "runs": [run.key for run in self.runs],
        }


def plan_study(
    path: Path, options: Study | None = None, variants: Sequence[str] = (), seed: int | None = None
) -> StudyPlan:
    """Plan a study of a scenario file, and check each point before the first run.

    Args:
        path: Scenario file.
        options: Axes besides those of the file, which they override.
        variants: Names of variants. Empty means all variants, or all variants with a fault if targets fail in
            turn at the times of these faults.
        seed: Seed in place of the scenario's own.

    Raises:
        ScenarioError: A point gives no valid scenario, or the study has no axis.
    """
    document = Document(path)
    scenario, _ = read(document)
    study = _joined(scenario.study or Study(), options or Study())
    seed = scenario.seed if seed is None else seed
    if not (study.set or study.seeds or study.fail_each):
        raise ScenarioError(
            document.at((), "the study has no axis, so there is nothing to vary"),
            remedy="give --set KEY=A,B, --seeds 1..20 or --fail-each link, or add `study:` to the file",
        )
    names = _chosen(scenario, document, variants, need_faults=study.needs_faults)
    _check_kept(scenario, document, study, names)
    fabrics: dict[str, Fabric] = {}
    runs: list[Run] = []
    for point in points_of(study, seed):
        checked = _read_point(document, point, names)
        at_point = with_values(document, point)
        for name in names:
            alone = _alone(checked, name)
            for case in _cases(alone, study, seed, document, fabrics):
                failing = alone if case is None else _with_case(alone, case, keep=study.keep_faults)
                for own in study.seeds or (seed,):
                    runs.append(_run(with_seed(failing, at_point, own), point, case))
    base = {"scenario": _base(scenario), "program": program_digest()}
    return StudyPlan(path, scenario, study, names, sha256(canonical(base)), tuple(runs))


def places_of(path: Path, options: Study, seed: int | None = None) -> int:
    """Return the number of points of a study times its seeds; the arguments are those of `plan_study`."""
    scenario, _ = read(Document(path))
    study = _joined(scenario.study or Study(), options)
    return len(points_of(study, scenario.seed if seed is None else seed)) * len(study.seeds or (0,))


def plan_point(
    path: Path, point: Mapping[str, Any], variants: Sequence[str] = ()
) -> tuple[Scenario, tuple[Run, ...]]:
    """Plan one run of each variant of a scenario file at a single point; the file's `study:` is ignored.

    Args:
        path: Scenario file.
        point: Values by key of the file.
        variants: Names of variants; empty means all.

    Returns:
        The scenario with these values, and its runs.

    Raises:
        ScenarioError: The values give no valid scenario, or a variant does not exist.
    """
    document = Document(path)
    names = _chosen(read(document)[0], document, variants, need_faults=False)
    checked = _read_point(document, point, names)
    return checked, tuple(_run(_alone(checked, name), point, None) for name in names)


def check_study(scenario: Scenario, document: Document) -> int:
    """Check the axes of a scenario's `study:` and return the number of its points.

    With `combine: grid`, each value of an axis is checked with the first values of the other axes only, so
    that a study with many points is checked quickly.

    Raises:
        ScenarioError: An axis names no key or has an impossible value; the message names its line.
    """
    study = scenario.study or Study()
    try:
        points = points_of(study, scenario.seed)
    except ScenarioError as ex:
        raise ScenarioError(document.at(("study", "combine"), ex.message), remedy=ex.remedy) from None
    names = _chosen(scenario, document, (), need_faults=study.needs_faults)
    _check_kept(scenario, document, study, names)
    first = {key: values[0] for key, values in study.set.items()}
    varied = [{**first, key: value} for key, values in study.set.items() for value in values]
    for point in points if study.combine == "list" else varied:
        _read_point(document, point, names)
    for name in names if study.fail_each else ():
        _cases(_alone(scenario, name), study, scenario.seed, document, {})
    return len(points)


def _read_point(document: Document, point: Mapping[str, Any], names: Sequence[str]) -> Scenario:
    """Return the scenario at a point.

    Raises:
        ScenarioError: A value is impossible; the message has the line of its axis in `study:`.
    """
    check_own(document, point, names)
    try:
        return read(with_values(document, point))[0]
    except ScenarioError as ex:
        for key, value in point.items():
            line = ("study", "set", key)
            if document.depth(line) == len(line) and _faulty(document, key, value):
                # Name the line of the axis instead of the line of the key, which the file may not contain.
                what = f"study: {key} = {value}: {document.without_place(ex.message)}"
                raise ScenarioError(document.at(line, what), remedy=ex.remedy) from None
        raise


def _faulty(document: Document, key: str, value: Any) -> bool:
    """Return whether a value of an axis is impossible by itself, without values of other axes."""
    try:
        read(with_values(document, {key: value}))
    except ScenarioError:
        return True
    return False


def _joined(own: Study, options: Study) -> Study:
    """Return the axes of the file, overridden and extended by the axes of the options."""
    given = {key: getattr(options, key) for key in options.model_fields_set}
    return own.model_copy(update={**given, "set": {**own.set, **options.set}})


def _base(scenario: Scenario) -> str:
    return digest(scenario.model_copy(update={"study": None}), scenario.seed)


def _chosen(
    scenario: Scenario, document: Document, names: Sequence[str], *, need_faults: bool
) -> tuple[str, ...]:
    known = [variant.name for variant in scenario.variants if variant.faults or not need_faults]
    what = "variant with a fault" if need_faults else "variant"
    unknown = [name for name in names if name not in known]
    if unknown or not known:
        message = f"no {what} is called {unknown[0]!r}" if unknown else f"the scenario has no {what}"
        choice = f"choose among {', '.join(known)}" if known else "add `faults:` to a variant"
        raise ScenarioError(
            document.at((), message),
            remedy=choice
            + (", or give `--faults N --within US`, which needs no fault" if need_faults else ""),
        )
    return tuple(dict.fromkeys(names)) or tuple(known)


def _check_kept(scenario: Scenario, document: Document, study: Study, names: Sequence[str]) -> None:
    """Check that each variant of a study with `keep_faults` has a fault to keep, and targets that fail.

    Raises:
        ScenarioError: A variant has fewer than two faults, or the study fails no targets.
    """
    if not study.keep_faults:
        return
    if not study.fail_each:
        raise ScenarioError(
            document.at(("study", "keep_faults"), "study: keep_faults without targets that fail in turn"),
            remedy="add --fail-each switch, --fail-each link or --faults N, or leave --keep-faults out",
        )
    for name in names:
        if len(scenario.variant(name).faults) < 2:
            raise ScenarioError(
                document.at(
                    (), f"the variant {name!r} has a single fault; keep_faults keeps all but the last"
                ),
                remedy="add a last fault, at the time at which targets shall fail; they take its place",
            )


def _alone(scenario: Scenario, name: str) -> Scenario:
    """Return the scenario with one variant, and the assertions about this variant alone."""
    about = tuple(item for item in scenario.assertions if variants_of(item) == {name})
    return scenario.model_copy(
        update={"variants": (scenario.variant(name),), "assertions": about, "study": None}
    )


def variants_of(assertion: Assertion) -> set[str]:
    """Return the names of the variants compared by an assertion."""
    return {metric.partition(".")[0] for metric in assertion.metrics}


def _cases(
    scenario: Scenario, study: Study, seed: int, document: Document, fabrics: dict[str, Fabric]
) -> list[Case | None]:
    """Return the cases of a variant, first the healthy case; a single None if the study fails no targets."""
    if not study.fail_each:
        return [None]
    topology = scenario.topology.model_dump_json()
    if topology not in fabrics:
        fabrics[topology] = scenario.topology.build()
    cases: list[Case | None] = [Case()]
    try:
        for kind in study.fail_each:
            cases += cases_of(kind, fabrics[topology], scenario.variants[0], seed)
    except ScenarioError as ex:
        raise ScenarioError(document.at(("topology",), ex.message), remedy=ex.remedy) from None
    return cases


def _with_case(scenario: Scenario, case: Case, *, keep: bool) -> Scenario:
    """Return the scenario with the faults of a case, and without its assertions about other faults.

    With `keep`, the variant's faults but the last stay.

    `expect: halt` is about the variant's own faults, so a run with the faults of a case is expected to
    finish.
    """
    variant = scenario.variants[0]
    expect = "finish" if variant.expect == "halt" else variant.expect
    failing = variant.model_copy(update={"faults": case.faults(variant, keep=keep), "expect": expect})
    return scenario.model_copy(update={"variants": (failing,), "assertions": ()})


def _run(scenario: Scenario, point: Mapping[str, Any], case: Case | None) -> Run:
    key = sha256(canonical([digest(scenario, scenario.seed), program_digest()]))[:20]
    return Run(key, scenario, point, case)
