# SPDX-License-Identifier: Apache-2.0
"""A cycle among ways at nodes is one among channels, and the other way round."""

import random
from itertools import product

import pytest

from controller import PlanError
from controller.deadlock.dependency_graph import find_cycle, permitted_graph
from controller.deadlock.node_turns import permits_no_cycle
from controller.deadlock.stages import rules_of_turns
from controller.deadlock.turn_rules import HOST, RULE_NAMES, Direction, RuleSet
from controller.schemes.registry import rule_set
from topologies import Fabric
from topologies.families.registry import build

FABRICS = [
    ("full-mesh", {"dims": [3, 2, 2]}),
    ("ub-rack", {}),
    ("ub-rack-lrs", {}),
    ("rail-only", {}),
    ("hpn", {}),
    ("torus", {"dims": [4, 3]}),
    ("fat-tree", {}),
    ("slim-fly", {}),
]


def _agree(fabric: Fabric, rules: RuleSet) -> bool:
    """Return the verdict, which is that of the graph of all channels."""
    for entry_vls in ((0,), (0, 2)):
        wanted = not find_cycle(permitted_graph(fabric, rules, entry_vls=entry_vls))
        assert permits_no_cycle(fabric, rules, entry_vls=entry_vls) is wanted, (rules, entry_vls)
    return permits_no_cycle(fabric, rules)


@pytest.mark.parametrize(("name", "values"), FABRICS)
def test_the_verdict_is_that_of_all_channels(name: str, values: dict[str, object]) -> None:
    fabric = build(name, **values)
    assert _agree(fabric, rule_set("T2-G", fabric))
    for rules in RULE_NAMES[1:]:
        try:
            _agree(fabric, rule_set(rules, fabric))
        except PlanError:
            continue  # too many groups of hops


def test_verdicts_on_random_turns() -> None:
    fabric, chance = build("full-mesh", dims=[3, 2, 2]), random.Random(7)
    ways = [Direction(*way) for way in product(range(1, 4), (False, True))]
    verdicts = set[bool]()
    for _ in range(40):
        share = chance.choice((0.2, 0.4, 0.7))
        turns = {
            (arriving, leaves, lane): chance.randrange(2)
            for arriving, leaves, lane in product((HOST, *ways), ways, range(2))
            if arriving is HOST or chance.random() < share
        }
        verdicts.add(_agree(fabric, rules_of_turns("own", fabric, turns)))
    assert verdicts == {True, False}
