# SPDX-License-Identifier: Apache-2.0
"""Plans of a variant's jobs, checked against the fabric and against each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from controller.schemes.registry import Routing
from emulation.traffic.graph.operations import Graph
from emulation.traffic.schedule.schedule import slice_schedule
from harness.errors import ScenarioError
from harness.run.collectives.bounds import bounds, largest_ps
from harness.run.collectives.grids import members_of
from harness.run.collectives.schedule import schedule_of
from harness.run.in_switches.plan import BOUND, check_job, plan_trees
from harness.run.planning.graphs import GraphJob, graph_job, join, joinable, read
from harness.run.planning.job_plan import JobPlan
from harness.scenario.document import Location
from harness.scenario.explain import in_file
from harness.scenario.loader import Lines
from harness.scenario.schema import ELEMENT_BYTES, JobSettings, Variant
from topologies import Fabric
from topologies.transform.spares import has_spares

__all__ = ["line_of", "plan_jobs", "read_graph"]

_ALONE = "a collective in switches cannot share members"
_ONCE = "leave out `iterations:` and `compute_us:`"


def plan_jobs(
    with_line: Lines,
    at: Location,
    fabric: Fabric,
    variant: Variant,
    by_job: Sequence[Fabric],
    routing: Routing,
) -> tuple[JobPlan, ...]:
    """Return the plans of a variant's jobs; jobs with common members have a single plan together.

    `at` is the location of the variant in the document. `by_job` has the fabric of each job, with the SerDes
    lanes that its links have when the job begins.

    Raises:
        ScenarioError: A job is impossible on the fabric or beside another job; the message names its line.
    """
    jobs = variant.every_job
    graphs: dict[int, GraphJob] = {}
    members = []
    for index, job in enumerate(jobs):
        line = line_of(at, variant, index)
        if job.graph is not None:
            graph = read_graph(with_line, line, fabric, job)
            graphs[index] = with_line(line, graph_job, by_job[index], job, graph, routing)
            members.append(graphs[index].members)
        else:
            members.append(with_line(line, members_of, fabric, job.collective.members))
    plans = []
    for group in _sharing(with_line, at, variant, members):
        line = line_of(at, variant, group[0])
        if len(group) == 1 and group[0] not in graphs:
            plans.append(with_line(line, _job, by_job[group[0]], jobs[group[0]], routing))
            continue
        for index in group:
            if index not in graphs:
                line = line_of(at, variant, index)
                if jobs[index].collective.in_switches:
                    with_line(line, _refuse_shared, members[index][0], _other(jobs, group, index), _ALONE)
                graphs[index] = with_line(line, graph_job, by_job[index], jobs[index], None, routing)
        plans.append(with_line(line, join, fabric, [graphs[index] for index in group]))
    if variant.control.scheduler != "none":
        with_line((*at, "control", "scheduler"), _check_scheduler, variant)
    if has_spares(fabric) and any(plan.trees is not None for plan in plans):
        with_line(at, _refuse_spares, fabric, "a collective in switches", "take an algorithm of hosts")
    if has_spares(fabric) and plans:
        if len(jobs) > 1:
            with_line((*at, "jobs"), _refuse_spares, fabric, "several jobs", "the variant one job")
        if plans[0].rhythm is not None:
            with_line((*at, "jobs"), _refuse_spares, fabric, "a job of several iterations", _ONCE)
    return tuple(plans)


def read_graph(with_line: Lines, location: Location, fabric: Fabric, job: JobSettings) -> Graph:
    """Return the traffic graph of a job; errors name the line of an operation."""
    assert job.graph is not None
    document = with_line.document
    return read(document, in_file(document, location), job.name, job.graph, fabric)


def line_of(at: Location, variant: Variant, index: int) -> Location:
    """Return the location of the graph or collective of job `index` in the document."""
    job = variant.every_job[index]
    key = "collective" if job.graph is None else "graph"
    return (*at, "jobs", index, key) if variant.jobs else (*at, key)


def _sharing(
    with_line: Lines, at: Location, variant: Variant, members: list[tuple[str, ...]]
) -> list[list[int]]:
    """Group the indices of jobs by common members, in the order of each group's first job."""
    jobs = variant.every_job
    owners: dict[str, int] = {}
    group_of = list(range(len(jobs)))
    for index, names in enumerate(members):
        for name in names:
            owner = owners.setdefault(name, index)
            if group_of[owner] == group_of[index]:
                continue
            if why := joinable(jobs[owner], jobs[index], modelled=variant.hosts is not None):
                line = line_of(at, variant, index)
                with_line(line, _refuse_shared, name, jobs[owner].name, why)
            low, high = sorted((group_of[owner], group_of[index]))
            group_of = [low if group == high else group for group in group_of]
    return [[i for i, group in enumerate(group_of) if group == chosen] for chosen in sorted({*group_of})]


def _job(fabric: Fabric, job: JobSettings, routing: Routing) -> JobPlan:
    collective = job.collective
    members = members_of(fabric, collective.members)
    schedule = schedule_of(fabric, members, collective, detours=not routing.strategy.single_path)
    each = collective.payload_bytes // ELEMENT_BYTES
    trees = None
    if collective.in_switches:
        check_job(job)
        trees = plan_trees(fabric, members, schedule, collective)
        named: Mapping[str, float] = {BOUND: trees.bound_ps}
    else:
        named = bounds(fabric, members, collective, routing)
    least_ps = largest_ps(named)
    return JobPlan(
        name=job.name,
        begin_ps=round(job.at_us * 10**6),
        collective=collective,
        members=members,
        sliced=slice_schedule(schedule, each, overlap=collective.overlap),
        bound_ps=job.rhythm.least_ps(least_ps) if job.rhythm else least_ps,
        rhythm=job.rhythm,
        level=job.level,
        bounds=named,
        trees=trees,
    )


def _other(jobs: Sequence[JobSettings], group: Sequence[int], index: int) -> str:
    return next(jobs[other].name for other in group if other != index)


def _refuse_shared(name: str, other: str, why: str) -> None:
    raise ScenarioError(
        f"{name} is also a member of job {other!r}, and {why}", remedy="give each job different members"
    )


def _check_scheduler(variant: Variant) -> None:
    """Raise a ScenarioError if the scheduler cannot measure a job, or a job has a priority of its own."""
    for job in variant.every_job:
        if job.iterations < 2 or not job.compute_us:
            raise ScenarioError(
                f"job {job.name} has {job.iterations} iterations of {job.compute_us:g} us, but "
                f"the scheduler {variant.control.scheduler} measures computation and communication of the "
                "first iteration for the priority of later ones",
                remedy="give every job `iterations: 2` or more, and `compute_us:` above 0",
            )
        if "priority" in job.model_fields_set:
            raise ScenarioError(
                f"job {job.name} has `priority: {job.priority}`, but the scheduler "
                f"{variant.control.scheduler} chooses the priorities",
                remedy="leave out `priority:`, or write `scheduler: none`",
            )


def _refuse_spares(fabric: Fabric, what: str, instead: str) -> None:
    raise ScenarioError(
        f"{fabric.name} has spares: a takeover restarts the whole run, which {what} cannot do",
        remedy=f"give the topology no spares, or {instead}",
    )
