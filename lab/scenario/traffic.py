# SPDX-License-Identifier: Apache-2.0
"""What a scenario says of its collectives and of the jobs that run them, as frozen values."""

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

# How pydantic names the forms of a value that has two, when it reports on one.
NUMBER, RELATIVE, NAMES = BRANCHES = "(number)", "(relative)", "(names)"

# Of jobs' priorities; 0 is the first.
LAST_PRIORITY = len(SERVICE_LEVELS) - 1

# Both element types are this wide.
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

# What a collective takes beside its kind, algorithm and data, by the kinds or algorithms that take it.
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
    """The kind's default where none is given; a wrong shape is left for the check to find."""
    if isinstance(values, dict) and "algorithm" not in values:
        known = ALGORITHMS.get(values.get("kind", "allreduce"), ())
        return {**values, "algorithm": known[0]} if known else values
    return values


def _check_algorithm(kind: str, algorithm: str) -> None:
    known = ALGORITHMS[kind]
    if algorithm not in known:
        raise ValueError(f"algorithm {algorithm} is none of {kind}; take {' or '.join(known)}")


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
        # Halves take two dimensions; groups have most often one.
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
    """`rings` None: all there are; `shares` balanced: by orders of dimensions that keep all links busy.

    `members` None: all; a number: the first so many. `grid` cuts their dimensions into smaller ones. `order`
    is the only one in which the dimensions are gone through. Without `overlap` a member begins a step when it
    has all that earlier steps bring it.
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
        """Of the array of one NPU."""
        return self.elements * ELEMENT_BYTES


@final
class JobSettings(Model):
    """One of several jobs of a run, each on members of its own; it begins at `at_us`.

    Each of its iterations is `compute_us` of computation and then the collective; the share `overlap` of the
    computation goes on while that sends. Links serve data of `priority` 0 before all other, that of
    `LAST_PRIORITY` last.
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
        """None of a job that sends once and computes nothing."""
        compute_ps = round(self.compute_us * 10**6)
        if self.iterations == 1 and not compute_ps:
            return None
        return Rhythm(self.iterations, compute_ps, round(self.overlap * compute_ps))

    @property
    def level(self) -> int:
        """The service level of its data."""
        return SERVICE_LEVELS[LAST_PRIORITY - self.priority]
