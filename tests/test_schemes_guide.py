# SPDX-License-Identifier: Apache-2.0
"""docs/use/schemes.md: its scheme runs from one file, free of deadlock, with the right data after cuts."""

import re
from pathlib import Path

import pytest

from controller import DeadlockError, PlanError, make_plan
from controller.deadlock.dependency_graph import check_acyclic, path_graph
from controller.schemes.registry import scheme_of
from harness.errors import ScenarioError
from harness.run.prepare import prepare
from harness.run.runner import observe
from harness.scenario.loader import load
from tests.controller.fake_fabric import FakeFabric, Frame
from topologies import Fabric, hyperx, slim_fly, torus

GUIDE = Path(__file__).resolve().parents[1] / "docs" / "use" / "schemes.md"
FILES = dict(
    re.findall(r"^```(?:python|yaml)\n# (\S+)\n(.*?)^```$", GUIDE.read_text(), flags=re.MULTILINE | re.DOTALL)
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_scheme_is_short() -> None:
    assert len(FILES["valiant.py"].splitlines()) <= 60


def test_the_scenario_of_the_guide_is_right_also_after_a_cut(folder: Path) -> None:
    for item in prepare(*load(folder / "valiant.yaml")):
        seen = observe(item, seed=1)
        assert seen.correct_nodes == seen.nodes == len(item.members), item.variant.name


@pytest.mark.parametrize(
    "fabric", [torus((4, 4)), slim_fly(5), hyperx((4, 4))], ids=lambda fabric: fabric.name
)
def test_frames_go_by_intermediate_nodes_and_cannot_deadlock(folder: Path, fabric: Fabric) -> None:
    ends = [node.name for node in fabric.endpoints]
    peers = list(zip(ends, ends[len(ends) // 2 :] + ends[: len(ends) // 2], strict=True))
    scheme = f"{folder / 'valiant.py'}:Valiant"
    minimal = make_plan(fabric, peers=peers, strategy="shortest")
    plan = make_plan(fabric, peers=peers, scheme=scheme)
    used = {path for paths in plan.routes.values() for path in paths}
    check_acyclic(path_graph(fabric, used, scheme_of(plan).rules))
    longer = [max(map(len, paths)) > len(minimal.routes[pair][0]) for pair, paths in plan.routes.items()]
    assert sum(longer) > len(longer) / 2
    network = FakeFabric(plan)
    for source, destination in peers:
        for lb, path in enumerate(plan.routes[source, destination]):
            walk = network.send(source, Frame(fabric.node(destination).address, lb))
            assert (walk.end, walk.nodes) == ("host", path)


def test_rules_without_protection_are_refused(folder: Path) -> None:
    with pytest.raises(DeadlockError, match="channels wait for each other in a circle"):
        make_plan(torus((4, 4)), scheme=f"{folder / 'valiant.py'}:Valiant", rules="single-vl")


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("{python: 'valiant.py:Valliant'}", "no 'Valliant'"),
        ("{python: 'valiant.py:BUCKETS'}", "is 16, which is not a forwarding scheme"),
        ("valiant", "'valiant' is not known"),
    ],
)
def test_a_scheme_that_is_none_is_named_with_its_line(folder: Path, named: str, message: str) -> None:
    text = FILES["valiant.yaml"].replace('{python: "valiant.py:Valiant"}', named)
    (folder / "valiant.yaml").write_text(text)
    with pytest.raises(ScenarioError, match=rf"(?s)valiant.yaml:\d+.*{re.escape(message)}"):
        prepare(*load(folder / "valiant.yaml"))


def test_an_unknown_scheme_is_refused() -> None:
    with pytest.raises(PlanError, match="no scheme named 'graphs'; did you mean 'graph'"):
        make_plan(torus((4, 4)), scheme="graphs")
