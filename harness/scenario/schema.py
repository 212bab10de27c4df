# SPDX-License-Identifier: Apache-2.0
"""Schema of a scenario file, as frozen pydantic models; docs/use/scenarios.md explains the keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, final

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from controller.paths.graph import path_sets
from controller.schemes import registry
from controller.schemes.strategy import STRATEGIES
from emulation.traffic.host.reduction import Reduction
from harness.scenario.connection import ConnectionSettings, Transport
from harness.scenario.control import Control
from harness.scenario.faults import Fault
from harness.scenario.link import LinkSettings
from harness.scenario.study import Study
from harness.scenario.topology import Model, Name, Positive, Topology
from harness.scenario.traffic.graph import GraphSettings
from harness.scenario.traffic.jobs import (
    BRANCHES,
    ELEMENT_BYTES,
    NUMBER,
    RELATIVE,
    Collective,
    JobSettings,
    Part,
    alone,
)
from harness.scenario.traffic.memory_pool import PoolSettings
from topologies.errors import suggestion
from topologies.plugins.python_file import is_reference

__all__ = [
    "BRANCHES",
    "Assertion",
    "Collective",
    "ConnectionSettings",
    "Control",
    "ELEMENT_BYTES",
    "Fault",
    "HostSettings",
    "JobSettings",
    "LinkSettings",
    "OwnProgram",
    "Part",
    "Relative",
    "Routing",
    "SETTINGS",
    "Scenario",
    "Topology",
    "Transport",
    "Variant",
]

# Keys of a variant that the top level of a scenario file may set for all variants.
SETTINGS = (
    "collective",
    "graph",
    "lanes",
    "jobs",
    "workload",
    "routing",
    "link",
    "control",
    "transport",
    "hosts",
    "pool",
    "faults",
    "horizon_us",
    "program",
)


def _known_strategy(name: str) -> str:
    """Return `name` if it is a known strategy; else raise a ValueError with close matches or all names."""
    known = dict.fromkeys([*STRATEGIES, *path_sets.names()])
    if name in known or is_reference(name):
        return name
    raise ValueError(f"{name!r} is not known; {suggestion(name, known)}")


def _known_scheme(name: str) -> str:
    """Return `name` if it is empty or a known scheme; else raise a ValueError that suggests names."""
    known = dict.fromkeys(registry.names())
    if not name or name in known or is_reference(name):
        return name
    raise ValueError(f"{name!r} is not known; {suggestion(name, known)}")


@final
class Routing(Model):
    """Routing of a variant.

    Attributes:
        scheme: Forwarding scheme: a registered name or FILE.py:NAME; empty for the scheme of the fabric.
        strategy: Choice of a source among the paths to a destination.
        rules: Turn rules that keep routes free of deadlock.
        notification: Spread of notices of a failed link: direct messages or flooding.
        weights: Shares of a pair's paths, computed for the traffic of the jobs (`traffic-aware`) or from the
            rates and lengths of paths alone (`oblivious`).
        peers: Pairs of NPUs that have source routes: all pairs, or the pairs between which a job sends.
    """

    scheme: Annotated[str, AfterValidator(_known_scheme), Field(exclude_if=lambda value: not value)] = ""
    strategy: Annotated[str, AfterValidator(_known_strategy)] = "all-path"
    rules: Literal["T2-G", "T2-V", "T2-DOR", "T1-UD", "T1-DOR+", "T1-DOR", "single-vl"] = "T2-G"
    notification: Literal["direct", "flooding"] = "direct"
    weights: Literal["traffic-aware", "oblivious"] = "traffic-aware"
    peers: Literal["all", "job"] = "all"


@final
class HostSettings(Model):
    """Reduction on an NPU: by its cores, or by the collective co-processor (CCU) in its UB IO controller.

    Attributes:
        reduction: Unit that reduces: the cores (`core`) or the CCU (`ccu`).
        rate_gbps: Rate at which the unit takes in received data; None for no limit.
        sram_kib: SRAM of the CCU for frames and sums; None for no limit.
        core_percent: Share of the NPU's cores that is busy while `core` reduces.
    """

    reduction: Literal["core", "ccu"]
    rate_gbps: Annotated[float, Field(gt=0, le=10**6, allow_inf_nan=False)] | None = None
    sram_kib: Annotated[int, Field(ge=1, le=2**30)] | None = None
    core_percent: Annotated[int, Field(ge=1, le=100)] = 100

    @model_validator(mode="after")
    def _whole(self) -> Self:
        other = {"core": "sram_kib", "ccu": "core_percent"}[self.reduction]
        if other in self.model_fields_set:
            raise ValueError(f"`{other}:` does not apply to `reduction: {self.reduction}`; leave it out")
        return self

    @property
    def model(self) -> Reduction:
        """Settings of the reduction for host agents: the rate in bit/s and the SRAM in bytes."""
        rate = None if self.rate_gbps is None else round(self.rate_gbps * 10**9)
        sram = None if self.sram_kib is None else self.sram_kib << 10
        return Reduction(self.reduction, rate, sram, self.core_percent)


@final
class OwnProgram(Model):
    """A user's replacement for a built-in P4 program, with the tables and counters of the built-in program.

    Attributes:
        file: FILE.p4, which p4c compiles, or FILE.json.
        p4info: The p4info of FILE.json, FILE.p4info.txtpb by default.
        entries: File of table entries that the nodes with the program get beside the entries of the plan.
    """

    file: str
    p4info: str | None = None
    entries: str | None = None


@final
class WorkloadSettings(Model):
    """Name of a workload, or FILE.py:NAME, and its parameters; see harness.scenario.traffic.workload."""

    name: str
    params: Mapping[str, Any] = Field(default_factory=dict)


@final
class Variant(Model):
    """Settings of one run of a scenario.

    The jobs are those of `jobs` or of the `workload`; without both, all members form a single job with the
    variant's collective or graph. A variant with a `pool` has no jobs. Without `hosts`, reduction takes no
    time and memory traffic is not counted.

    `expect` is the required end of the run: with a result (`finish`), in a `deadlock`, or without a result
    because nodes are unreachable (`halt`). `program` has the user's programs by the name of the built-in
    program that each replaces.
    """

    name: Name
    title: str = ""
    expect: Literal["finish", "deadlock", "halt"] = "finish"
    collective: Collective = Collective()
    graph: Annotated[GraphSettings | None, Field(exclude_if=lambda value: value is None)] = None
    lanes: Annotated[
        tuple[Annotated[int, Field(ge=1)], ...] | None, Field(exclude_if=lambda value: value is None)
    ] = None
    jobs: Annotated[tuple[JobSettings, ...], Field(min_length=1)] | None = None
    workload: WorkloadSettings | None = None
    routing: Routing = Routing()
    link: LinkSettings = LinkSettings()
    control: Control = Control()
    transport: Transport = Transport()
    # Excluded from the scenario's hash unless given, so that older scenarios keep their hash.
    hosts: Annotated[HostSettings | None, Field(exclude_if=lambda value: value is None)] = None
    pool: Annotated[PoolSettings | None, Field(exclude_if=lambda value: value is None)] = None
    faults: tuple[Fault, ...] = ()
    horizon_us: Positive | None = None
    program: Mapping[str, OwnProgram] = Field(default_factory=dict)

    @property
    def cycles_allowed(self) -> bool:
        """True if the plan needs no check for deadlock: a deadlock is expected, or impossible."""
        return self.expect == "deadlock" or not self.link.may_deadlock

    @model_validator(mode="after")
    def _graph_alone(self) -> Self:
        if self.graph is not None and self.jobs is None:
            alone(self.collective)
        if self.lanes is not None and self.jobs is not None:
            raise ValueError("`lanes:` stands beside `jobs:`; write `lanes:` in each job instead")
        if self.hosts is not None and any(job.graph is not None for job in self.every_job):
            raise ValueError(
                "`hosts:` stands beside a graph, but it models the reduction of collectives; leave one of "
                "them out"
            )
        return self

    @model_validator(mode="after")
    def _pool_alone(self) -> Self:
        others = sorted(
            {"collective", "jobs", "workload", "hosts", "graph", "lanes", "transport", "horizon_us"}
            & self.model_fields_set
        )
        if self.pool is not None and others:
            raise ValueError(f"a variant with `pool:` has no `{others[0]}:`; leave one of them out")
        if self.pool is not None and (self.control.circuits, self.control.scheduler) != ("static", "none"):
            raise ValueError(
                "a variant with `pool:` has no jobs, so `circuits:` and `scheduler:` do not apply; leave "
                "them out"
            )
        return self

    @property
    def label(self) -> str:
        """Title of the variant, or its name if it has no title."""
        return self.title or self.name

    @property
    def every_job(self) -> tuple[JobSettings, ...]:
        """Jobs of the variant; without `jobs`, a single job named `job`; with a pool, no jobs."""
        if self.pool is not None:
            return ()
        return self.jobs or (
            JobSettings(name="job", collective=self.collective, graph=self.graph, lanes=self.lanes),
        )


@final
class Relative(Model):
    """A limit of an assertion: `times` the value of another metric of the result."""

    metric: str
    times: Positive = 1.0


Limit = Annotated[
    Annotated[float, Field(allow_inf_nan=False), Tag(NUMBER)] | Annotated[Relative, Tag(RELATIVE)],
    Discriminator(lambda value: RELATIVE if isinstance(value, dict | Relative) else NUMBER),
]


@final
class Assertion(Model):
    """A bound on one metric, named VARIANT.METRIC, by one of `max`, `min` and `equals`."""

    metric: str
    name: str = ""
    max: Limit | None = None
    min: Limit | None = None
    equals: Limit | None = None

    @model_validator(mode="after")
    def _one_limit(self) -> Self:
        if sum(limit is not None for limit in (self.max, self.min, self.equals)) != 1:
            raise ValueError(
                "an assertion needs exactly one of `max:`, `min:` and `equals:`; give one of them"
            )
        return self

    @property
    def relation(self) -> Literal["max", "min", "equals"]:
        """Key of the assertion's limit."""
        return "max" if self.max is not None else "min" if self.min is not None else "equals"

    @property
    def limit(self) -> float | Relative:
        """Value of `max`, `min` or `equals`, whichever the assertion has."""
        limit = getattr(self, self.relation)
        assert limit is not None
        return limit

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the compared metrics: the asserted metric, and the metric of a relative limit."""
        limit = self.limit
        return (self.metric, limit.metric) if isinstance(limit, Relative) else (self.metric,)


@final
class Scenario(Model):
    """A topology, variants to run on it, assertions about their metrics, and axes for `railyard sweep`."""

    name: Name
    title: str = ""
    description: str = ""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    topology: Topology
    variants: Annotated[tuple[Variant, ...], Field(min_length=1)]
    assertions: tuple[Assertion, ...] = ()
    study: Study | None = None

    def variant(self, name: str) -> Variant:
        """Return the variant called `name`."""
        return next(variant for variant in self.variants if variant.name == name)
