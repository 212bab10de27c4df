# SPDX-License-Identifier: Apache-2.0
"""Strategy `tables`: no source routes, so frames take the path of the address tables, also after a cut."""

from itertools import pairwise

import networkx as nx
import pytest

from controller import NodeController, PlanError, make_plan
from tests.controller.fake_fabric import FakeFabric, Frame
from topologies import full_mesh
from topologies.families.registry import build


@pytest.mark.parametrize("rules", ["T2-G", "T1-DOR"])
def test_frames_take_the_planned_path_and_no_entry_names_one(rules: str) -> None:
    fabric = full_mesh([3, 4])
    plan = make_plan(fabric, strategy="tables", rules=rules)
    fake = FakeFabric(plan)
    assert all(entry.table != "all_path" for entries in plan.entries.values() for entry in entries)
    channels = nx.DiGraph()
    for (source, destination), paths in plan.routes.items():
        walk = fake.send(source, Frame(fabric.node(destination).address))
        assert walk.end == "host"
        assert {walk.nodes} == set(paths)
        nx.add_path(channels, zip(pairwise(walk.nodes), walk.vls, strict=True))
    assert nx.is_directed_acyclic_graph(channels)


def test_a_cut_moves_the_path_where_the_rules_permit_another() -> None:
    fabric = full_mesh([4, 4])
    for rules, path in (("T2-G", ("npu0", "npu2", "npu1")), ("T1-DOR", None)):
        plan = make_plan(fabric, strategy="tables", rules=rules)
        controller, fake = NodeController(plan, "npu0", "flooding"), FakeFabric(plan)
        reaction = controller.on_port(fabric.port_to("npu0", "npu1"), False)
        fake.apply("npu0", reaction.updates)
        assert controller.routes("npu1")[0] == path
        walk = fake.send("npu0", Frame(fabric.node("npu1").address))
        assert (walk.end == "host") == (path is not None)
        assert path is None or walk.nodes == path


def test_a_fabric_whose_switches_hash_is_refused() -> None:
    with pytest.raises(
        PlanError, match=r"strategy tables does not work on .*, whose switches choose ports by hash"
    ):
        make_plan(build("rail-only"), strategy="tables")
