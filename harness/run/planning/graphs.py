# SPDX-License-Identifier: Apache-2.0
"""Traffic graphs of a scenario: read, checked against the fabric, and joined if jobs share members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from controller.schemes.registry import Routing
from emulation.errors import GraphError
from emulation.traffic.graph.bounds import graph_bounds_ps, longest_chain
from emulation.traffic.graph.lowering import JobGraph, lower
from emulation.traffic.graph.of_schedule import graph_of_schedule
from emulation.traffic.graph.operations import Graph
from harness.errors import ScenarioError
from harness.run.collectives.bounds import bounds, largest_ps
from harness.run.collectives.grids import members_of
from harness.run.collectives.schedule import schedule_of
from harness.run.planning.job_plan import JobPlan, JobShare
from harness.scenario.document import Document, Location
from harness.scenario.schema import ELEMENT_BYTES, JobSettings
from harness.scenario.traffic.graph import GraphSettings, refused
from topologies import Fabric
from topologies.errors import suggestion

__all__ = ["GraphJob", "chain_of", "graph_job", "join", "joinable", "read"]


@final
@dataclass(frozen=True, slots=True)
class GraphJob:
    """A job in the form of a traffic graph: the job's own graph, or the graph of its collective."""

    settings: JobSettings
    graph: Graph
    members: tuple[str, ...]
    bounds: Mapping[str, float]


def read(document: Document, location: Location, name: str, settings: GraphSettings, fabric: Fabric) -> Graph:
    """Read a job's graph, and check the names of its members in the fabric.

    Raises:
        ScenarioError: The graph cannot be read or is invalid; the message names file, line and key.
    """
    try:
        graph = settings.read(name)
        _check_members(graph, fabric)
    except GraphError as ex:
        raise refused(settings, document, location, ex) from None
    except FileNotFoundError:
        raise ScenarioError(
            document.at((*location, "file"), f"the file {settings.file} does not exist"),
            remedy="give the path of a file with a traffic graph",
        ) from None
    return graph


def graph_job(fabric: Fabric, job: JobSettings, graph: Graph | None, routing: Routing) -> GraphJob:
    """Return a job as a graph: with `graph`, or with the graph of its collective if `graph` is None.

    `routing` decides the paths of the collective, and so its schedule and its bounds.
    """
    if graph is None:
        members = members_of(fabric, job.collective.members)
        schedule = schedule_of(fabric, members, job.collective, detours=not routing.strategy.single_path)
        named = bounds(fabric, members, job.collective, routing)
        return GraphJob(job, graph_of_schedule(schedule, members), members, named)
    members = members_of(fabric, graph.members)
    return GraphJob(job, graph, members, graph_bounds_ps(graph, _rates(fabric, members)))


def chain_of(fabric: Fabric, graph: Graph) -> tuple[float, tuple[str, ...]]:
    """Return the time in ps of a graph's longest chain of operations on a fabric, and the chain's names."""
    return longest_chain(graph, _rates(fabric, graph.members))


def joinable(job: JobSettings, other: JobSettings, *, modelled: bool) -> str:
    """Return the reason why two jobs cannot share members, or '' if they can.

    `modelled` is true if the variant has `hosts:`, a model of the reduction.
    """
    if modelled:
        return "with `hosts:` no jobs can share members"
    if job.rhythm or other.rhythm:
        return "a job with iterations cannot share members"
    if not (job.collective.overlap and other.collective.overlap):
        return "a job with `overlap: false` cannot share members"
    for key in ("payload_bytes", "dtype"):
        if getattr(job.collective, key) != getattr(other.collective, key):
            return f"jobs that share members need equal `{key}:`"
    return "" if job.priority == other.priority else "jobs that share members need equal `priority:`"


def join(fabric: Fabric, jobs: Sequence[GraphJob]) -> JobPlan:
    """Return a single plan for jobs with common members; each job begins at its own time."""
    first = jobs[0].settings
    begin_ps = min(_begin_ps(job) for job in jobs)
    names = {name for job in jobs for name in job.members}
    members = tuple(node.name for node in fabric.nodes if node.name in names)
    sliced = lower(
        [JobGraph(job.settings.name, job.graph, _begin_ps(job) - begin_ps) for job in jobs],
        members,
        first.collective.payload_bytes // ELEMENT_BYTES,
    )
    shares = tuple(
        JobShare(job.settings.name, _begin_ps(job), job.members, largest_ps(job.bounds), job.bounds)
        for job in jobs
    )
    return JobPlan(
        name="+".join(job.settings.name for job in jobs),
        begin_ps=begin_ps,
        collective=first.collective,
        members=members,
        sliced=sliced,
        bound_ps=max(share.begin_ps + share.bound_ps for share in shares) - begin_ps,
        level=first.level,
        bounds=shares[0].bounds,
        shares=shares,
    )


def _begin_ps(job: GraphJob) -> int:
    return round(job.settings.at_us * 10**6)


def _check_members(graph: Graph, fabric: Fabric) -> None:
    able = {node.name for node in fabric.nodes if node.kind.member}
    for number, operation in enumerate(graph.operations):
        keys = ("from", "to") if operation.kind == "send" else ("on", "from")
        for key, name in zip(keys, (operation.member, operation.peer), strict=True):
            if name and name not in able:
                raise GraphError(
                    f"{fabric.name} has no member {name!r}",
                    operation=number,
                    key=key,
                    remedy=suggestion(name, able, f"name a node such as {min(able, default='npu0')}"),
                )


def _rates(fabric: Fabric, members: Sequence[str]) -> dict[str, float]:
    return {
        name: float(
            sum(
                link.rate_bps
                for port in fabric.node(name).ports
                if (link := fabric.link_at(name, port.number)) is not None
            )
        )
        for name in members
    }
