# SPDX-License-Identifier: Apache-2.0
"""Preparation of a scenario: fabric, plans, jobs and faults, all checked before a testbed starts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar, final

from controller.p4runtime.client import ProgramFiles
from controller.p4runtime.update_cache import UpdateCache
from controller.plan.plan import Plan
from controller.planner import make_plan
from controller.schemes.registry import Routing, routing_of, scheme_class
from controller.schemes.strategy import Strategy
from controller.tables.congestion import Marking
from controller.trees.entries import tree_vls
from emulation import faults
from emulation.targets import LinkDirection, find_target
from emulation.traffic.frames.values import NetworkHeader
from emulation.traffic.host.transport import TransportParameters
from emulation.traffic.schedule.schedule import SlicedTraffic
from harness.errors import ScenarioError
from harness.run.collectives.connections import connections_of
from harness.run.collectives.schedule import fitting
from harness.run.memory_pool.plan import PoolPlan, plan_pool
from harness.run.planning.circuits import check_demands, check_settings
from harness.run.planning.faults import in_order, planned_faults, resolved_fault
from harness.run.planning.job_plan import JobPlan, demand_of
from harness.run.planning.planner import plan_jobs
from harness.run.planning.serdes_lanes import LaneAllocation, LaneMove, allocate_lanes
from harness.run.programs.network_header import check_credits, check_network_header
from harness.run.programs.own_cells import check_cells, own_cells
from harness.run.programs.own_program import BUILT_IN, OwnPrograms, own_programs, read_programs
from harness.run.transport import transport_for, with_queueing
from harness.scenario.cell_metrics import cell_metric
from harness.scenario.document import Document, Location
from harness.scenario.link import PortSettings
from harness.scenario.loader import Lines
from harness.scenario.schema import (
    Fault,
    Scenario,
    Variant,
)
from topologies import End, Fabric
from topologies.model.places import nic_ports

__all__ = ["PlanCache", "Prepared", "prepare"]

T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True)
class Prepared:
    """One variant of a scenario, planned and checked.

    Attributes:
        variant: Settings of the variant.
        fabric: Fabric at the start of the run.
        plan: Routes and table entries.
        transport: Windows, timeouts and congestion control.
        jobs: Plans of the jobs, which share no members; empty for a variant with a pool.
        faults: Faults ordered by time, with their targets found in the fabric.
        own: Programs of the user's own in place of built-in programs.
        updates: Cache of serialised table entries, for a plan that several runs install.
        pool: Plan of the memory pool.
        lane_moves: Changes of link rates at the start of jobs.
        ports: Settings of single directions of links, by direction.
    """

    variant: Variant
    fabric: Fabric
    plan: Plan
    transport: TransportParameters
    jobs: tuple[JobPlan, ...]
    faults: tuple[faults.Fault, ...] = ()
    own: OwnPrograms = BUILT_IN
    updates: UpdateCache | None = None
    pool: PoolPlan | None = None
    lane_moves: tuple[LaneMove, ...] = ()
    ports: Mapping[LinkDirection, PortSettings] = field(default_factory=dict)

    @property
    def port_marking(self) -> dict[End, Marking]:
        """Queue depths at which a port marks frames, for each port with depths of its own."""
        link = self.variant.link
        return {
            _sending_end(self.fabric, name, direction): marking
            for (name, direction), port in self.ports.items()
            if (marking := link.port_marking(port)) is not None
        }

    @property
    def sliced(self) -> SlicedTraffic:
        """Schedule of the first job."""
        return self.jobs[0].sliced

    @property
    def members(self) -> tuple[str, ...]:
        """Names of the members of all jobs, job by job."""
        return tuple(name for job in self.jobs for name in job.members)

    @property
    def reduces(self) -> bool:
        """True if switches carry out the collective of a job."""
        return any(job.trees is not None for job in self.jobs)

    @property
    def bound_ps(self) -> int:
        """Lower bound of the time until all jobs end, in ps."""
        if self.pool is not None:
            return self.pool.bound_ps
        return max(job.begin_ps + job.bound_ps for job in self.jobs)

    @property
    def demand(self) -> dict[tuple[str, str], int]:
        """Data volume of all jobs in bytes, by pair of members."""
        return demand_of(self.jobs)

    def with_faults(self, chosen: tuple[Fault, ...]) -> Prepared:
        """Return the variant with the faults `chosen` in place of the variant's faults."""
        variant = self.variant.model_copy(update={"faults": chosen})
        resolved = in_order([resolved_fault(self.fabric, fault) for fault in chosen])
        return replace(self, variant=variant, faults=resolved)


@final
@dataclass(slots=True)
class PlanCache:
    """Cache of values shared by scenarios with one topology.

    It has the fabric, plans, serialised table entries of plans, and plans of jobs.
    """

    fabric: Fabric | None = None
    plans: dict[object, Plan] = field(default_factory=dict)
    updates: dict[object, UpdateCache] = field(default_factory=dict)
    jobs: dict[object, tuple[JobPlan, ...]] = field(default_factory=dict)


def prepare(
    scenario: Scenario,
    document: Document,
    note: Callable[[str], None] = lambda _: None,
    cache: PlanCache | None = None,
    check: Callable[[Fabric], None] = lambda _: None,
) -> tuple[Prepared, ...]:
    """Plan and check all variants of a scenario, and return them in order.

    All variants are checked before the routes of the first are planned, which may take long.

    Args:
        scenario: The scenario.
        document: Its document, for the lines of errors.
        note: Receives the name of each variant whose routes are about to be planned.
        cache: Values of earlier scenarios of the same topology; values of this scenario are added.
        check: Receives the fabric; an error that it raises ends the preparation before the planning.

    Raises:
        ScenarioError: A part of the scenario is impossible; the message names its line.
    """
    with_line = Lines(document)
    alone, cache = cache is None, cache or PlanCache()
    if cache.fabric is None:
        cache.fabric = with_line(("topology",), scenario.topology.build)
    whole, plans = cache.fabric, cache.plans
    check(whole)
    prepared: dict[str, Prepared] = {}
    keys = {}
    lines = _indices(document)
    checked = [
        _checked(
            with_line, ("variants", lines.get(variant.name, index)), whole, variant, cache, scenario.seed
        )
        for index, variant in enumerate(scenario.variants)
    ]
    for item in checked:
        variant, at, fabric, jobs, routing = item.variant, item.at, item.lanes.fabric, item.jobs, item.routing
        routed = (routing, variant.routing.rules, variant.routing.weights, variant.routing.peers)
        same = (routed, variant.every_job, variant.cycles_allowed, variant.control.hash)
        if same not in plans:
            note(variant.name)
            plans[same] = with_line((*at, "routing"), _plan, fabric, variant, jobs, routing.strategy)
        transport = with_queueing(item.transport, variant, plans[same], jobs)
        with_line((*at, "routing"), _check_trees, plans[same], jobs)
        if variant.transport.connections is not None:
            connected = (same, item.sent, variant.transport.connections, scenario.seed)
            if connected not in cache.jobs:
                line = (*at, "transport", "connections")
                cache.jobs[connected] = with_line(line, _connected, plans[same], variant, jobs, scenario.seed)
            jobs = cache.jobs[connected]
        own = BUILT_IN
        if variant.program:
            own = with_line((*at, "program"), own_programs, plans[same], variant.program, item.programs)
        prepared[variant.name] = Prepared(
            variant,
            fabric,
            plans[same],
            transport,
            jobs,
            item.faults,
            own,
            None,
            item.pool,
            item.lanes.moves,
            item.ports,
        )
        keys[variant.name] = same
    _check_cells(with_line, document, prepared)
    uses = Counter(keys.values())
    return tuple(
        item
        if alone and uses[keys[name]] == 1
        else replace(item, updates=cache.updates.setdefault(keys[name], UpdateCache()))
        for name, item in prepared.items()
    )


@final
@dataclass(frozen=True, slots=True)
class _Checked:
    """A variant, checked as far as possible without a plan; the cache keeps its jobs under the key `sent`."""

    variant: Variant
    at: Location
    lanes: LaneAllocation
    routing: Routing
    sent: Hashable
    jobs: tuple[JobPlan, ...]
    transport: TransportParameters
    faults: tuple[faults.Fault, ...]
    ports: Mapping[LinkDirection, PortSettings]
    programs: Mapping[str, ProgramFiles]
    pool: PoolPlan | None


def _checked(
    with_line: Lines, at: Location, whole: Fabric, variant: Variant, cache: PlanCache, seed: int
) -> _Checked:
    """Check the parts of a variant that need no plan; raise a ScenarioError with the line of a mistake."""
    variant = _with_fitting(whole, variant)
    lanes = allocate_lanes(with_line, at, whole, variant)
    fabric = lanes.fabric
    struck = planned_faults(with_line, (*at, "faults"), fabric, variant)
    ports = _ports(with_line, (*at, "link", "ports"), fabric, variant)
    if variant.control.circuits == "per-job":
        with_line((*at, "control", "circuits"), check_settings, fabric, variant)
    if variant.control.lacp_us is not None:
        with_line((*at, "control", "lacp_us"), _check_nics, fabric)
    programs = with_line((*at, "program"), read_programs, fabric, variant.program or {})
    chosen = variant.routing
    routing = with_line((*at, "routing"), routing_of, fabric, chosen.strategy, chosen.scheme)
    sent = (variant.every_job, routing, variant.control.scheduler)
    if sent not in cache.jobs:
        cache.jobs[sent] = plan_jobs(with_line, at, fabric, variant, lanes.by_job, routing)
    jobs = cache.jobs[sent]
    if variant.control.circuits == "per-job":
        check_demands(with_line, at, fabric, variant, jobs)
    transport = with_line((*at, "transport"), transport_for, fabric, variant, routing, jobs, seed)
    payloads = [job.collective.payload_bytes for job in jobs]
    header, marks = variant.link.network_header, variant.link.marking is not None
    with_line((*at, "link"), _check_programs, fabric, header, payloads, jobs, marks=marks)
    steered = not routing.strategy.by_tables
    line = (*at, "link", "credit_bytes")
    with_line(line, check_credits, variant.link.credit_bytes, payloads, header, steered=steered)
    pool = None
    if variant.pool is not None:
        pool = with_line((*at, "pool"), plan_pool, fabric, variant.pool)
    return _Checked(variant, at, lanes, routing, sent, jobs, transport, struck, ports, programs, pool)


def _check_cells(with_line: Lines, document: Document, by_name: Mapping[str, Prepared]) -> None:
    """Raise a ScenarioError if an assertion names a counter or register cell that its variant lacks."""
    given = document.values.get("assertions", ())
    for index, item in enumerate(given if isinstance(given, tuple) else ()):
        limits = {(relation,): item.get(relation) for relation in ("max", "min", "equals")}
        for at, named in ((), item), *limits.items():
            metric = named.get("metric", "") if isinstance(named, dict) else ""
            variant, _, cells = metric.partition(".")
            cell, ready = cell_metric(cells), by_name.get(variant)
            if cell is not None and ready is not None:
                check = partial(check_cells, cell, ready.fabric, own_cells(ready.fabric, ready.own))
                with_line(("assertions", index, *at, "metric"), check)


def _ports(
    with_line: Lines, at: Location, fabric: Fabric, variant: Variant
) -> dict[LinkDirection, PortSettings]:
    """Return the settings of single directions of links, with the directions found in the fabric."""
    settings: dict[LinkDirection, PortSettings] = {}
    for name, port in variant.link.ports.items():
        target = with_line((*at, name), find_target, fabric, "direction", name)
        settings[target.one_way[0]] = port
    return settings


def _sending_end(fabric: Fabric, link: str, direction: int) -> End:
    chosen = fabric.link(link)
    return chosen.b if direction else chosen.a


def _check_trees(plan: Plan, jobs: Sequence[JobPlan]) -> None:
    """Raise a PlanError if the turn rules forbid a turn of a tree of switches."""
    rules = scheme_class(plan.fabric, plan.scheme).rule_set(plan.rules, plan.fabric)
    for job in jobs:
        for tree in () if job.trees is None else job.trees.trees:
            tree_vls(plan.fabric, rules, tree)


def _check_programs(
    fabric: Fabric, header: NetworkHeader, payloads: Sequence[int], jobs: Sequence[JobPlan], *, marks: bool
) -> None:
    """Raise an error if programs do not support the header, congestion marks, or sums in switches."""
    reduces = any(job.trees is not None for job in jobs)
    check_network_header(fabric, header, payloads, marks=marks, reduces=reduces)


def _with_fitting(fabric: Fabric, variant: Variant) -> Variant:
    """Return the variant with a fitting algorithm for each collective without one in the scenario."""
    jobs = variant.every_job
    fitted = tuple(
        job if job.graph else job.model_copy(update={"collective": fitting(fabric, job.collective)})
        for job in jobs
    )
    if fitted == jobs:
        return variant
    return variant.model_copy(
        update={"jobs": fitted} if variant.jobs else {"collective": fitted[0].collective}
    )


def _indices(document: Document) -> dict[str, int]:
    """Return the index of each variant in the document by name; a run may have only some of them."""
    given = document.values.get("variants", ())
    named = given if isinstance(given, tuple) else ()
    return {
        item["name"]: index for index, item in enumerate(named) if isinstance(item, dict) and "name" in item
    }


def _check_nics(fabric: Fabric) -> None:
    """Raise a ScenarioError if no endpoint has a NIC port, since LACP bundles the ports of NICs."""
    if not any(nic_ports(node) for node in fabric.endpoints):
        raise ScenarioError(
            f"`lacp_us` is given, but no endpoint of {fabric.name} has a NIC whose ports LACP could bundle",
            remedy="leave it out, or take a fabric with NICs, such as hpn",
        )


def _plan(fabric: Fabric, variant: Variant, jobs: tuple[JobPlan, ...], strategy: Strategy) -> Plan:
    wanted = demand_of(jobs)
    known = variant.routing.weights == "traffic-aware"
    return make_plan(
        fabric,
        scheme=variant.routing.scheme,
        strategy=variant.routing.strategy,
        rules=variant.routing.rules,
        demand=wanted if known and jobs else None,
        peers=wanted if variant.routing.peers == "job" else None,
        hashing=variant.control.hash,
        payload_bytes=max((job.collective.payload_bytes for job in jobs), default=4096),
        standby=strategy.standby_buckets,
        check=not variant.cycles_allowed,
    )


def _connected(plan: Plan, variant: Variant, jobs: tuple[JobPlan, ...], seed: int) -> tuple[JobPlan, ...]:
    """Return the jobs with the connections requested by the variant."""
    wanted = variant.transport.connections
    assert wanted is not None
    return tuple(
        replace(job, connections=connections_of(plan, job.sliced.schedule, job.members, wanted, seed))
        for job in jobs
    )
