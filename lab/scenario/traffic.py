# SPDX-License-Identifier: Apache-2.0
"""Collectives and jobs of a scenario as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, final

from pydantic import Discriminator, Field, Tag, model_validator

from emulation.traffic.frames.layers import SERVICE_LEVELS
from emulation.traffic.frames.wire import MAX_PAYLOAD_BYTES
from emulation.traffic.host.iterations import Rhythm
from lab.scenario.topology import Model, Name, NotNegative, Positive

__all__ = [
    "ALGORITHMS",
    "BRANCHES",
    "ELEMENT_BYTES",
    "LAST_PRIORITY",
    "NUMBER",
    "RELATIVE",
    "Collective",
    "JobSettings",
    "Part",
]

# Names that pydantic's reports have for the two forms of a value.
NUMBER, RELATIVE, NAMES = BRANCHES = "(number)", "(relative)", "(names)"

# Last priority of a job; 0 is served first.
LAST_PRIORITY = len(SERVICE_LEVELS) - 1

# Size of an element of either type.
ELEMENT_BYTES = 4

Dimension = Annotated[int, Field(ge=0)]


CollectiveKind = Literal[
    "allreduce",
    "reduce-scatter",
    "all-gather",
    "all-to-all",
    "broadcast",
    "reduce",
    "dispatch",
    "combine",
    "p2p",
]
Algorithm = Literal[
    "bidirectional-dimension-order",
    "ring",
    "rings",
    "bidirectional-rings",
    "direct",
    "dimension-wise",
    "partitions",
    "hierarchical",
    "pipeline",
    "sequential",
    "concurrent",
]

# The algorithms of each kind of collective, its default first.
ALGORITHMS: Mapping[str, tuple[Algorithm, ...]] = {
    "allreduce": (
        "bidirectional-dimension-order",
        "ring",
        "rings",
        "bidirectional-rings",
        "direct",
        "dimension-wise",
    ),
    "reduce-scatter": ("dimension-wise", "direct"),
    "all-gather": ("dimension-wise", "direct"),
    "all-to-all": ("partitions", "direct"),
    "broadcast": ("hierarchical", "direct"),
    "reduce": ("hierarchical", "direct"),
    "dispatch": ("hierarchical", "direct"),
    "combine": ("hierarchical", "direct"),
    "p2p": ("pipeline",),
    "mixture": ("sequential", "concurrent"),
}

# Keys of a collective beside kind, algorithm and data, with the kinds or algorithms that have them.
_TAKEN_BY: Mapping[str, tuple[str, ...]] = {
    "root": ("broadcast", "reduce"),
    "experts": ("dispatch", "combine"),
    "rings": ("rings", "bidirectional-rings"),
    "shares": ("dimension-wise",),
    "exchange": ("dimension-wise",),
    "order": ("dimension-wise", "partitions"),
    "parts": ("mixture",),
    "rounds": ("mixture",),
}


def _with_algorithm(values: Any) -> Any:
    """Add the default algorithm of the kind where none is given; a wrong shape stays as it is."""
    if isinstance(values, dict) and "algorithm" not in values:
        known = ALGORITHMS.get(values.get("kind", "allreduce"), ())
        return {**values, "algorithm": known[0]} if known else values
    return values


def _check_algorithm(kind: str, algorithm: str) -> None:
    known = ALGORITHMS[kind]
    if algorithm not in known:
        raise ValueError(f"algorithm {algorithm} does not do {kind}; take {' or '.join(known)}")


@final
class Part(Model):
    """One collective of a mixture, among each group of NPUs that differ in the dimensions `over` alone."""

    kind: CollectiveKind
    algorithm: Algorithm = "bidirectional-dimension-order"
    share: Positive
    over: tuple[Dimension, ...] | None = None
    order: tuple[Dimension, ...] | None = None
    experts: Annotated[int, Field(ge=1)] = 4

    @model_validator(mode="before")
    @classmethod
    def _default(cls, values: Any) -> Any:
        # The default of allreduce needs two dimensions, and most groups have one.
        if isinstance(values, dict) and values.get("kind") == "allreduce" and "algorithm" not in values:
            return {**values, "algorithm": "dimension-wise"}
        return _with_algorithm(values)

    @model_validator(mode="after")
    def _whole(self) -> Self:
        _check_algorithm(self.kind, self.algorithm)
        if self.kind == "allreduce" and self.algorithm not in ("dimension-wise", "direct"):
            raise ValueError(f"algorithm {self.algorithm} in a mixture; take dimension-wise or direct")
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
        algorithm: One of the algorithms of the kind, its first by default.
        elements: Length of the array of one NPU, elements of 4 bytes.
        dtype: Type of the elements.
        payload_bytes: Data in one frame.
        root: Rank of the source of a broadcast or of the target of a reduce.
        experts: Number of NPUs that receive each NPU's tokens.
        rings: Number of rings; None takes all disjoint rings.
        shares: Several orders of the dimensions, which keep all links busy, or a single order.
        exchange: Number of last dimensions whose pieces are exchanged whole.
        members: All (None), the first so many, or nodes and ranges of nodes by name.
        grid: Smaller dimensions that the dimensions of the members are cut into.
        order: Single order of the dimensions.
        overlap: Whether a member may send a piece before it has received all of earlier steps.
        parts: Collectives of a mixture.
        rounds: Repetitions of a mixture.
    """

    kind: Literal[CollectiveKind, "mixture"] = "allreduce"
    algorithm: Algorithm = "bidirectional-dimension-order"
    elements: Annotated[int, Field(ge=1, le=2**28)] = 1 << 20
    dtype: Literal["int32", "float32"] = "int32"
    payload_bytes: Annotated[
        int, Field(ge=ELEMENT_BYTES, le=MAX_PAYLOAD_BYTES, multiple_of=ELEMENT_BYTES)
    ] = 4096
    root: Annotated[int, Field(ge=0)] = 0
    experts: Annotated[int, Field(ge=1)] = 4
    rings: Annotated[int, Field(ge=1)] | None = None
    shares: Literal["balanced", "single-order"] = "balanced"
    exchange: Annotated[int, Field(ge=0)] = 0
    members: Members | None = None
    grid: tuple[Annotated[int, Field(ge=2)], ...] | None = None
    order: tuple[Dimension, ...] | None = None
    overlap: bool = True
    parts: tuple[Part, ...] = ()
    rounds: Annotated[int, Field(ge=1, le=1000)] = 1

    @model_validator(mode="before")
    @classmethod
    def _default(cls, values: Any) -> Any:
        return _with_algorithm(values)

    @model_validator(mode="after")
    def _whole(self) -> Self:
        _check_algorithm(self.kind, self.algorithm)
        for key in sorted(self.model_fields_set & _TAKEN_BY.keys()):
            takers = _TAKEN_BY[key]
            if self.kind not in takers and self.algorithm not in takers:
                raise ValueError(f"`{key}:` is for {' and '.join(takers)}; leave it out")
        if self.kind == "mixture" and not self.parts:
            raise ValueError("a mixture has `parts:`; give each a kind and a share")
        return self

    @property
    def data_bytes(self) -> int:
        """Size of the array of one NPU, in bytes."""
        return self.elements * ELEMENT_BYTES


@final
class JobSettings(Model):
    """A job that begins at `at_us` on members that no other job has.

    An iteration is `compute_us` of computation followed by the collective, which runs beside the share
    `overlap` of the computation. Links serve data of `priority` 0 first and of LAST_PRIORITY last.
    """

    name: Name
    at_us: NotNegative = 0.0
    collective: Collective = Collective()
    iterations: Annotated[int, Field(ge=1, le=10_000)] = 1
    compute_us: Annotated[float, Field(ge=0, le=10**9)] = 0.0
    overlap: Annotated[float, Field(ge=0, le=1)] = 0.0
    priority: Annotated[int, Field(ge=0, le=LAST_PRIORITY)] = LAST_PRIORITY

    @property
    def rhythm(self) -> Rhythm | None:
        """Iterations and their computation; None for a job that only communicates, once."""
        compute_ps = round(self.compute_us * 10**6)
        if self.iterations == 1 and not compute_ps:
            return None
        return Rhythm(self.iterations, compute_ps, round(self.overlap * compute_ps))

    @property
    def level(self) -> int:
        """Service level of the job's data."""
        return SERVICE_LEVELS[LAST_PRIORITY - self.priority]
