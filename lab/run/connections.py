# SPDX-License-Identifier: Apache-2.0
"""The connections that a scenario asks for, as values of lb by pair of ranks (HPN, path selection).

    search      paths of which no two share a link between switches, found by working out the hash; in which
                order a pair looks is drawn
    random      as many values of lb drawn at random: what hosts get that know nothing of the hash
    five-tuple  one drawn value for each port of the source: a flow is where its one hash puts it

All three have ports take turns, so they differ in what happens behind these.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, zip_longest
from random import Random

from controller.plan import Plan
from controller.routing.path_probing import LB_VALUES, PathProbe
from emulation.traffic.host.path_choice import Connections
from emulation.traffic.schedule.schedule import Schedule
from lab.scenario.schema import ConnectionSettings

__all__ = ["connections_of"]


def connections_of(
    plan: Plan, schedule: Schedule, members: Sequence[str], wanted: ConnectionSettings, seed: int
) -> Connections:
    """Of all pairs that send; PlanError when the paths of one cannot be known."""
    search = PathProbe(plan)
    pairs = {(one.source, one.target) for one in schedule.transfers}
    lbs = {pair: _values(search, members[pair[0]], members[pair[1]], wanted, seed) for pair in sorted(pairs)}
    return Connections(lbs, wanted.choose, seed)


def _values(
    search: PathProbe, source: str, target: str, wanted: ConnectionSettings, seed: int
) -> tuple[int, ...]:
    # By name: the jobs of a run have pairs of equal ranks.
    draw = Random(f"{seed} {source} {target}")
    if wanted.paths == "search":
        order = draw.sample(range(LB_VALUES), LB_VALUES)
        return tuple(one.lb for one in search.disjoint_paths(source, target, wanted.most, order))
    ports = search.lbs_by_port(source, target)
    if wanted.paths == "five-tuple":
        return tuple(draw.choice(values) for values in ports)
    drawn = [draw.sample(values, min(wanted.most, len(values))) for values in ports]
    dealt = chain.from_iterable(zip_longest(*drawn))
    return tuple(lb for lb in dealt if lb is not None)[: wanted.most]
