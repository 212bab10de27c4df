# SPDX-License-Identifier: Apache-2.0
"""A study file: interconnects compared by the training performance of an NPU, beside the paper's values.

The paper leaves open whether collectives inside a rack may borrow idle lanes that lead to other racks. Every
figure is computed for both readings, borrowed and apart, and both are always shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Annotated, Any, Literal, Self, final

from pydantic import AfterValidator, Field, ValidationError, model_validator

from harness.errors import ScenarioError
from harness.scenario.document import Document, Location
from harness.scenario.explain import explain
from harness.scenario.schema import Model as Checked
from harness.scenario.schema import Name, Positive
from papers.training import interconnect as net
from papers.training import iteration as timing
from papers.training.placement import INWARD, place
from papers.training.workload import MODELS, Axis

__all__ = [
    "READINGS",
    "Cell",
    "Finding",
    "Outcome",
    "PaperValue",
    "Study",
    "load",
    "run",
    "to_document",
    "tokens_of",
]

ModelName = Literal["llama2-70b", "gpt3-175b", "dense-1t", "gpt4-2t", "moe-10t"]

# Name of a reading -> whether collectives inside a rack borrow idle uplinks, and the reading in words.
READINGS: Mapping[str, tuple[bool, str]] = {
    "borrowed": (True, "collectives inside a rack borrow idle uplinks"),
    "apart": (False, "uplinks carry only what leaves the rack"),
}


def tokens_of(length: str) -> int:
    """Return the tokens of a length such as `8K` or `10M`; K is 1,024 and M is 1,048,576.

    Raises:
        ValueError: The text is not a length.
    """
    result = re.fullmatch(r"([1-9][0-9]{0,5})([KM])", length)
    if not result:
        raise ValueError(f"{length!r} is not a length; write 8K, 256K or 10M")
    return int(result[1]) << (10 if result[2] == "K" else 20)


def _length(value: str) -> str:
    tokens_of(value)
    return value


def _power_of_two(value: int) -> int:
    if value & (value - 1):
        raise ValueError(f"{value} is not a power of two; give powers of two for groups and dimensions")
    return value


Length = Annotated[str, AfterValidator(_length)]


@final
class Span(Checked):
    """A named list of sequence lengths, over which performance is averaged."""

    name: Annotated[str, Field(min_length=1, max_length=40)]
    sequences: Annotated[tuple[Length, ...], Field(min_length=1)]


@final
class Variant(Checked):
    """An interconnect of the study; `interconnect.interconnect` explains the keys of the design."""

    name: Name
    title: str = ""
    rack: net.Rack = "2d-fm"
    racks: net.Racks = "2d-fm"
    paths: net.Paths = "borrow"
    uplink: Annotated[int, Field(ge=1, le=net.NPU_LANES - 1)] = net.UPLINK_LANES
    trade: bool = False

    @property
    def label(self) -> str:
        return self.title or self.name

    def interconnect(self, through: bool) -> net.Interconnect:
        return net.interconnect(
            self.rack, self.racks, paths=self.paths, uplink=self.uplink, trade=self.trade, through=through
        )


@final
class PaperValue(Checked):
    """The paper's value for a variant, in percent of `against`; for all models and lengths by default."""

    variant: str
    percent: Positive
    against: str | None = None
    models: tuple[ModelName, ...] | None = None
    span: str | None = None
    source: str = ""


@final
class Study(Checked):
    """A study file: models, sequence lengths and the interconnects compared."""

    name: Name
    title: str = ""
    description: str = ""
    npus: Annotated[int, Field(ge=64, le=65536), AfterValidator(_power_of_two)] = 8192
    models: Annotated[tuple[ModelName, ...], Field(min_length=1)] = tuple(MODELS)  # type: ignore[assignment]
    spans: Annotated[tuple[Span, ...], Field(min_length=1)]
    baseline: str
    variants: Annotated[tuple[Variant, ...], Field(min_length=2)]
    assumptions: timing.Assumptions = timing.DEFAULTS
    paper: tuple[PaperValue, ...] = ()

    @model_validator(mode="after")
    def _names_once(self) -> Self:
        for what, names in (
            ("variant", [variant.name for variant in self.variants]),
            ("span", [span.name for span in self.spans]),
            ("sequence", self.sequences),
        ):
            twice = next((name for index, name in enumerate(names) if name in names[:index]), None)
            if twice is not None:
                raise ValueError(f"{what} {twice!r} is listed twice; name each once")
        return self

    @property
    def compared(self) -> tuple[Variant, ...]:
        """Variants other than the baseline."""
        return tuple(variant for variant in self.variants if variant.name != self.baseline)

    @property
    def sequences(self) -> tuple[str, ...]:
        return tuple(length for span in self.spans for length in span.sequences)

    def span(self, name: str | None) -> tuple[str, ...]:
        """Return the sequence lengths of the span `name`; all lengths of the study if `name` is None."""
        return next((span.sequences for span in self.spans if span.name == name), self.sequences)


def load(path: Path) -> Study:
    """Read and check a study file.

    Raises:
        ScenarioError: One line for each fault, with FILE:LINE and remedy.
    """
    document = Document(path)
    try:
        study = Study.model_validate(document.values)
    except ValidationError as ex:
        raise ScenarioError.joined(explain(document, ex, Study)) from None
    faults = [document.at(where, message) for where, message in _unknown(study)]
    if faults:
        raise ScenarioError.joined(faults)
    return study


def _unknown(study: Study) -> Iterable[tuple[Location, str]]:
    variants = [variant.name for variant in study.variants]
    spans = [span.name for span in study.spans]
    named: list[tuple[Location, str | None, list[str]]] = [(("baseline",), study.baseline, variants)]
    for index, value in enumerate(study.paper):
        named.append((("paper", index, "variant"), value.variant, variants))
        named.append((("paper", index, "against"), value.against, variants))
        named.append((("paper", index, "span"), value.span, spans))
    for where, name, known in named:
        if name is not None and name not in known:
            yield where, f"{where[-1]}: no {name!r} in this file; there are {', '.join(known)}"
    for index, value in enumerate(study.paper):
        if missing := [name for name in value.models or () if name not in study.models]:
            yield (
                ("paper", index, "models"),
                f"{missing[0]!r} is not among the models of this file; add it there",
            )


@final
@dataclass(frozen=True, slots=True)
class Cell:
    """The fastest iteration of a model with a sequence length on an interconnect.

    `inward` is the time of the same layout with DP innermost and TP outermost, divided by the fastest time.
    """

    best: timing.Iteration
    inward: float


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """A value of the paper, and our value under each reading; all in percent."""

    value: PaperValue
    against: str
    ours: Mapping[str, float]

    @property
    def bracketed(self) -> bool:
        """True if the paper's value lies between the two readings."""
        return min(self.ours.values()) <= self.value.percent <= max(self.ours.values())


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a study: `cells` has the best layout by (reading, variant, model, sequence length)."""

    study: Study
    cells: Mapping[tuple[str, str, str, str], Cell]

    def percent(
        self,
        reading: str,
        variant: str,
        models: Sequence[str] | None = None,
        sequences: Sequence[str] | None = None,
        against: str | None = None,
    ) -> float:
        """Return the mean performance of an NPU, in percent of its performance on another variant.

        Args:
            reading: key of READINGS.
            variant: name of the variant.
            models: models of the mean; all if None.
            sequences: sequence lengths of the mean; all if None.
            against: name of the other variant; the baseline if None.
        """
        other = against or self.study.baseline
        return mean(
            100
            * self.cells[reading, variant, model, length].best.rate
            / self.cells[reading, other, model, length].best.rate
            for model in models or self.study.models
            for length in sequences or self.study.sequences
        )

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The paper's values beside ours."""
        result = []
        for value in self.study.paper:
            which = (value.variant, value.models, self.study.span(value.span), value.against)
            ours = {reading: self.percent(reading, *which) for reading in READINGS}
            result.append(Finding(value, value.against or self.study.baseline, ours))
        return tuple(result)


def run(study: Study, advance: Callable[[], None] = lambda: None) -> Outcome:
    """Compute the outcome of a study; `advance` is called after each model on each interconnect."""
    given = study.assumptions
    cells = {}
    for reading, (through, _) in READINGS.items():
        for variant in study.variants:
            wires = variant.interconnect(through)
            for name in study.models:
                for length in study.sequences:
                    model, sequence = MODELS[name], tokens_of(length)
                    result = timing.best(model, wires, study.npus, sequence, given)
                    batch = timing.batch_of(study.npus, sequence, given)
                    other = timing.iteration(
                        model, wires, place(result.layout, INWARD), sequence, batch, given
                    )
                    cells[reading, variant.name, name, length] = Cell(result, other.seconds / result.seconds)
                advance()
    return Outcome(study, cells)


def to_document(outcome: Outcome) -> dict[str, Any]:
    """Return the contents of `result.json`."""
    study = outcome.study
    return {
        "study": study.name,
        "npus": study.npus,
        "baseline": study.baseline,
        "assumptions": study.assumptions.model_dump(),
        "readings": {name: text for name, (_, text) in READINGS.items()},
        "percent_of_baseline": {
            reading: {
                variant.name: {
                    model: {
                        length: round(outcome.percent(reading, variant.name, [model], [length]), 3)
                        for length in study.sequences
                    }
                    for model in study.models
                }
                for variant in study.variants
            }
            for reading in READINGS
        },
        "paper": [
            {
                **value.value.model_dump(exclude_none=True),
                "against": value.against,
                "ours": {reading: round(percent, 3) for reading, percent in value.ours.items()},
            }
            for value in outcome.findings
        ],
        "best": [
            {
                "reading": reading,
                "variant": variant,
                "model": model,
                "sequence": length,
                "layout": asdict(cell.best.layout),
                "placement": cell.best.placement.where,
                "tokens_per_second_per_npu": round(cell.best.rate, 3),
                "seconds": {
                    "iteration": round(cell.best.seconds, 6),
                    "arithmetic": round(cell.best.arithmetic, 6),
                    "idle": round(cell.best.idle, 6),
                    "collectives_exposed": round(cell.best.exposed, 6),
                    "gradients_exposed": round(cell.best.gradients, 6),
                },
                "busy_seconds": {str(axis): round(cell.best.busy[axis], 6) for axis in Axis},
                "memory_gb": round(cell.best.memory_bytes / 1e9, 1),
                "inward_placement_times": round(cell.inward, 4),
            }
            for (reading, variant, model, length), cell in outcome.cells.items()
        ],
    }
