# SPDX-License-Identifier: Apache-2.0
"""What a scenario says, as frozen values; `loader` reads them, docs/scenarios.md explains them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, final, get_args

from pydantic import Discriminator, Field, Tag, model_validator

from emulation.faults import Event
from emulation.targets import TargetKind
from emulation.traffic.wire import MAX_PAYLOAD_BYTES
from lab.scenario_topology import Model, NotNegative, Positive, Topology

__all__ = [
    "ALGORITHMS",
    "Assertion",
    "Collective",
    "Control",
    "EVENT_KEYS",
    "Fault",
    "LinkSettings",
    "NUMBER",
    "Part",
    "RELATIVE",
    "Relative",
    "Routing",
    "SETTINGS",
    "Scenario",
    "TARGETS",
    "Topology",
    "Transport",
    "Variant",
]

# What a variant may repeat; at the top level it holds for all of them.
SETTINGS = ("collective", "routing", "link", "control", "transport", "faults")

TARGETS: tuple[TargetKind, ...] = get_args(TargetKind)

# What an event takes beside its target and its time.
EVENT_KEYS: Mapping[str, tuple[str, ...]] = {
    "flap": ("period_us", "count"),
    "loss": ("percent",),
    "rate": ("percent",),
    "delay": ("add_ns",),
}

# Both element types are this wide.
ELEMENT_BYTES = 4

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=60)]


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
    "halves",
    "ring",
    "rings",
    "rings-both-ways",
    "direct",
    "dimension-wise",
    "partitions",
    "hierarchical",
    "pipeline",
    "sequence",
    "at-once",
]

# The algorithms of each kind of collective, its default first.
ALGORITHMS: Mapping[str, tuple[Algorithm, ...]] = {
    "allreduce": ("halves", "ring", "rings", "rings-both-ways", "direct", "dimension-wise"),
    "reduce-scatter": ("dimension-wise", "direct"),
    "all-gather": ("dimension-wise", "direct"),
    "all-to-all": ("partitions", "direct"),
    "broadcast": ("hierarchical", "direct"),
    "reduce": ("hierarchical", "direct"),
    "dispatch": ("hierarchical", "direct"),
    "combine": ("hierarchical", "direct"),
    "p2p": ("pipeline",),
    "mixture": ("sequence", "at-once"),
}

# What a collective takes beside its kind, algorithm and data, by the kinds or algorithms that take it.
_TAKEN_BY: Mapping[str, tuple[str, ...]] = {
    "root": ("broadcast", "reduce"),
    "experts": ("dispatch", "combine"),
    "rings": ("rings", "rings-both-ways"),
    "shares": ("dimension-wise",),
    "exchange": ("dimension-wise",),
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
    algorithm: Algorithm = "halves"
    share: Positive
    over: tuple[Annotated[int, Field(ge=0)], ...] | None = None
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


@final
class Collective(Model):
    """`rings` None: all there are; `shares` balanced: by orders of dimensions that keep all links busy."""

    kind: Literal[CollectiveKind, "mixture"] = "allreduce"
    algorithm: Algorithm = "halves"
    elements: Annotated[int, Field(ge=1, le=2**28)] = 1 << 20
    dtype: Literal["int32", "float32"] = "int32"
    payload_bytes: Annotated[
        int, Field(ge=ELEMENT_BYTES, le=MAX_PAYLOAD_BYTES, multiple_of=ELEMENT_BYTES)
    ] = 4096
    root: Annotated[int, Field(ge=0)] = 0
    experts: Annotated[int, Field(ge=1)] = 4
    rings: Annotated[int, Field(ge=1)] | None = None
    shares: Literal["balanced", "one"] = "balanced"
    exchange: Annotated[int, Field(ge=0)] = 0
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
class Routing(Model):
    """`peers` says for which pairs paths are planned: all, or those that the job's collective joins."""

    strategy: Literal["all-path", "shortest", "detour", "borrow"] = "all-path"
    rules: Literal["T2-G", "T2-V", "T2-DOR", "T1-UD", "T1-DOR+", "T1-DOR", "one-vl"] = "T2-G"
    notification: Literal["direct", "flooding"] = "direct"
    demand: Literal["known", "unknown"] = "known"
    peers: Literal["all", "job"] = "all"


@final
class LinkSettings(Model):
    credit_bytes: Annotated[int, Field(ge=1)] = 65536
    scheduler: Literal["strict", "round-robin"] = "strict"
    detect_us: NotNegative = 10.0


@final
class Control(Model):
    """`hello_us` is the time from one hello to the next, None: none are sent.

    `migrate_us` is what a spare NPU takes, once it is called, until it has the place of one that is gone.
    """

    processing_us: NotNegative = 5.0
    hello_us: Positive | None = None
    hello_multiplier: Annotated[int, Field(ge=2, le=255)] = 3
    migrate_us: Annotated[float, Field(ge=0, le=10_000)] = 10.0


@final
class Transport(Model):
    """Of the connections between NPUs."""

    window: Annotated[int, Field(ge=1, le=64)] = 64
    ack_every: Annotated[int, Field(ge=1, le=64)] = 16
    initial_rto_us: Positive = 100.0
    min_rto_us: Positive = 25.0


@final
class Fault(Model):
    """One of `TARGETS`, and what happens to it; `from` is the node from which a direction of a link leads."""

    at_us: Positive
    event: Event = "down"
    link: str | None = None
    direction: str | None = None
    source: Annotated[str | None, Field(alias="from")] = None
    port: str | None = None
    switch: str | None = None
    npu: str | None = None
    board: Annotated[int, Field(ge=0)] | None = None
    plane: Annotated[int, Field(ge=0)] | None = None
    circuit: str | None = None
    percent: Annotated[float, Field(gt=0, le=100)] | None = None
    add_ns: Positive | None = None
    period_us: Positive | None = None
    count: Annotated[int, Field(ge=1, le=10_000)] | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        given = [kind for kind in TARGETS if getattr(self, kind) is not None]
        if len(given) != 1:
            raise ValueError(
                f"a fault strikes exactly one of {', '.join(TARGETS)}, not {' and '.join(given) or 'none'}"
            )
        if self.source is not None and given != ["direction"]:
            raise ValueError(f"only a direction is `from` a node, not a {given[0]}")
        for key in ("percent", "add_ns", "period_us", "count"):
            if (key in EVENT_KEYS.get(self.event, ())) != (getattr(self, key) is not None):
                verb = "needs" if key in EVENT_KEYS.get(self.event, ()) else "takes no"
                raise ValueError(f"event {self.event} {verb} `{key}:`")
        return self

    @property
    def target(self) -> tuple[TargetKind, str | int]:
        """Its kind and name."""
        return next((kind, name) for kind in TARGETS if (name := getattr(self, kind)) is not None)


@final
class Variant(Model):
    name: Name
    title: str = ""
    expect: Literal["finish", "deadlock"] = "finish"
    collective: Collective = Collective()
    routing: Routing = Routing()
    link: LinkSettings = LinkSettings()
    control: Control = Control()
    transport: Transport = Transport()
    faults: tuple[Fault, ...] = ()

    @property
    def label(self) -> str:
        return self.title or self.name


@final
class Relative(Model):
    """A limit that another figure of the same result sets."""

    metric: str
    times: Positive = 1.0


# How pydantic names the two forms of a limit when it reports on one.
NUMBER, RELATIVE = "(number)", "(relative)"

Limit = Annotated[
    Annotated[float, Field(allow_inf_nan=False), Tag(NUMBER)] | Annotated[Relative, Tag(RELATIVE)],
    Discriminator(lambda value: RELATIVE if isinstance(value, dict | Relative) else NUMBER),
]


@final
class Assertion(Model):
    """One of `max`, `min`, `equals` bounds one metric, named VARIANT.METRIC."""

    metric: str
    name: str = ""
    max: Limit | None = None
    min: Limit | None = None
    equals: Limit | None = None

    @model_validator(mode="after")
    def _one_limit(self) -> Self:
        if sum(limit is not None for limit in (self.max, self.min, self.equals)) != 1:
            raise ValueError("an assertion has exactly one of max, min and equals")
        return self

    @property
    def relation(self) -> Literal["max", "min", "equals"]:
        return "max" if self.max is not None else "min" if self.min is not None else "equals"

    @property
    def limit(self) -> float | Relative:
        limit = getattr(self, self.relation)
        assert limit is not None
        return limit


@final
class Scenario(Model):
    name: Name
    title: str = ""
    description: str = ""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    topology: Topology
    variants: Annotated[tuple[Variant, ...], Field(min_length=1)]
    assertions: tuple[Assertion, ...] = ()

    def variant(self, name: str) -> Variant:
        return next(variant for variant in self.variants if variant.name == name)
