# SPDX-License-Identifier: Apache-2.0
"""docs/use/bring-your-own.md: its files run as shown, with the right data, each link cut in turn."""

import os
import re
import runpy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import networkx as nx
import pytest

import railyard
from harness.errors import ScenarioError
from harness.run.prepare import Prepared, prepare
from harness.run.runner import observe
from harness.scenario.loader import load
from harness.scenario.schema import Fault
from topologies.errors import RailyardError

GUIDE = Path(__file__).resolve().parents[1] / "docs" / "use" / "bring-your-own.md"
FILES = dict(
    re.findall(r"^```(?:python|yaml)\n# (\S+)\n(.*?)^```$", GUIDE.read_text(), flags=re.MULTILINE | re.DOTALL)
)
CUT_PS = 1_000_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def assert_right(item: Prepared, cut: str | None) -> None:
    faults = () if cut is None else (Fault.model_validate({"at_us": CUT_PS / 10**6, "link": cut}),)
    item = item.with_faults(faults)
    seen = observe(item, seed=1)
    assert seen.correct_nodes == seen.nodes == len(item.members), (item.variant.name, cut, seen.first_wrong)


def test_the_function_is_short() -> None:
    assert len(FILES["dragonfly.py"].splitlines()) <= 40


@pytest.mark.long("10", "all")
@pytest.mark.parametrize("step", [25, 10, 1], ids=["25", "10", "all"])
def test_both_collectives_are_right_with_links_cut_in_turn(folder: Path, step: int) -> None:
    items = prepare(*load(folder / "mine.yaml"))
    assert [item.variant.name for item in items] == ["allreduce", "all-to-all"]
    for item in items:
        for cut in (None, *(link.name for link in item.fabric.links[::step])):
            assert_right(item, cut)


def test_the_scheduler_orders_jobs_by_their_bytes(folder: Path) -> None:
    member = "{kind: allreduce, algorithm: direct, elements: %d, members: [%s]}"
    (folder / "jobs.yaml").write_text(
        f"""
name: jobs
topology: {{name: full-mesh, dims: [4]}}
control: {{scheduler: {{python: "order.py:fewest_bytes_first"}}}}
jobs:
  - {{name: large, iterations: 3, compute_us: 1, collective: {member % (8000, "npu0, npu1")}}}
  - {{name: small, iterations: 3, compute_us: 1, collective: {member % (800, "npu2, npu3")}}}
"""
    )
    seen = observe(prepare(*load(folder / "jobs.yaml"))[0], seed=1)
    levels = {job.name: job.priority for job in seen.jobs}
    assert seen.correct_nodes == 4
    assert levels["small"] < levels["large"]


def test_the_torus_deadlocks_on_one_lane_by_a_circle_and_not_by_ranks(folder: Path) -> None:
    one_lane, ranks = prepare(*load(folder / "torus.yaml"))
    deadlock = observe(one_lane, seed=1).deadlock
    assert deadlock is not None
    ends = [hop.split("->") for _, hop, _ in deadlock.cycle]
    assert len(ends) > 2
    assert [end for _, end in ends] == [begin for begin, _ in ends[1:] + ends[:1]]
    assert_right(ranks, None)


@pytest.mark.long
def test_links_of_a_dragonfly_of_72_are_cut_in_turn(folder: Path) -> None:
    """Every 24th of 288 links; RAILYARD_EVERY_LINK=1 takes all, in some 25 minutes of processor."""
    step = 1 if os.environ.get("RAILYARD_EVERY_LINK") else 24
    text = (folder / "mine.yaml").read_text().replace("groups: 5, routers: 4", "groups: 9, routers: 8")
    (folder / "large.yaml").write_text(text.replace("elements: 2000", "elements: 7200"))
    for item in prepare(*load(folder / "large.yaml")):
        assert (len(item.members), len(item.fabric.links)) == (72, 288)
        for cut in (None, *(link.name for link in item.fabric.links[::step])):
            assert_right(item, cut)


def test_the_workload_makes_the_jobs(folder: Path) -> None:
    text = """
name: load
topology: {name: full-mesh, dims: [8]}
workload: {python: "load.py:pairs", params: {every_us: 3.0}}
"""
    (folder / "load.yaml").write_text(text)
    seen = observe(prepare(*load(folder / "load.yaml"))[0], seed=1)
    assert seen.correct_nodes == 8
    assert [(job.name, job.due_ps) for job in seen.jobs] == [
        (f"pair{number}", number * 3_000_000) for number in range(4)
    ]
    (folder / "named.yaml").write_text(
        "name: named\ntopology: {name: full-mesh, dims: [4]}\n"
        "workload: {name: in-turn, params: {size: 2}}\ncollective: {algorithm: direct, elements: 512}\n"
    )
    item = prepare(*load(folder / "named.yaml"))[0]
    assert [job.members for job in item.jobs] == [("npu0", "npu1"), ("npu2", "npu3")]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("    return 1 / 0", "load.py:2: ZeroDivisionError: division by zero"),
        ("    return [3]", "job 0 is 3, which is not a dict; return dicts"),
        ("    return []", "returned no jobs; return one job or more"),
        ("    return [{'at': 3}]", "job 0: at: Extra inputs are not permitted"),
    ],
)
def test_a_wrong_workload_is_refused_with_its_line(tmp_path: Path, body: str, message: str) -> None:
    (tmp_path / "load.py").write_text(f"def make(nodes):\n{body}\n")
    head = "name: load\ntopology: {name: full-mesh, dims: [4]}\n"
    (tmp_path / "load.yaml").write_text(head + 'workload: {python: "load.py:make"}\n')
    with pytest.raises(ScenarioError) as raised:
        load(tmp_path / "load.yaml")
    assert "load.yaml:3: " in str(raised.value)
    assert message in str(raised.value)


def test_a_workload_and_jobs_exclude_each_other(tmp_path: Path) -> None:
    (tmp_path / "load.yaml").write_text(
        "name: load\ntopology: {name: full-mesh, dims: [4]}\njobs: [{name: a}]\nworkload: {name: in-turn}\n"
    )
    with pytest.raises(ScenarioError, match=r"load\.yaml:4: a variant has `workload:` beside `jobs:`"):
        load(tmp_path / "load.yaml")


def test_the_path_set_routes_the_fabric(folder: Path) -> None:
    text = (folder / "mine.yaml").read_text()
    (folder / "ways.yaml").write_text(
        text + 'routing: {weights: oblivious, strategy: {python: "mine.py:ways"}}\n'
    )
    item = prepare(*load(folder / "ways.yaml"))[0]
    assert max(len(set(paths)) for paths in item.plan.routes.values()) == 3
    assert_right(item, None)


def test_graphml_of_it_makes_the_same_plan(folder: Path) -> None:
    make = runpy.run_path(str(folder / "dragonfly.py"))["make"]
    nx.write_graphml(make(groups=5), folder / "fabric.graphml")
    text = (folder / "mine.yaml").read_text()
    (folder / "file.yaml").write_text(re.sub(r"topology: .*", "topology: {file: fabric.graphml}", text))
    python, graphml = (prepare(*load(folder / name))[0] for name in ("mine.yaml", "file.yaml"))
    assert replace(graphml.fabric, name="") == replace(python.fabric, name="")
    assert graphml.plan.entries == python.plan.entries
    assert_right(graphml, "g0r0-g0r1")


def test_the_collective_to_copy_is_proved_and_runs(
    railyard: Callable[..., tuple[int, str, str]], tmp_path: Path
):
    guide = GUIDE.with_name("collectives.md").read_text()
    [block] = [
        text for text in re.findall(r"```python\n(.*?)```", guide, re.DOTALL) if text.startswith("# mine.py")
    ]
    (tmp_path / "mine.py").write_text(block)
    (tmp_path / "mine.yaml").write_text(
        "name: mine\ntopology: {name: slim-fly}\n"
        "collective: {kind: {python: 'mine.py:mine'}, elements: 4096}\n"
    )
    code, out, err = railyard("check", tmp_path / "mine.yaml")
    assert code == 0, err
    assert "the schedule through-the-first fulfils its goals for any data" in out
    assert railyard("run", tmp_path / "mine.yaml", "--no-report", "--out", tmp_path / "out")[0] == 0


def test_a_workload_with_a_parameter_seed_draws_from_the_seed_of_the_run(folder: Path) -> None:
    file = folder / "permutation.yaml"
    text = re.sub(r"(?m)^(study|variants|  -).*\n", "", file.read_text())
    file.write_text(text)

    def sends(result: railyard.Result) -> set[str]:
        return {row["id"] for row in result.operations()}

    runs = {seed: railyard.run(file, seed=seed) for seed in (1, 2)}
    assert sends(runs[1]) != sends(runs[2])
    assert sends(runs[1]) == sends(railyard.run(file))
    times = {seed: run.metric("run", "completion_us") for seed, run in runs.items()}
    study = railyard.sweep(file, seeds=[1, 2], jobs=1)
    assert {row["seed"]: row["completion_us"] for row in study.records()} == times
    with pytest.raises(RailyardError, match="drew its jobs from the seed 1, not 2"):
        railyard.run(railyard.load(file), seed=2)
    file.write_text(f"{text}seed: 2\n")
    assert sends(railyard.run(file)) == sends(runs[2])
    file.write_text(text.replace('permutation"}', 'permutation", params: {seed: 1}}'))
    assert sends(railyard.run(file, seed=2)) == sends(runs[1])
