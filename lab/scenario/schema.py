# SPDX-License-Identifier: Apache-2.0
"""What a scenario says, as frozen values; `loader` reads them, docs/scenarios.md explains them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, final

from pydantic import Discriminator, Field, Tag, create_model, model_validator

from emulation.faults import EVENTS, Parameter
from emulation.targets import TARGET_KINDS
from emulation.traffic.host.path_choice import Choose
from lab.scenario.topology import Model, Name, NotNegative, Positive, Topology
from lab.scenario.traffic import (
    ALGORITHMS,
    BRANCHES,
    ELEMENT_BYTES,
    NUMBER,
    RELATIVE,
    Collective,
    JobSettings,
    Part,
)

__all__ = [
    "ALGORITHMS",
    "BRANCHES",
    "Assertion",
    "Collective",
    "ConnectionSettings",
    "Control",
    "ELEMENT_BYTES",
    "Fault",
    "JobSettings",
    "LinkSettings",
    "Part",
    "Relative",
    "Routing",
    "SETTINGS",
    "Scenario",
    "Topology",
    "Transport",
    "Variant",
]

# What a variant may repeat; at the top level it holds for all of them.
SETTINGS = ("collective", "jobs", "routing", "link", "control", "transport", "faults")


@final
class Routing(Model):
    """`peers` says for which pairs paths are planned: all, or those that the job's collective joins."""

    strategy: Literal["all-path", "shortest", "detour", "borrow", "hashed"] = "all-path"
    rules: Literal["T2-G", "T2-V", "T2-DOR", "T1-UD", "T1-DOR+", "T1-DOR", "single-vl"] = "T2-G"
    notification: Literal["direct", "flooding"] = "direct"
    weights: Literal["traffic-aware", "oblivious"] = "traffic-aware"
    peers: Literal["all", "job"] = "all"


@final
class LinkSettings(Model):
    credit_bytes: Annotated[int, Field(ge=1)] = 65536
    scheduler: Literal["strict", "round-robin"] = "strict"
    detect_us: NotNegative = 10.0


@final
class Control(Model):
    """`hello_us` is the time from one hello to the next, None: none are sent.

    `migrate_us` is what a spare takes, once it is called, until it has the place of one that is gone.
    `hash`: whether each level of switches looks at bits of its own of a flow's hash, or all at the same.
    `scheduler` none leaves jobs the priorities that they are given; others measure each job and choose.
    `circuits` stay as built, or follow what jobs send, on ports that have light: routes leave those that move
    `drain_us` before they go dark.
    """

    processing_us: NotNegative = 5.0
    hello_us: Positive | None = None
    hello_multiplier: Annotated[int, Field(ge=2, le=255)] = 3
    lacp_us: Positive | None = None
    lacp_multiplier: Annotated[int, Field(ge=2, le=255)] = 3
    migrate_us: Annotated[float, Field(ge=0, le=10_000)] = 10.0
    circuits: Literal["static", "per-job"] = "static"
    scheduler: Literal["none", "crux", "shortest-first"] = "none"
    drain_us: Annotated[float, Field(ge=0, le=10_000)] = 10.0
    hash: Literal["per-tier", "identical"] = "per-tier"


# Connections of a pair where nothing else is said.
CONNECTIONS = 4


@final
class ConnectionSettings(Model):
    """Several connections a pair, each with a path of its own, and which of them a message takes.

    `count` 0: as many as there are disjoint paths; None: `CONNECTIONS`, and with five-tuple one a port.
    """

    paths: Literal["search", "random", "five-tuple"] = "search"
    count: Annotated[int, Field(ge=0, le=256)] | None = None
    choose: Choose = "least-unfinished"

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.paths == "five-tuple" and self.count is not None:
            raise ValueError("with `paths: five-tuple` a pair has one connection a port: leave `count:` out")
        if self.paths == "random" and self.count == 0:
            raise ValueError(
                "`count: 0` takes all disjoint paths, and `paths: random` knows none: give a number"
            )
        return self

    @property
    def most(self) -> int:
        return CONNECTIONS if self.count is None else self.count


@final
class Transport(Model):
    """Of the connections between NPUs: one a pair unless `connections` says otherwise."""

    window: Annotated[int, Field(ge=1, le=64)] = 64
    ack_every: Annotated[int, Field(ge=1, le=64)] = 16
    initial_rto_us: Positive = 100.0
    min_rto_us: Positive = 25.0
    connections: ConnectionSettings | None = None


class _Fault(Model):
    """Keys of every fault. `from` is the node from which a direction of a link leads."""

    at_us: Positive
    event: Literal[*EVENTS] = "down"  # pyright: ignore[reportInvalidTypeForm]
    source: Annotated[str | None, Field(alias="from")] = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        given = [kind for kind in TARGET_KINDS if getattr(self, kind) is not None]
        if len(given) != 1:
            kinds = ", ".join(TARGET_KINDS)
            raise ValueError(f"a fault strikes exactly one of {kinds}, not {' and '.join(given) or 'none'}")
        if self.source is not None and given != ["direction"]:
            raise ValueError(f"only a direction is `from` a node, not a {given[0]}")
        wanted = {parameter.key for parameter in EVENTS[self.event].parameters}
        for key in _EVENT_PARAMETERS:
            if (key in wanted) != (getattr(self, key) is not None):
                raise ValueError(f"event {self.event} {'needs' if key in wanted else 'takes no'} `{key}:`")
        return self

    @property
    def target(self) -> tuple[str, str | int]:
        """Kind and name of the target."""
        return next((kind, name) for kind in TARGET_KINDS if (name := getattr(self, kind)) is not None)

    @property
    def parameters(self) -> dict[str, Any]:
        """Fields of emulation.faults.Fault that the event's keys set."""
        return {
            parameter.field: parameter.convert(getattr(self, parameter.key))
            for parameter in EVENTS[self.event].parameters
        }


_EVENT_PARAMETERS = {parameter.key: parameter for kind in EVENTS.values() for parameter in kind.parameters}


def _parameter_type(parameter: Parameter) -> Any:
    """Return the type of a parameter's key: above 0, at most its largest value, or None."""
    if parameter.integer:
        return Annotated[int | None, Field(ge=1, le=parameter.most)]
    return Annotated[float | None, Field(gt=0, le=parameter.most, allow_inf_nan=False)]


if TYPE_CHECKING:
    Fault = _Fault
else:
    # A fault names its target by one key of TARGET_KINDS and has the parameters of its event.
    Fault = create_model(
        "Fault",
        __base__=_Fault,
        __doc__="A fault of a scenario: its time, its event with parameters, and its target.",
        **{
            kind: ((Annotated[int, Field(ge=0)] if target.numbered else str) | None, None)
            for kind, target in TARGET_KINDS.items()
        },
        **{key: (_parameter_type(parameter), None) for key, parameter in _EVENT_PARAMETERS.items()},
    )


@final
class Variant(Model):
    """`jobs` None: one of all members, with the variant's collective."""

    name: Name
    title: str = ""
    expect: Literal["finish", "deadlock"] = "finish"
    collective: Collective = Collective()
    jobs: Annotated[tuple[JobSettings, ...], Field(min_length=1)] | None = None
    routing: Routing = Routing()
    link: LinkSettings = LinkSettings()
    control: Control = Control()
    transport: Transport = Transport()
    faults: tuple[Fault, ...] = ()

    @property
    def label(self) -> str:
        return self.title or self.name

    @property
    def every_job(self) -> tuple[JobSettings, ...]:
        """`jobs`, or the one that there is without them, which is called `job`."""
        return self.jobs or (JobSettings(name="job", collective=self.collective),)


@final
class Relative(Model):
    """A limit that another figure of the same result sets."""

    metric: str
    times: Positive = 1.0


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
