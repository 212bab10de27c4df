# SPDX-License-Identifier: Apache-2.0
"""Everything of a scenario that can be wrong is found here, before anything is started."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeVar, final

from controller.plan import Plan
from controller.planner import make_plan
from emulation import faults
from emulation.targets import find_target
from emulation.traffic.host.iterations import Rhythm
from emulation.traffic.host.path_choice import Connections
from emulation.traffic.host.transport import TransportParameters
from emulation.traffic.schedule.schedule import Sliced, demand, slice_schedule
from lab.errors import ScenarioError
from lab.run.bounds import bound_ps
from lab.run.collective import schedule_of
from lab.run.connections import connections_of
from lab.run.grids import members_of
from lab.scenario.document import Document, Location
from lab.scenario.loader import relocated
from lab.scenario.schema import (
    ELEMENT_BYTES,
    Collective,
    Fault,
    JobSettings,
    Scenario,
    Transport,
    Variant,
)
from topologies import Fabric, RailyardError
from topologies.families.lumos.core import core_of
from topologies.transform.spares import has_spares

__all__ = ["JobPlan", "Prepared", "demand_of", "prepare"]

T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True)
class JobPlan:
    """What one job does from `begin_ps` on; rank r of its schedule is the NPU or GPU `members[r]`.

    `rhythm` None: it sends once and computes nothing. `bound_ps` is of all its iterations. `level` is the
    service level of its data.
    """

    name: str
    begin_ps: int
    collective: Collective
    members: tuple[str, ...]
    sliced: Sliced
    bound_ps: int
    rhythm: Rhythm | None = None
    level: int = 0
    connections: Connections | None = None

    @property
    def demand(self) -> dict[tuple[str, str], int]:
        """Bytes by pairs of members."""
        return demand(self.sliced.schedule, self.members, ELEMENT_BYTES)


def demand_of(jobs: Iterable[JobPlan]) -> dict[tuple[str, str], int]:
    """Bytes by pairs of members of these jobs, which share none."""
    return {pair: amount for job in jobs for pair, amount in job.demand.items()}


@final
@dataclass(frozen=True, slots=True)
class Prepared:
    """One variant with all that its run needs; its jobs share no members.

    `faults` are those of the variant, found in the fabric, in the order of their times.
    """

    variant: Variant
    fabric: Fabric
    plan: Plan
    transport: TransportParameters
    jobs: tuple[JobPlan, ...]
    faults: tuple[faults.Fault, ...] = ()

    @property
    def sliced(self) -> Sliced:
        """Of the first job."""
        return self.jobs[0].sliced

    @property
    def members(self) -> tuple[str, ...]:
        """Of all jobs, one after the other."""
        return tuple(name for job in self.jobs for name in job.members)

    @property
    def bound_ps(self) -> int:
        """What no run of all jobs can beat, from its beginning."""
        return max(job.begin_ps + job.bound_ps for job in self.jobs)

    @property
    def demand(self) -> dict[tuple[str, str], int]:
        """Bytes by pairs of members of all jobs."""
        return demand_of(self.jobs)

    def with_faults(self, chosen: tuple[Fault, ...]) -> Prepared:
        variant = self.variant.model_copy(update={"faults": chosen})
        found = _in_order([_found(self.fabric, fault) for fault in chosen])
        return replace(self, variant=variant, faults=found)


def prepare(
    scenario: Scenario, document: Document, note: Callable[[str], None] = lambda _: None
) -> tuple[Prepared, ...]:
    """All variants, in their order; a ScenarioError names the line that asks for what cannot be.

    `note` is told the variant whose plan is being made, which can take a second.
    """
    with_line = _Lines(document)
    fabric = with_line(("topology",), scenario.topology.build)
    plans: dict[object, Plan] = {}
    prepared = []
    for index, variant in enumerate(scenario.variants):
        at = ("variants", index)
        struck = _faults(with_line, (*at, "faults"), fabric, variant)
        if variant.control.circuits == "per-job":
            with_line((*at, "control", "circuits"), lambda chosen=variant: _circuits(fabric, chosen))
        jobs = _jobs(with_line, at, fabric, variant)
        transport = with_line((*at, "transport"), lambda chosen=variant.transport: _transport(chosen))
        routing = variant.routing
        routed = (routing.strategy, routing.rules, routing.weights, routing.peers)
        same = (routed, variant.every_job, variant.expect, variant.control.hash)
        if same not in plans:
            note(variant.name)
            plans[same] = with_line(
                (*at, "routing"),
                lambda chosen=variant, sending=jobs: _plan(fabric, chosen, sending),
            )
        if variant.transport.connections is not None:
            jobs = with_line(
                (*at, "transport", "connections"),
                lambda chosen=variant, plan=plans[same], sending=jobs: _connected(
                    plan, chosen, sending, scenario.seed
                ),
            )
        prepared.append(Prepared(variant, fabric, plans[same], transport, jobs, struck))
    return tuple(prepared)


@final
class _Lines:
    """Puts an error of a lower floor on the line of the scenario that caused it."""

    def __init__(self, document: Document) -> None:
        self._document = document

    def __call__(self, location: Location, make: Callable[[], T]) -> T:
        try:
            return make()
        except RailyardError as ex:
            raise relocated(self._document, location, ex) from ex


def _faults(with_line: _Lines, at: Location, fabric: Fabric, variant: Variant) -> tuple[faults.Fault, ...]:
    found = [
        with_line((*at, number, fault.target[0]), lambda chosen=fault: _found(fabric, chosen))
        for number, fault in enumerate(variant.faults)
    ]
    for number in faults.unmatched_clears(found):
        with_line((*at, number), lambda fault=found[number]: _refuse(fault))
    return _in_order(found)


def _found(fabric: Fabric, chosen: Fault) -> faults.Fault:
    return faults.Fault(
        at_ps=round(chosen.at_us * 10**6),
        target=find_target(fabric, *chosen.target, chosen.source),
        event=chosen.event,
        **chosen.parameters,
    )


def _in_order(found: list[faults.Fault]) -> tuple[faults.Fault, ...]:
    """By time; what is at the same time stays in the order of the file."""
    return tuple(sorted(found, key=lambda fault: fault.at_ps))


def _refuse(fault: faults.Fault) -> None:
    began = "took it down" if fault.event == "up" else "impaired it"
    raise ScenarioError(
        f"{fault.text} at {fault.at_ps / 10**6:g} us, but no fault of that target {began} before",
        remedy="name the target as the fault does that it ends, and give it a later time",
    )


def _jobs(with_line: _Lines, at: Location, fabric: Fabric, variant: Variant) -> tuple[JobPlan, ...]:
    found = []
    holder: dict[str, str] = {}
    for index, job in enumerate(variant.every_job):
        line = (*at, "jobs", index, "collective") if variant.jobs else (*at, "collective")
        one = with_line(line, lambda chosen=job: _job(fabric, chosen, variant.routing.strategy))
        for name in one.members:
            if holder.setdefault(name, job.name) != job.name:
                with_line(line, lambda who=name, other=holder[name]: _refuse_twice(who, other))
        found.append(one)
    if variant.control.scheduler != "none":
        with_line((*at, "control", "scheduler"), lambda: _check_scheduler(variant))
    if has_spares(fabric):
        if len(found) > 1:
            with_line((*at, "jobs"), lambda: _refuse_spares(fabric, "several jobs"))
        if found[0].rhythm is not None:
            with_line((*at, "jobs"), lambda: _refuse_spares(fabric, "a job of several iterations"))
    return tuple(found)


def _job(fabric: Fabric, job: JobSettings, strategy: str) -> JobPlan:
    collective = job.collective
    members = members_of(fabric, collective.members)
    schedule = schedule_of(fabric, members, collective, detours=strategy not in ("shortest", "hashed"))
    each = collective.payload_bytes // ELEMENT_BYTES
    least_ps = bound_ps(fabric, members, collective, strategy)
    return JobPlan(
        name=job.name,
        begin_ps=round(job.at_us * 10**6),
        collective=collective,
        members=members,
        sliced=slice_schedule(schedule, each, overlap=collective.overlap),
        bound_ps=job.rhythm.least_ps(least_ps) if job.rhythm else least_ps,
        rhythm=job.rhythm,
        level=job.level,
    )


def _circuits(fabric: Fabric, variant: Variant) -> None:
    """Whether circuits can follow jobs there."""
    if core_of(fabric).wiring == "uniform":
        raise ScenarioError(
            "circuits that follow jobs: with uniform wiring not every demand can be realised",
            remedy="give the topology another wiring, or leave `circuits: per-job` out",
        )
    if variant.routing.peers != "job":
        raise ScenarioError(
            "circuits that follow jobs may leave other pairs without a way, and routing plans for all",
            remedy="write `routing: {peers: job}`",
        )


def _refuse_twice(name: str, other: str) -> None:
    raise ScenarioError(
        f"{name} is a member of job {other!r} as well", remedy="give each job its own members"
    )


def _check_scheduler(variant: Variant) -> None:
    """Whether every job can be measured, and none says itself how important it is."""
    for job in variant.every_job:
        if job.iterations < 2 or not job.compute_us:
            raise ScenarioError(
                f"scheduler {variant.control.scheduler}: job {job.name} has {job.iterations} iterations of "
                f"{job.compute_us:g} us, and the first is to be measured",
                remedy="give every job `iterations: 2` or more and `compute_us:`",
            )
        if "priority" in job.model_fields_set:
            raise ScenarioError(
                f"scheduler {variant.control.scheduler}: job {job.name} has priority {job.priority} already",
                remedy="leave `priority:` out, or take `scheduler: none`",
            )


def _refuse_spares(fabric: Fabric, what: str) -> None:
    raise ScenarioError(
        f"{what} on {fabric.name}, which has spares: a takeover begins all of a run again",
        remedy="give the topology no spares, or the variant one job without `iterations:` and `compute_us:`",
    )


def _plan(fabric: Fabric, variant: Variant, jobs: tuple[JobPlan, ...]) -> Plan:
    wanted = demand_of(jobs)
    known = variant.routing.weights == "traffic-aware"
    return make_plan(
        fabric,
        strategy=variant.routing.strategy,
        rules=variant.routing.rules,
        demand=wanted if known else None,
        peers=wanted if variant.routing.peers == "job" else None,
        hashing=variant.control.hash,
        check=variant.expect != "deadlock",
    )


def _transport(chosen: Transport) -> TransportParameters:
    return TransportParameters(
        window=chosen.window,
        ack_every=min(chosen.ack_every, chosen.window),
        initial_rto_ps=round(chosen.initial_rto_us * 10**6),
        min_rto_ps=round(chosen.min_rto_us * 10**6),
        lb_mode=1 if chosen.connections is None else 0,
    )


def _connected(plan: Plan, variant: Variant, jobs: tuple[JobPlan, ...], seed: int) -> tuple[JobPlan, ...]:
    """The jobs with the connections that the variant asks for."""
    wanted = variant.transport.connections
    assert wanted is not None
    return tuple(
        replace(job, connections=connections_of(plan, job.sliced.schedule, job.members, wanted, seed))
        for job in jobs
    )
