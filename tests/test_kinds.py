# SPDX-License-Identifier: Apache-2.0
"""Kinds of nodes: only fabrics name them; all else asks what a kind is like, which NodeKind alone tells.

The floor `papers` may name the kinds of its papers, so it is left out.
"""

import ast
import copy
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

from topologies import Fabric, NodeKind
from topologies.families.registry import build, names

ROOT = Path(__file__).resolve().parent.parent
MODULES = [
    path
    for room in ("controller", "emulation", "harness", "railyard")
    for path in (result.relative_to(ROOT) for result in sorted((ROOT / room).rglob("*.py")))
]
VALUES = frozenset(kind.value for kind in NodeKind)


def named(tree: ast.AST) -> Iterator[str]:
    """Lines that name a kind: by NodeKind, or by its value where something's `kind` is held against it."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id="NodeKind") | ast.Attribute(attr="NodeKind") | ast.alias(name="NodeKind"):
                yield f"line {node.lineno}: NodeKind"
            case ast.Compare() | ast.Match():
                yield from _compared(node)


def _compared(node: ast.Compare | ast.Match) -> Iterator[str]:
    if isinstance(node, ast.Compare):
        subjects, others = [node.left, *node.comparators], [node]
    else:
        subjects, others = [node.subject], [case.pattern for case in node.cases]
    if any(isinstance(subject, ast.Attribute) and subject.attr in ("kind", "value") for subject in subjects):
        held = (part for other in others for part in ast.walk(other))
        yield from (
            f"line {part.lineno}: {part.value!r}"
            for part in held
            if isinstance(part, ast.Constant) and part.value in VALUES
        )


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_above_the_fabrics_no_kind_is_named(path: Path) -> None:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"), filename=str(path))
    assert list(named(tree)) == []


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("from topologies import Fabric, NodeKind", ["line 1: NodeKind"]),
        ("from topologies import NodeKind as Kind", ["line 1: NodeKind"]),
        ("import topologies\ntop = topologies.NodeKind.HRS", ["line 2: NodeKind"]),
        (
            "ends = [node for node in nodes if node.kind in ('npu', 'gpu')]",
            ["line 1: 'npu'", "line 1: 'gpu'"],
        ),
        ("'lrs' == node.kind.value", ["line 1: 'lrs'"]),
        ("match node.kind:\n    case 'hrs':\n        pass", ["line 2: 'hrs'"]),
        ("planned.kind == 'switch' and node.kind.member and node.level > 1", []),
        ("kind == 'npu'", []),  # whose kind it is, it does not say
    ],
)
def test_a_kind_would_be_found(source: str, lines: list[str]) -> None:
    assert list(named(ast.parse(source))) == lines


@pytest.mark.parametrize("kind", NodeKind)
def test_a_kind_is_itself_again_however_it_was_carried(kind: NodeKind) -> None:
    assert (
        NodeKind(kind.value) is NodeKind(str(kind)) is pickle.loads(pickle.dumps(kind)) is copy.deepcopy(kind)
    )
    assert f"{kind}" == kind == kind.name.lower()


SMALL = {
    "full-mesh": {"dims": [4, 4]},
    "torus": {"dims": [4, 4]},
    # The whole one takes ten seconds, and has nodes of the same kinds.
    "ub-superpod": {"dims": [2, 2, 2, 2, 2], "planes": 1, "uplink_lanes": 4},
}


@pytest.fixture(scope="module", params=names())
def fabric(request: pytest.FixtureRequest) -> Fabric:
    return build(request.param, **SMALL.get(request.param, {}))


@pytest.mark.long("ub-pod-clos")
def test_no_level_falls_where_tiers_rise(fabric: Fabric) -> None:
    """Routes climb by levels, and within one by tiers: a kind of the wrong level would send them astray."""
    for link in fabric.links:
        low, high = sorted((fabric.node(link.a.node), fabric.node(link.b.node)), key=lambda node: node.tier)
        assert low.level <= high.level, link.name
        assert low.tier < high.tier or low.level == high.level, link.name


def test_members_and_spares_are_endpoints_and_not_both(fabric: Fabric) -> None:
    assert any(node.kind.member for node in fabric.nodes)
    for node in fabric.nodes:
        if node.kind.member or node.kind.spare:
            assert not node.is_switch
            assert not node.level
            assert node.kind.member != node.kind.spare
