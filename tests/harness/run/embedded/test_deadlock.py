# SPDX-License-Identifier: Apache-2.0
"""A scenario that comes to a standstill: what is said of it, and its circle drawn."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from harness.errors import ScenarioError
from harness.report.document import to_json
from harness.report.figures.deadlock_cycle import cycle_svg
from harness.report.page import report_html
from harness.report.picture import picture_svg
from harness.report.results import Result, conclude
from harness.run.prepare import prepare
from harness.run.runner import Run, run
from harness.scenario.loader import load
from harness.scenario.schema import Scenario
from topologies import Fabric, full_mesh
from topologies.families.registry import build

FILE = Path(__file__).parents[4] / "experiments" / "03_deadlock" / "scenario.yaml"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return load(FILE)[0]


@pytest.fixture(scope="module")
def mesh() -> Fabric:
    return full_mesh([4, 4])


@pytest.fixture(scope="module")
def done(scenario: Scenario) -> Run:
    return run(prepare(*load(FILE)), scenario.seed)


@pytest.fixture(scope="module")
def result(scenario: Scenario, done: Run) -> Result:
    return conclude(scenario, 1, "embedded", done.runs)


def test_one_lane_stops_and_two_do_not(result: Result, done: Run) -> None:
    assert result.passed
    assert list(result.deadlocks) == ["one-lane"]
    results = result.deadlocks["one-lane"]
    ends = [way.split("->") for _, way, _ in results.cycle]
    assert [end for _, end in ends] == [begin for begin, _ in ends[1:] + ends[:1]]
    assert {vl for _, _, vl in results.cycle} == {0}
    seen = {name: run.observation for name, run in done.runs.items()}
    assert seen["one-lane"].completion_ps == results.at_ps
    assert seen["one-lane"].first_wrong.startswith(f"deadlock at {results.at_ps / 10**6:g} us: npu")
    assert seen["two-lanes"].deadlock is None
    assert (seen["two-lanes"].correct_nodes, seen["dimension-order"].correct_nodes) == (16, 16)


def test_the_result_names_the_circle(result: Result) -> None:
    document = json.loads(to_json(result))
    assert list(document["deadlocks"]) == ["one-lane"]
    cycle = document["deadlocks"]["one-lane"]["cycle"]
    assert [tuple(channel) for channel in cycle] == list(result.deadlocks["one-lane"].cycle)
    assert document["deadlocks"]["one-lane"]["at_us"] < 1


def test_a_result_without_one_says_nothing_of_it(scenario: Scenario, done: Run) -> None:
    rest = {name: run for name, run in done.runs.items() if name != "one-lane"}
    left = scenario.model_copy(update={"assertions": ()})
    assert "deadlock" not in to_json(conclude(left, 1, "embedded", rest)).replace('"deadlock",\n', "")


def test_a_deadlock_that_nobody_expects_fails(scenario: Scenario, done: Run) -> None:
    variants = tuple(variant.model_copy(update={"expect": "finish"}) for variant in scenario.variants)
    results = conclude(scenario.model_copy(update={"variants": variants}), 1, "embedded", done.runs)
    assert not results.passed
    failing = [outcome.name for outcome in results.assertions if outcome.verdict == "fails"]
    assert failing == [
        "one-lane: the array of every NPU is right",
        "one-lane: no buffers wait in a circle",
    ]


def test_an_expected_deadlock_that_does_not_come_fails(scenario: Scenario, done: Run) -> None:
    runs = dict(done.runs)
    runs["one-lane"] = runs["two-lanes"]
    results = conclude(scenario, 1, "embedded", runs)
    assert next(outcome for outcome in results.assertions if outcome.verdict == "fails").name == (
        "one-lane: buffers wait in a circle"
    )


def test_the_report_draws_it(scenario: Scenario, result: Result, done: Run, mesh: Fabric) -> None:
    text = report_html(scenario, result, mesh, done.runs, "railyard run x.yaml")
    assert "<h2>Deadlock</h2>" in text
    assert text.count('<svg class="cycle"') == 1
    assert "✕ deadlock at " in text
    ET.fromstring(picture_svg(scenario, mesh, done.runs))


def test_routes_that_can_deadlock_are_refused_unless_it_is_expected(tmp_path: Path) -> None:
    file = tmp_path / "unexpected.yaml"
    file.write_text(FILE.read_text().replace("    expect: deadlock\n", ""))
    with pytest.raises(ScenarioError, match="can deadlock"):
        prepare(*load(file))


def test_a_circle_in_a_mesh_is_drawn_in_its_place(mesh: Fabric) -> None:
    cycle = [("npu0-npu1", "npu0->npu1", 0), ("npu1-npu5", "npu1->npu5", 1), ("npu0-npu5", "npu5->npu0", 0)]
    root = ET.fromstring(cycle_svg(mesh, cycle))
    circles = root.findall(f"{SVG}circle")
    assert len(circles) == 16
    marked = [circle.findtext(f"{SVG}title") for circle in circles if circle.get("class") == "in"]
    assert marked == ["npu0", "npu1", "npu5"]
    waits = [
        path.findtext(f"{SVG}title") for path in root.findall(f"{SVG}path") if path.get("class") == "wait"
    ]
    assert waits[0] == "npu0->npu1 on VL 0: full, and waits for npu1->npu5"
    assert waits[2] == "npu5->npu0 on VL 0: full, and waits for npu0->npu1"
    labels = [text.text for text in root.findall(f"{SVG}text") if text.get("class") == "vl"]
    assert labels == ["VL 0", "VL 1", "VL 0"]


def test_another_circle_is_drawn_as_a_ring() -> None:
    rack = build("ub-rack-lrs", dims=(2, 2))
    switch = next(neighbour for neighbour in rack.neighbours("npu0") if rack.node(neighbour).is_switch)
    cycle = [("a", f"npu0->{switch}", 0), ("b", f"{switch}->npu1", 0), ("c", "npu1->npu0", 0)]
    root = ET.fromstring(cycle_svg(rack, cycle))
    places = [(float(item.get("cx", 0)), float(item.get("cy", 0))) for item in root.findall(f"{SVG}circle")]
    assert len(places) == 3
    left, top, width, height = map(float, root.get("viewBox", "").split())
    assert all(24 <= x - left <= width - 24 and 24 <= y - top <= height - 24 for x, y in places)


def test_of_a_large_mesh_only_the_circle_is_drawn() -> None:
    mesh = full_mesh([8, 8, 8])
    cycle = [("a", "npu0->npu1", 0), ("b", "npu1->npu2", 0), ("c", "npu2->npu0", 0)]
    assert len(ET.fromstring(cycle_svg(mesh, cycle)).findall(f"{SVG}circle")) == 3
