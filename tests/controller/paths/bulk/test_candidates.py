# SPDX-License-Identifier: Apache-2.0
"""Candidates of many pairs, searched at once, are those that the router finds for each pair."""

import random
from functools import cache

import pytest

from controller.plan.path_columns import PairColumns
from controller.schemes.registry import scheme_for
from controller.schemes.strategy import STRATEGIES
from topologies import Fabric, full_mesh
from topologies.families import registry
from topologies.families.ub_mesh.fabrics import ub_superpod

_PAIRS = 120
_PAIRS_ONE_BY_ONE = 12
"""Number of pairs for strategies that search one pair after the other, which takes longer."""


@cache
def _fabric(name: str) -> Fabric:
    if name == "mesh":
        return full_mesh([3, 3, 3])
    if name == "superpod":
        return ub_superpod(dims=(2, 2, 1, 2, 2), planes=1, uplink_lanes=4)
    return registry.build(name)


STRUCTURED = (
    "mesh",
    "superpod",
    "ub-rack",
    "ub-rack-clos",
    "ub-rack-lrs",
    "ub-rack-1dfm-a",
    "ub-rack-1dfm-b",
    "ub-pod-clos",
    "dcn-plus",
    "ecmp-clos",
    "rail-only",
    "rail-optimised",
    "hpn",
    "lumos",
    "any-to-any",
    "optical-rings",
)


@pytest.mark.parametrize("strategy", ["all-path", "shortest", "hashed", "adaptive", "detour", "tables"])
@pytest.mark.parametrize("name", STRUCTURED)
def test_candidates_equal_those_of_single_pairs(name: str, strategy: str) -> None:
    fabric, chosen = _fabric(name), random.Random(f"{name} {strategy}")
    ends = [node.name for node in fabric.endpoints]
    one_by_one = STRATEGIES[strategy].by_tables or STRATEGIES[strategy].longer_paths
    drawn = (chosen.sample(ends, 2) for _ in range(_PAIRS_ONE_BY_ONE if one_by_one else _PAIRS))
    pairs = sorted({(source, destination) for source, destination in drawn})
    for rules_name, cut in (("T2-G", 0), ("T2-G", 4), ("T1-UD", 1)):
        failed = frozenset(link.name for link in chosen.sample(fabric.links, cut))
        bulk, single = (
            scheme_for(fabric, failed=failed, strategy=strategy, rules=rules_name) for _ in range(2)
        )
        assert bulk.all_candidates(PairColumns.of(fabric, pairs)) == {
            pair: single.candidates(*pair) for pair in pairs
        }


@pytest.mark.parametrize("strategy", ["all-path", "shortest", "hashed", "detour", "tables"])
@pytest.mark.parametrize("name", STRUCTURED)
def test_pairs_are_joined_if_they_have_a_shortest_path(name: str, strategy: str) -> None:
    fabric, chosen = _fabric(name), random.Random(f"{name} {strategy}")
    ends = [node.name for node in fabric.endpoints]
    drawn = (chosen.sample(ends, 2) for _ in range(_PAIRS_ONE_BY_ONE))
    pairs = PairColumns.of(fabric, ((source, destination) for source, destination in drawn))
    first = pairs.name(0)[0]
    cut = chosen.sample([link.name for link in fabric.links], len(fabric.links) // 2)
    isolated = [link.name for link in fabric.links if first in (link.a.node, link.b.node)]
    for failed in (cut, isolated):
        bulk, single = (scheme_for(fabric, failed=frozenset(failed), strategy=strategy) for _ in range(2))
        joined = bulk.are_joined(pairs).tolist()
        assert joined == [bool(single.shortest_paths(*pair)) for pair in pairs.names()]
    assert not joined[0]


def test_no_pairs_have_no_candidates() -> None:
    fabric = full_mesh([2, 2])
    none = PairColumns.of(fabric, [])
    assert scheme_for(fabric).all_candidates(none) == {}
    assert not len(scheme_for(fabric).are_joined(none))
