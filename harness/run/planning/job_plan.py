# SPDX-License-Identifier: Apache-2.0
"""Plan of a job: its members, their sends, and lower bounds of its time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import final

from controller.plan.plan import Plan
from emulation.traffic.graph.lowering import SlicedGraph
from emulation.traffic.host.iterations import IterationProfile
from emulation.traffic.host.path_choice import Connections, PathShares
from emulation.traffic.host.rank_cache import RankCache
from emulation.traffic.schedule.schedule import SlicedTraffic, demand
from harness.run.in_switches.plan import TreePlan
from harness.scenario.schema import ELEMENT_BYTES, Collective

__all__ = ["JobPlan", "JobShare", "AgentCache", "demand_of"]

PathsByPair = Mapping[tuple[int, int], PathShares]


@final
@dataclass(frozen=True, slots=True)
class JobShare:
    """One of several jobs that a plan carries out, because they share members.

    `bounds` are the job's lower bounds in ps, by a description of each; `bound_ps` is the largest.
    """

    name: str
    begin_ps: int
    members: tuple[str, ...]
    bound_ps: int
    bounds: Mapping[str, float]


@final
class AgentCache:
    """Cache of the data for making a job's agents, for use by all runs with the same plan."""

    def __init__(self) -> None:
        self.ranks = RankCache()
        self._plan: Plan | None = None
        self._paths: PathsByPair | None = None

    def paths_of(self, plan: Plan, make: Callable[[], PathsByPair | None]) -> PathsByPair | None:
        """Return the paths of a plan by pair of ranks; `make` computes them at the first call for a plan."""
        if self._plan is not plan:
            self._plan, self._paths = plan, make()
        return self._paths


@final
@dataclass(frozen=True, slots=True)
class JobPlan:
    """Plan of a job, or of several jobs with common members.

    Attributes:
        name: Name of the job; names of several jobs are joined by `+`.
        begin_ps: Time at which the job begins.
        collective: Collective of the job.
        members: Nodes of the job; rank r of the schedule is the NPU or GPU `members[r]`.
        sliced: Schedule or traffic graph, cut into slices.
        bound_ps: Lower bound of the time of all iterations.
        rhythm: Iterations and their computation; None for a job that sends once and computes nothing.
        level: Service level of the job's data.
        connections: Connections from each rank to each peer; None for one connection to a peer.
        bounds: Lower bounds of the collective alone in ps, by a description of each.
        shares: The jobs of which a traffic graph consists; empty for a collective.
        trees: Trees of a collective in switches; its schedule has no transfers.
        cache: Values that further runs of the plan use again.
    """

    name: str
    begin_ps: int
    collective: Collective
    members: tuple[str, ...]
    sliced: SlicedTraffic
    bound_ps: int
    rhythm: IterationProfile | None = None
    level: int = 0
    connections: Connections | None = None
    bounds: Mapping[str, float] = field(default_factory=dict)
    shares: tuple[JobShare, ...] = ()
    trees: TreePlan | None = None
    cache: AgentCache = field(default_factory=AgentCache, repr=False, compare=False)

    @property
    def demand(self) -> dict[tuple[str, str], int]:
        """Bytes that the job sends, by pair of members."""
        return demand(self.sliced.schedule, self.members, ELEMENT_BYTES)

    @property
    def graph(self) -> SlicedGraph | None:
        """Traffic graph, cut into slices; None for a collective."""
        return self.sliced if isinstance(self.sliced, SlicedGraph) else None

    @property
    def elements(self) -> int:
        """Number of elements in the arrays of all members together."""
        return sum(self.sliced.elements_of(rank) for rank in range(len(self.members)))

    @property
    def bounds_by_job(self) -> dict[str, Mapping[str, float]]:
        """Lower bounds in ps of each job of the plan, by the job's name and a description of the bound."""
        return {share.name: share.bounds for share in self.shares} or {self.name: self.bounds}


def demand_of(jobs: Iterable[JobPlan]) -> dict[tuple[str, str], int]:
    """Return the data volume of jobs in bytes, by pair of members; the plans share no members."""
    return {pair: amount for job in jobs for pair, amount in job.demand.items()}
