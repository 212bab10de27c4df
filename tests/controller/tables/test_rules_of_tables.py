# SPDX-License-Identifier: Apache-2.0
"""Frames without a source route arrive under every rule set: the tables take no turn that the rules refuse.

The channels that these frames take are collected from the forwarding of the dumped tables alone.
"""

from itertools import pairwise, permutations

import networkx as nx
import pytest

from controller import make_plan
from controller.deadlock.turn_rules import RULE_NAMES
from controller.paths.source_route import SourceRoute
from tests.controller.fake_fabric import FakeFabric, Frame, Walk
from topologies import Fabric
from topologies.families.full_mesh import full_mesh

ALL_ZERO = SourceRoute(0, 0, (0,) * 6)


def walks(fabric: Fabric, rules: str) -> dict[tuple[str, str], Walk]:
    """Return the walk of a frame whose source route leaves every hop to the tables, for every pair."""
    plan = make_plan(fabric, rules=rules, peers=[], check=rules != "single-vl")
    fake = FakeFabric(plan)
    pairs = permutations([node.name for node in fabric.endpoints], 2)
    return {
        (source, destination): fake.send(source, Frame(fabric.node(destination).address, route=ALL_ZERO))
        for source, destination in pairs
    }


@pytest.mark.parametrize("dims", [[4, 4], [3, 2, 2], [2, 2, 2, 2]])
@pytest.mark.parametrize("name", RULE_NAMES)
def test_tables_lead_every_frame_to_its_destination_by_a_shortest_path(name: str, dims: list[int]) -> None:
    fabric = full_mesh(dims)
    channels = nx.DiGraph()
    for (source, destination), walk in walks(fabric, name).items():
        assert walk.end == "host"
        assert walk.nodes[-1] == destination
        a, b = fabric.node(source).coordinates, fabric.node(destination).coordinates
        assert len(walk.vls) == sum(x != y for x, y in zip(a, b, strict=True))
        nx.add_path(channels, zip(pairwise(walk.nodes), walk.vls, strict=True))
    assert nx.is_directed_acyclic_graph(channels)
