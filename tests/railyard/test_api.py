# SPDX-License-Identifier: Apache-2.0
"""`import railyard`: its names, what they return, and how they refuse."""

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import railyard
from harness.scenario.loader import load
from railyard import Fabric, Plan, RailyardError, Result

ROOT = Path(__file__).resolve().parents[2]

SMALL = {
    "name": "small",
    "topology": {"name": "full-mesh", "dims": [2, 2]},
    "collective": {"elements": 1024},
    "variants": [
        {"name": "healthy"},
        {"name": "cut", "faults": [{"at_us": 0.05, "link": "npu0-npu1"}]},
    ],
    "assertions": [
        {"metric": "healthy.npus", "equals": 4},
        {"metric": "cut.completion_us", "min": {"metric": "healthy.completion_us"}},
    ],
}


@pytest.fixture(scope="module")
def mesh() -> Fabric:
    return railyard.fabric("full-mesh", dims=(2, 4))


@pytest.fixture(scope="module")
def plan(mesh: Fabric) -> Plan:
    return railyard.plan(mesh)


@pytest.fixture(scope="module")
def result() -> Result:
    return railyard.run(SMALL)


@pytest.fixture
def command(request: pytest.FixtureRequest):
    """Calls the command, whose fixture has the name of the module."""
    return request.getfixturevalue("railyard")


def frame(records: list[railyard.Record]) -> Any:
    """A pandas data frame; its type stubs do not know the types of columns."""
    import pandas  # takes a third of a second, of each worker if at the top

    return pandas.DataFrame(records)


def test_every_public_name_is_there_and_in_the_guide():
    assert len(railyard.__all__) == len(set(railyard.__all__))
    for name in railyard.__all__:
        assert getattr(railyard, name) is not None
    assert set(railyard.__all__) == {name for name in dir(railyard) if not name.startswith("_")}
    guide = (ROOT / "docs" / "python.md").read_text()
    described = set(re.findall(r"^\| `(\w+)", guide, flags=re.MULTILINE))
    assert described == set(railyard.__all__)
    with pytest.raises(AttributeError, match="no public name 'fabrik'"):
        _ = railyard.fabrik  # pyright: ignore[reportAttributeAccessIssue]


def test_importing_loads_nothing_else():
    heavy = ("numpy", "pydantic", "harness")
    code = f"import sys, railyard; print(*[name for name in sys.modules if name in {heavy}])"
    loaded = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert loaded.stdout.split() == []


def test_a_fabric_survives_its_file(mesh: Fabric, tmp_path: Path):
    railyard.save_fabric(mesh, tmp_path / "mesh.json")
    assert railyard.load_fabric(tmp_path / "mesh.json") == mesh
    (tmp_path / "broken.json").write_text("{}")
    with pytest.raises(RailyardError, match="not a fabric document"):
        railyard.load_fabric(tmp_path / "broken.json")
    with pytest.raises(RailyardError, match="No such file"):
        railyard.load_fabric(tmp_path / "missing.json")


def test_nodes_and_links_are_tables(mesh: Fabric):
    nodes, links = frame(railyard.nodes(mesh)), frame(railyard.links(mesh))
    assert nodes["node"].tolist() == [node.name for node in mesh.nodes]
    assert links["rate_gbps"].tolist() == [link.rate_bps / 1e9 for link in mesh.links]
    assert [entry["name"] for entry in railyard.fabrics()] == sorted(
        entry["name"] for entry in railyard.fabrics()
    )


def test_paths_follow_links_and_share_all_frames(mesh: Fabric, plan: Plan):
    paths = railyard.paths(plan, "npu0", "npu3")
    assert sum(path["share"] for path in paths) == 1
    for path in paths:
        nodes = path["path"]
        assert (nodes[0], nodes[-1]) == ("npu0", "npu3")
        assert all(mesh.link_between(*hop) for hop in pairwise(nodes))
    failed = railyard.plan(mesh, failed=["npu0-npu1"])
    around = [path["path"] for path in railyard.paths(failed, "npu0", "npu3")]
    assert ("npu0", "npu2", "npu3") in around
    assert not any({"npu0", "npu1"} == set(hop) for path in around for hop in pairwise(path))


def test_a_plan_follows_a_scheme_of_the_users_own(mesh: Fabric, tmp_path: Path):
    file = tmp_path / "last.py"
    file.write_text(
        "from controller.schemes.graph import Graph\n"
        "class Last(Graph):\n"
        "    def candidates(self, source, destination):\n"
        "        return list(super().candidates(source, destination))[-1:]\n"
    )
    own = railyard.plan(mesh, scheme=f"{file}:Last")
    built_in = railyard.plan(mesh, scheme="graph")
    assert [path["share"] for path in railyard.paths(own, "npu0", "npu3")] == [1.0]
    assert len(railyard.paths(built_in, "npu0", "npu3")) > 1
    hops = railyard.trace(own, "npu0", "npu3", bucket=5)
    assert tuple(hop["node"] for hop in hops) == own.routes["npu0", "npu3"][5]


def test_a_frame_takes_the_planned_path_of_its_bucket(plan: Plan):
    for bucket in range(16):
        hops = railyard.trace(plan, "npu0", "npu3", bucket=bucket)
        assert tuple(hop["node"] for hop in hops) == plan.routes["npu0", "npu3"][bucket]
        assert hops[-1]["to"] == "host"
    *_, last = railyard.trace(plan, "npu0", "npu3", bucket=0, cut=["npu0-npu1"])
    assert last["to"] is None
    assert "npu0-npu1 is down" in last["lost"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda mesh, plan: railyard.fabric("ful-mesh"), "no topology named 'ful-mesh'"),
        (lambda mesh, plan: railyard.fabric("full-mesh", dim=(2, 2)), "no parameter named 'dim'"),
        (lambda mesh, plan: railyard.plan(mesh, strategy="fastest"), "the strategy 'fastest' does not exist"),  # pyright: ignore[reportArgumentType]
        (lambda mesh, plan: railyard.plan(mesh, failed=["npu0-npu7"]), "no link named 'npu0-npu7'"),
        (lambda mesh, plan: railyard.paths(plan, "npu0", "npu0"), "name two endpoints that the plan joins"),
        (lambda mesh, plan: railyard.entries(plan, "npu9"), "npu9"),
        (lambda mesh, plan: railyard.trace(plan, "npu0", "npu3", bucket=16), "give a bucket from 0 to 15"),
        (lambda mesh, plan: railyard.sweep(SMALL, {}), "a study needs a scenario file"),  # pyright: ignore[reportArgumentType]
        (lambda mesh, plan: railyard.draw(railyard.fabric("ub-pod")), "too many to draw"),
        (
            lambda mesh, plan: railyard.run(SMALL, seed=2**64),
            "the seed 18446744073709551616 is out of range; give a whole",
        ),
        (
            lambda mesh, plan: railyard.run(SMALL, seed=-1),
            "the seed -1 is out of range; give a whole number from 0",
        ),
        (lambda mesh, plan: railyard.run({**SMALL, "sede": 1}), "unknown key 'sede'; did you mean 'seed'"),
        (lambda mesh, plan: railyard.run(SMALL, variant="cutt"), "choose among healthy, cut"),
        (lambda mesh, plan: railyard.run("missing.yaml"), "missing.yaml: the file does not exist"),
    ],
)
def test_what_cannot_be_is_refused_by_name(mesh: Fabric, plan: Plan, wrong, said: str):
    with pytest.raises(RailyardError, match=re.escape(said)):
        wrong(mesh, plan)


def test_a_testbed_carries_frames_and_routes_around_a_cut(mesh: Fabric, plan: Plan):
    with railyard.testbed(mesh, plan) as bed:
        before = bed.entries("npu0")
        assert sorted(map(str, before)) == sorted(map(str, railyard.entries(plan, "npu0")))
        bed.send("npu0", "npu3", bucket=0, count=3)
        bed.run(until_us=0.02)
        assert (bed.now_us, bed.received()) == (0.02, [])
        bed.run()
        assert [frame["source"] for frame in bed.received("npu3")] == ["npu0"] * 3
        busy = {record["link"]: record["frames"] for record in bed.links() if record["source"] == "npu0"}
        assert busy["npu0-npu1"] == 3
        bed.cut("npu0-npu1")
        bed.send("npu0", "npu3", bucket=0)
        bed.run()
        assert len(bed.received("npu3")) == 3  # lost: nobody has noticed yet
        assert bed.entries("npu0") != before
        bed.send("npu0", "npu3", bucket=0)
        bed.run()
        assert len(bed.received("npu3")) == 4
        with pytest.raises(RailyardError, match="npu8"):
            bed.send("npu0", "npu8")
    with (
        pytest.raises(RailyardError, match="another fabric"),
        railyard.testbed(railyard.fabric("full-mesh", dims=(2, 2)), plan),
    ):
        pass


def test_a_result_is_tables(result: Result):
    assert result.passed
    metrics = frame(result.metrics()).set_index("variant")
    assert metrics.index.tolist() == ["healthy", "cut"]
    assert metrics.loc["cut", "fault_us"] == 0.05 == result.metric("cut", "fault_us")
    links = frame(result.links())
    assert len(links) == 2 * 2 * len(result.fabric.links)
    busiest = links.groupby("variant")["busy_percent"].max()
    assert busiest.to_dict() == {
        name: result.metric(name, "busiest_link_percent") for name in ("healthy", "cut")
    }
    lost = links.groupby("variant")[["lost_frames", "refused_frames"]].sum().sum(axis=1)
    assert lost.to_dict() == {name: result.metric(name, "lost_frames") for name in ("healthy", "cut")}
    arrived = frame(result.timeline("cut"))["bytes"].sum()
    assert arrived == sum(result.runs["cut"].observation.timeline.delivered) > 0
    assert {item["verdict"] for item in result.assertions()} == {"holds"}
    document = json.loads(result.to_json())
    tables = (document["assertions"], result.assertions())
    for of_json, of_python in zip(*tables, strict=True):
        assert of_json.items() <= of_python.items()
    assert [row for row in result.faults() if row["variant"] == "cut"] == [
        {"variant": "cut", **fault} for fault in document["faults"]["cut"]
    ]
    for name, rows in document["bounds"].items():
        assert result.bounds(name) == [{"variant": name, **row} for row in rows]
    with pytest.raises(KeyError, match="'assertion' is called 'name' now"):
        result.assertions()[0]["assertion"]
    with pytest.raises(KeyError, match="'description' is called 'text' now"):
        railyard.fabrics()[0]["description"]
    with pytest.raises(RailyardError, match="no metric 'speed'"):
        result.metric("cut", "speed")
    with pytest.raises(RailyardError, match="choose among healthy, cut"):
        result.links("ring")


def test_one_variant_runs_without_assertions_about_the_others(result: Result):
    alone = railyard.run(SMALL, variant="healthy")
    assert alone.metrics() == result.metrics()[:1]
    assert all(not str(item["name"]).startswith("cut") for item in alone.assertions())


def test_the_same_seed_gives_the_bytes_of_the_command(command, result: Result, tmp_path: Path):
    (tmp_path / "small.yaml").write_text(json.dumps(SMALL))  # JSON is YAML
    assert command("run", tmp_path / "small.yaml", "--out", tmp_path / "command")[0] == 0
    assert (tmp_path / "command" / "result.json").read_text() == result.to_json()
    report = railyard.run(tmp_path / "small.yaml").save(tmp_path / "python")
    assert (report.parent / "result.json").read_text() == result.to_json()
    assert f"railyard run {tmp_path / 'small.yaml'}" in report.read_text()
    assert result.to_json() != railyard.run(SMALL, seed=2).to_json()
    assert railyard.run(load(tmp_path / "small.yaml")[0]).to_json() == result.to_json()


def test_picture_and_report_share_their_charts(
    result: Result, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    drawn: list[object] = []
    monkeypatch.setattr("harness.report.charts.bars_svg", lambda bars: drawn.append(bars) or "<svg></svg>")
    replace(result).save(tmp_path / "results")
    assert len(drawn) == 1


def test_drawings_are_svg(mesh: Fabric, result: Result, tmp_path: Path):
    for drawing in (railyard.draw(mesh), result.plot(), result.plot("cut")):
        assert ET.fromstring(drawing._repr_svg_()).tag == "{http://www.w3.org/2000/svg}svg"
        drawing.save(tmp_path / "drawing.svg")
        assert (tmp_path / "drawing.svg").read_text() == drawing.svg
    assert 'class="cut"' in result.plot("cut").svg
    assert 'class="cut"' not in result.plot("healthy").svg


def test_a_recorded_run_has_tables_over_time_and_the_same_result(result: Result, tmp_path: Path):
    watched = railyard.run(SMALL, record=tmp_path / "run.recording")
    assert watched.to_json() == result.to_json()
    assert (tmp_path / "run.recording").stat().st_size > 1000
    links = frame(watched.links_over_time("cut"))
    assert set(links["variant"]) == {"cut"}
    samples = len(set(links["time_us"]))
    assert len(links) == samples * 2 * len(watched.fabric.links)
    assert links["busy_percent"].between(0, 100).all()
    single = frame(watched.links_over_time("cut", link="npu0-npu1"))
    assert single.equals(links[links["link"] == "npu0-npu1"].reset_index(drop=True))
    with pytest.raises(RailyardError, match="no link named 'npu0-npu9'"):
        watched.links_over_time(link=["npu0-npu1", "npu0-npu9"])
    down = links[~links["up"]]
    assert set(down["link"]) == {"npu0-npu1"}
    assert (down["time_us"] >= 0.05).all()
    nodes = frame(watched.nodes_over_time())
    assert set(nodes["variant"]) == {"healthy", "cut"}
    # What all nodes send arrives at all nodes.
    sums = nodes.groupby(["variant", "time_us"])[["sent_gbps", "received_gbps"]].sum()
    assert (sums["sent_gbps"] - sums["received_gbps"]).abs().max() < 0.1
    assert sums["sent_gbps"].max() > 0
    [fault] = [row for row in watched.events() if row["kind"] == "fault"]
    assert (fault["variant"], fault["time_us"], fault["links"]) == ("cut", 0.05, ("npu0-npu1",))
    assert watched.events("healthy") == [row for row in watched.events() if row["variant"] == "healthy"]


def test_an_incident_is_told_by_node():
    file = ROOT / "experiments" / "02_real_time" / "scenario.yaml"
    watched = railyard.run(file, variant="cut", record=True)
    rows = {row["node"]: row for row in watched.incidents()}
    assert {node for node, row in rows.items() if row["learns"] == "by itself"} == {"npu0", "npu1"}
    # Detection and processing of the scenario come before any node acts, and a told node acts later.
    fault_us = watched.metric("cut", "fault_us")
    assert {row["fault_us"] for row in rows.values()} == {fault_us}
    first = max(rows[node]["acted_us"] for node in ("npu0", "npu1"))
    told = [row for row in rows.values() if row["learns"] == "by a notice"]
    assert all(row["acted_us"] > first for row in told)
    # An end of the link tells the sources next to it; the other end is as far away or farther.
    assert {row["told_by"][0] for row in told} == {"npu0", "npu1"}
    assert all(rows[node]["told_by"] == () for node in ("npu0", "npu1"))
    assert sum(row["notices"] for row in rows.values()) == watched.metric("cut", "notices")
    assert sum(row["entries_rewritten"] for row in rows.values()) == watched.metric(
        "cut", "entries_rewritten"
    )
    last = max(row["recovered_us"] for row in rows.values() if row["recovered_us"] is not None)
    assert last == pytest.approx(watched.metric("cut", "convergence_us"))


def test_tables_over_time_need_a_recording(result: Result):
    with pytest.raises(RailyardError, match=r"was not recorded, .*; call railyard.run\(..., record=True\)"):
        result.links_over_time()
    with pytest.raises(RailyardError, match="no variant named 'none'"):
        result.events("none")


def test_a_scenario_that_was_loaded_runs_as_its_file():
    file = ROOT / "experiments" / "02_real_time" / "scenario.yaml"
    scenario = railyard.load(file)
    assert scenario.name == "real-time"
    with pytest.raises(RailyardError, match="the file does not exist"):
        railyard.load("nowhere.yaml")


STUDY = """
name: study
topology: {name: full-mesh, dims: [2, 2]}
collective: {elements: 1024}
transport: {initial_rto_us: 10, min_rto_us: 5}
variants:
  - {name: healthy}
  - {name: cut, faults: [{at_us: 0.05, link: npu0-npu1}]}
"""


def test_a_sweep_is_a_table_that_no_number_of_processes_changes(tmp_path: Path):
    file = tmp_path / "study.yaml"
    file.write_text(STUDY)
    axes = {"routing.strategy": ["shortest", "all-path"]}
    ended: list[tuple[int, int]] = []
    kept = railyard.sweep(
        file,
        axes,
        seeds=[1, 2],
        variant="cut",
        jobs=2,
        folder=tmp_path / "out",
        progress=lambda *n: ended.append(n),
    )
    assert ended == [(1, 4), (2, 4), (3, 4), (4, 4)]
    table = frame(kept.records())
    assert kept.passed
    assert sorted(zip(table["routing.strategy"], table["seed"], strict=True)) == [
        ("all-path", 1), ("all-path", 2), ("shortest", 1), ("shortest", 2)
    ]  # fmt: skip
    assert kept.records() == railyard.sweep(file, axes, seeds=[1, 2], variant="cut", jobs=1).records()
    marks = frame(kept.intervals())
    assert marks["runs"].tolist() == [2, 2]
    for row in kept.intervals():
        own = table[table["routing.strategy"] == row["routing.strategy"]]["completion_us"]
        assert row["median"] == own.median()
        assert own.min() == row["minimum"] <= row["low"] <= row["median"] <= row["high"] <= row["maximum"]
    with pytest.raises(railyard.RailyardError, match="no run has a metric 'completion'; did you mean"):
        kept.intervals("completion")
    again = railyard.sweep(
        file, axes, seeds=[1, 2], variant="cut", folder=tmp_path / "out", progress=lambda *n: ended.append(n)
    )
    assert len(ended) == 4
    assert again.records() == kept.records()
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"sweep.json", "sweep.svg", "report.html"}
    # A figure by the values of an axis of names has a row for each.
    page = again.report()
    assert "<h2>By routing.strategy</h2>" in page


def test_a_sweep_needs_no_guard_in_the_script_that_calls_it(tmp_path: Path):
    (tmp_path / "study.yaml").write_text(STUDY)
    (tmp_path / "mine.py").write_text(
        "import railyard\n"
        "print('once')\n"
        "print(railyard.sweep('study.yaml', seeds=[1, 2], variant='healthy', jobs=2))\n"
    )
    done = subprocess.run([sys.executable, "mine.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["once", "<Study of study: 2 of 2 runs right>"], done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"axes": {"link.detekt_us": [1]}}, "unknown key 'detekt_us'"),
        ({"fail_each": "rail"}, "fail_each of sweep is invalid"),
        ({"seeds": [-1]}, "seeds of sweep is invalid"),
        ({}, "nothing to vary"),
        ({"seeds": [1], "variant": "gone"}, "no variant is called 'gone'"),
    ],
)
def test_a_sweep_refuses_what_is_no_study(arguments: dict[str, Any], message: str, tmp_path: Path):
    (tmp_path / "study.yaml").write_text(STUDY)
    with pytest.raises(RailyardError, match=message):
        railyard.sweep(tmp_path / "study.yaml", **arguments)


def test_the_package_has_a_version():
    assert re.fullmatch(r"\d+\.\d+.*|unknown", railyard.__version__)


def test_the_slider_of_a_report_reaches_the_last_event():
    job = {"name": "train", "iterations": 2, "compute_us": 1, "overlap": 0.5}
    result = railyard.run({**SMALL, "variants": [{"name": "run"}], "jobs": [job], "assertions": []})
    script = re.search(r'\{"(axis|end)_us".*?(?=</script>)', result.report())
    assert script is not None
    values = json.loads(script[0])
    assert max(at for variant in values["variants"] for at, _ in variant["events"]) <= values["end_us"]
