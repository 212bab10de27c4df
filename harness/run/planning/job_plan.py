# SPDX-License-Identifier: Apache-2.0
"""Plan of a job: who takes part, what each sends, and the least time that it can take."""

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
    """One of the jobs that a plan carries out; `bounds` are its lower bounds in ps, by what each is."""

    name: str
    begin_ps: int
    members: tuple[str, ...]
    bound_ps: int
    bounds: Mapping[str, float]


@final
class AgentCache:
    """Values that the agents of a job are made from, kept for the next run with the same plan."""

    def __init__(self) -> None:
        self.ranks = RankCache()
        self._plan: Plan | None = None
        self._paths: PathsByPair | None = None

    def paths_of(self, plan: Plan, make: Callable[[], PathsByPair | None]) -> PathsByPair | None:
        """Return `make()`, the paths of a plan by pair of ranks, which is called once a plan."""
        if self._plan is not plan:
            self._plan, self._paths = plan, make()
        return self._paths


@final
@dataclass(frozen=True, slots=True)
class JobPlan:
    """Plan of one job from `begin_ps` on; rank r of its schedule is the NPU or GPU `members[r]`.

    A job without `rhythm` sends once and computes nothing. `bound_ps` is the bound of all iterations, `level`
    the service level of the job's data. `bounds` are those of its collective alone, in ps, by what each is.
    `trees` are those of a collective that switches carry out, whose schedule has no transfers.
    A traffic graph has `shares`: the jobs that it consists of, which have members in common. `cache` spares
    later runs of the job the making of equal values.
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
        """Bytes by pair of members."""
        return demand(self.sliced.schedule, self.members, ELEMENT_BYTES)

    @property
    def graph(self) -> SlicedGraph | None:
        """Slices of a traffic graph; None for a collective."""
        return self.sliced if isinstance(self.sliced, SlicedGraph) else None

    @property
    def elements(self) -> int:
        """Elements of the arrays of all members."""
        return sum(self.sliced.elements_of(rank) for rank in range(len(self.members)))

    @property
    def bounds_by_job(self) -> dict[str, Mapping[str, float]]:
        """Bounds of each job of the plan."""
        return {share.name: share.bounds for share in self.shares} or {self.name: self.bounds}


def demand_of(jobs: Iterable[JobPlan]) -> dict[tuple[str, str], int]:
    """Return bytes by pair of members of jobs, which share no members."""
    return {pair: amount for job in jobs for pair, amount in job.demand.items()}
