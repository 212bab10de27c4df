# SPDX-License-Identifier: Apache-2.0
"""Trees over fabrics: they reach every member, share no link, and keep to the turn rules."""

import pytest

from controller.deadlock.turn_rules import HOST
from controller.errors import PlanError
from controller.schemes.registry import rule_set
from controller.trees.entries import tree_vls
from controller.trees.laying import lay_trees
from controller.trees.tree import SwitchTree
from topologies import Fabric, full_mesh, ub_pod_clos, ub_rack_lrs
from topologies.families.registry import build

FABRICS = {
    "ub-rack-lrs": (ub_rack_lrs(), 4),
    "hpn": (build("hpn"), 2),
    "rail-optimised": (build("rail-optimised"), 1),
    "fat-tree": (build("fat-tree"), 1),
    "dcn-plus": (build("dcn-plus"), 2),
    "hyperx": (build("hyperx"), 1),
}


def members_of(fabric: Fabric) -> list[str]:
    return [node.name for node in fabric.nodes if node.kind.member]


@pytest.mark.parametrize("name", FABRICS)
def test_trees_reach_every_member_and_share_no_link(name: str) -> None:
    fabric, count = FABRICS[name]
    members = members_of(fabric)
    trees = lay_trees(fabric, members)
    assert len(trees) == count
    used: set[str] = set()
    for tree in trees:
        assert sorted(tree.leaves) == sorted(members)
        assert all(fabric.node(switch).is_switch for switch in tree.children)
        links = {link.name for link in tree.links.values()}
        assert len(links) == len(tree.hops)
        assert all(
            {link.a.node, link.b.node} == {child, tree.parents[child]} for child, link in tree.links.items()
        )
        assert not links & used
        used |= links


@pytest.mark.parametrize("name", FABRICS)
def test_every_hop_has_a_lane_that_the_rules_permit(name: str) -> None:
    fabric, _ = FABRICS[name]
    rules = rule_set("T2-G", fabric)
    for tree in lay_trees(fabric, members_of(fabric)):
        vls = tree_vls(fabric, rules, tree)
        assert set(vls) == {way for child, parent in tree.hops for way in ((child, parent), (parent, child))}
        for leaf in tree.leaves:
            arriving, vl = HOST, 0
            for hop in zip(tree.path_up(leaf), tree.path_up(leaf)[1:], strict=False):
                leaves = rules.direction(fabric, *hop)
                following = rules.next_vl(arriving, leaves, vl)
                assert following is not None
                assert following <= vls[hop]
                arriving, vl = leaves, vls[hop]


def test_in_a_rack_each_plane_has_a_tree() -> None:
    fabric, _ = FABRICS["ub-rack-lrs"]
    trees = lay_trees(fabric, members_of(fabric))
    assert [tree.root[:6] for tree in trees] == ["lrs0p0", "lrs0p1", "lrs0p2", "lrs0p3"]
    # All links of an NPU that lead to a switch.
    ups = {name for name in fabric.neighbours("npu9") if fabric.node(name).is_switch}
    assert {tree.parents["npu9"] for tree in trees} == ups


def test_leaves_below_a_switch_are_consecutive() -> None:
    tree = SwitchTree("s", {"s": ("a", "n3", "b"), "a": ("n0", "n1"), "b": ("n2", "n4")}, {})
    assert tree.leaves == ("n0", "n1", "n3", "n2", "n4")
    assert tree.spans["a"] == (0, 1)
    assert tree.spans["n3"] == (2, 2)
    assert tree.spans["b"] == (3, 4)
    assert tree.path_up("n4") == ("n4", "b", "s")


def test_few_members_have_the_nearest_root() -> None:
    fabric, _ = FABRICS["fat-tree"]
    first, second = members_of(fabric)[:2]
    (tree, *_) = lay_trees(fabric, [first, second])
    assert tree.children == {tree.root: (first, second)}


def test_a_tree_goes_around_a_failed_link() -> None:
    fabric = build("rail-optimised", spines=2)
    members = members_of(fabric)
    (tree,) = lay_trees(fabric, members)
    lost = tree.links[tree.children[tree.root][0]].name
    (other,) = lay_trees(fabric, members, failed={lost})
    assert lost not in {link.name for link in other.links.values()}


def test_a_mesh_of_npus_has_no_tree() -> None:
    fabric = full_mesh((2, 4))
    with pytest.raises(
        PlanError,
        match=r"fabric full-mesh-2x4 has no switch that leads to all of npu0, npu1, npu2 \.\.\.; name",
    ):
        lay_trees(fabric, members_of(fabric))


def test_a_pod_has_a_tree_over_all_racks() -> None:
    fabric = ub_pod_clos()
    members = members_of(fabric)
    (tree, *_) = lay_trees(fabric, members, most=1)
    assert len(tree.leaves) == len(members)
