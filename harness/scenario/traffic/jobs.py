# SPDX-License-Identifier: Apache-2.0
"""`collective:` and `jobs:` of a scenario, as frozen pydantic models."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, final

from pydantic import AfterValidator, Discriminator, Field, ModelWrapValidatorHandler, Tag, model_validator

from emulation.traffic.collectives.declaration import Algorithm
from emulation.traffic.collectives.registry import find, kinds, names
from emulation.traffic.frames.values import SERVICE_LEVELS
from emulation.traffic.frames.wire import MAX_PAYLOAD_BYTES
from emulation.traffic.host.iterations import IterationProfile
from harness.scenario.topology import Model, Name, NotNegative, Positive
from harness.scenario.traffic.graph import GraphSettings
from topologies.errors import RailyardError
from topologies.plugins.python_file import is_reference

__all__ = [
    "BRANCHES",
    "ELEMENT_BYTES",
    "GRAPH_KEYS",
    "LAST_PRIORITY",
    "NUMBER",
    "RELATIVE",
    "Collective",
    "JobSettings",
    "Part",
    "alone",
]

# Tags by which pydantic tells the branches of union types apart; they appear in its reports.
NUMBER, RELATIVE, NAMES = BRANCHES = "(number)", "(relative)", "(names)"

# Lowest priority of a job; links serve priority 0 first.
LAST_PRIORITY = len(SERVICE_LEVELS) - 1

# Size of an int32 or float32 element.
ELEMENT_BYTES = 4

Dimension = Annotated[int, Field(ge=0)]


def _known(name: str) -> str:
    try:
        return find(name).name
    except RailyardError as error:
        raise ValueError(f"{error.message}; {error.remedy}") from None


CollectiveName = Annotated[str, AfterValidator(_known)]


def _with_algorithm(values: Any) -> Any:
    """Return the values with the kind's default algorithm if none is given; other types stay unchanged."""
    if isinstance(values, dict) and "algorithm" not in values:
        kind = values.get("kind", "allreduce")
        if isinstance(kind, str) and (kind in names() or is_reference(kind)):
            return {**values, "algorithm": find(_known(kind)).algorithms[0].name}
    return values


def _algorithm(kind: str, name: str) -> Algorithm:
    try:
        return find(kind).algorithm(name)
    except RailyardError as error:
        raise ValueError(f"{error.message}; {error.remedy}") from None


def _takers(key: str) -> list[str]:
    """Return the kinds and algorithms that declare the key `key`; empty for a key that all take."""
    takers = {kind.name: None for kind in kinds() if key in kind.keys}
    for kind in kinds():
        takers |= {algorithm.name: None for algorithm in kind.algorithms if key in algorithm.keys}
    return list(takers)


@final
class Part(Model):
    """One collective of a mixture.

    Each group of NPUs whose coordinates differ in the dimensions `over` alone runs the collective by itself.
    """

    kind: CollectiveName
    algorithm: str = "bidirectional-dimension-order"
    share: Positive
    over: tuple[Dimension, ...] | None = None
    order: tuple[Dimension, ...] | None = None
    experts: Annotated[int, Field(ge=1)] = 4

    @model_validator(mode="before")
    @classmethod
    def _default(cls, values: Any) -> Any:
        # The default algorithm of allreduce needs two dimensions, and most groups of a part have one.
        if isinstance(values, dict) and values.get("kind") == "allreduce" and "algorithm" not in values:
            return {**values, "algorithm": "dimension-wise"}
        return _with_algorithm(values)

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.kind == "mixture":
            raise ValueError(
                "a part of a mixture is itself a mixture; list its parts among the parts of the outer mixture"
            )
        if not _algorithm(self.kind, self.algorithm).in_mixture:
            usable = [known.name for known in find(self.kind).algorithms if known.in_mixture]
            raise ValueError(
                f"a mixture cannot use the algorithm {self.algorithm}; use {' or '.join(sorted(usable))}"
            )
        return self


Members = Annotated[
    Annotated[int, Field(ge=2), Tag(NUMBER)] | Annotated[tuple[str, ...], Field(min_length=1), Tag(NAMES)],
    Discriminator(lambda value: NAMES if isinstance(value, list | tuple) else NUMBER),
]


@final
class Collective(Model):
    """A collective, its algorithm, its data and its members.

    Attributes:
        kind: Operation, or a mixture of operations.
        algorithm: Algorithm of the kind, by default the first; a run replaces the default of an AllReduce by
            `direct` if the members form no mesh of two dimensions.
        elements: Length of the array of one NPU; an element has 4 bytes, for int64 8 bytes.
        dtype: Type of the elements.
        payload_bytes: Data in one frame.
        root: Rank of the source of a broadcast or of the target of a reduce.
        experts: Number of NPUs that receive each NPU's tokens.
        rings: Number of rings for each line of NPUs; None takes all disjoint rings.
        shares: `balanced` sends shares of the array in different orders of the dimensions, which keeps all
            links busy; `single-order` sends the whole array in one order.
        unscattered_dims: Number of last dimensions along which members exchange whole pieces, unscattered.
        members: All NPUs (None), the first N NPUs (a number), or a list of nodes and ranges of nodes.
        grid: Factors into which the dimensions of the members are split.
        order: Order of the dimensions, in place of several orders at once.
        overlap: True if a member may send a slice before it has received all data of earlier steps.
        parts: Collectives of a mixture.
        rounds: Repetitions of a mixture.
        slots: Slots of each tree at each of its switches, with two aggregator cells each; None takes twice as
            many as the full rate needs.
        operation: Operation of switches on the elements of a reduction.
    """

    kind: CollectiveName = "allreduce"
    algorithm: str = "bidirectional-dimension-order"
    elements: Annotated[int, Field(ge=1, le=2**28)] = 1 << 20
    dtype: Literal["int32", "int64", "float32"] = "int32"
    payload_bytes: Annotated[
        int, Field(ge=ELEMENT_BYTES, le=MAX_PAYLOAD_BYTES, multiple_of=ELEMENT_BYTES)
    ] = 4096
    root: Annotated[int, Field(ge=0)] = 0
    experts: Annotated[int, Field(ge=1)] = 4
    rings: Annotated[int, Field(ge=1)] | None = None
    shares: Literal["balanced", "single-order"] = "balanced"
    unscattered_dims: Annotated[int, Field(ge=0)] = 0
    members: Members | None = None
    grid: tuple[Annotated[int, Field(ge=2)], ...] | None = None
    order: tuple[Dimension, ...] | None = None
    overlap: bool = True
    parts: tuple[Part, ...] = ()
    rounds: Annotated[int, Field(ge=1, le=1000)] = 1
    slots: Annotated[int, Field(ge=1, le=1 << 11)] | None = None
    operation: Annotated[
        Literal["sum", "maximum", "minimum"], Field(exclude_if=lambda value: value == "sum")
    ] = "sum"

    @model_validator(mode="wrap")
    @classmethod
    def _default(cls, values: Any, check: ModelWrapValidatorHandler[Self]) -> Self:
        checked = check(_with_algorithm(values))
        if isinstance(values, dict) and "algorithm" not in values:
            # Mark the default as not given by the file, so that a run may replace it where it does not fit.
            checked.model_fields_set.discard("algorithm")
        return checked

    @model_validator(mode="after")
    def _whole(self) -> Self:
        algorithm = _algorithm(self.kind, self.algorithm)
        for key in sorted(self.model_fields_set - {*find(self.kind).keys, *algorithm.keys}):
            if takers := _takers(key):
                raise ValueError(f"`{key}:` is for {' and '.join(takers)}; leave it out")
        if self.dtype == "int64" and not algorithm.in_switches:
            raise ValueError("`dtype: int64` is for the algorithm switch-tree only; use int32 or float32")
        if self.kind == "mixture" and not self.parts:
            raise ValueError("the mixture has no parts; add `parts:`, each with a kind and a share")
        return self

    @property
    def in_switches(self) -> bool:
        """True if the algorithm lets switches combine the data of members."""
        return _algorithm(self.kind, self.algorithm).in_switches

    @property
    def data_bytes(self) -> int:
        """Size of the array of one NPU, in bytes."""
        return self.elements * (2 if self.dtype == "int64" else 1) * ELEMENT_BYTES


# Keys of `collective:` that also apply to a job with a traffic graph.
GRAPH_KEYS = ("payload_bytes", "dtype")


def alone(collective: Collective) -> None:
    """Raise a ValueError if a collective beside a graph sets a key that does not apply to graphs."""
    given = collective.model_fields_set - {*GRAPH_KEYS, "algorithm"}
    if given:
        raise ValueError(
            f"a job with a graph takes no `{min(given)}:` of a collective; leave this key or the graph out"
        )


@final
class JobSettings(Model):
    """A job that begins at `at_us`: a collective, or a `graph` of sends and computations.

    An iteration computes for `compute_us` and then runs the collective; the collective already runs beside
    the last share `overlap` of the computation. A job with a graph uses the keys `payload_bytes` and `dtype`
    of its collective only. `lanes` is the number of SerDes lanes of a link in each dimension, among the
    members of the job, from its start on. Links serve data of `priority` 0 first and LAST_PRIORITY last.
    """

    name: Name
    at_us: NotNegative = 0.0
    collective: Collective = Collective()
    graph: Annotated[GraphSettings | None, Field(exclude_if=lambda value: value is None)] = None
    lanes: Annotated[
        tuple[Annotated[int, Field(ge=1)], ...] | None, Field(exclude_if=lambda value: value is None)
    ] = None
    iterations: Annotated[int, Field(ge=1, le=10_000)] = 1
    compute_us: Annotated[float, Field(ge=0, le=10**9)] = 0.0
    overlap: Annotated[float, Field(ge=0, le=1)] = 0.0
    priority: Annotated[int, Field(ge=0, le=LAST_PRIORITY)] = LAST_PRIORITY

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.graph is None:
            return self
        if self.iterations > 1 or self.compute_us:
            raise ValueError(
                "a graph contains its own computations; leave out `iterations:` and `compute_us:`"
            )
        alone(self.collective)
        return self

    @property
    def rhythm(self) -> IterationProfile | None:
        """Number of iterations and their computation time; None for a job that communicates once only."""
        compute_ps = round(self.compute_us * 10**6)
        if self.iterations == 1 and not compute_ps:
            return None
        return IterationProfile(self.iterations, compute_ps, round(self.overlap * compute_ps))

    @property
    def level(self) -> int:
        """Service level of the job's data, derived from the priority."""
        return SERVICE_LEVELS[LAST_PRIORITY - self.priority]
