# SPDX-License-Identifier: Apache-2.0
"""result.json fits its published schema, and says what it is the result of."""

import json
from collections.abc import Callable
from dataclasses import replace
from html import escape
from pathlib import Path
from xml.etree import ElementTree

import pytest

import railyard
from emulation.fidelity import Fidelity
from harness.report.document import result_schema, to_document, to_json, units
from harness.report.junit import Failed, to_junit
from harness.report.results import conclude
from harness.run.observation.values import Deadlock
from harness.run.observation.variant_run import VariantRun
from harness.scenario.digest import digest, files_of
from harness.scenario.loader import load
from harness.scenario.metrics import ALL_METRICS
from harness.scenario.schema import Scenario

jsonschema = pytest.importorskip("jsonschema")
junitparser = pytest.importorskip("junitparser")

CHECK = {"<=": float.__le__, ">=": float.__ge__, "==": float.__eq__, "<": float.__lt__}


def test_results_fit_the_published_schema(
    scenario: Scenario, runs: dict[str, VariantRun], fidelities: dict[str, Fidelity]
):
    schema = json.loads(result_schema())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    real = {name: replace(run, fidelity=fidelities["doubted"]) for name, run in runs.items()}
    cycle = (("npu0-npu1", "npu0->npu1", 0), ("npu0-npu1", "npu1->npu0", 0))
    stuck = replace(runs["cut"].observation, deadlock=Deadlock(5, cycle), cut_off="npu3 is cut off")
    results = [
        conclude(scenario, 1, "embedded", runs),
        conclude(scenario, 1, "mininet", real, switch="bmv2"),
        conclude(scenario, 1, "embedded", {**runs, "cut": replace(runs["cut"], observation=stuck)}),
    ]
    for result in results:
        validator.validate(json.loads(to_json(result)))
    document = to_document(results[0])
    for key in schema["required"]:
        without = {name: value for name, value in document.items() if name != key}
        assert not validator.is_valid(without), key
    document["assertions"][0]["op"] = "is about"
    assert not validator.is_valid(document)


def test_an_assertion_can_be_judged_from_its_keys_alone(scenario: Scenario, runs: dict[str, VariantRun]):
    document = to_document(conclude(scenario, 1, "embedded", runs))
    for item in document["assertions"]:
        assert CHECK[item["op"]](float(item["value"]), float(item["limit"])) is item["passed"], item
        if item["metric"] in document["metrics"]:
            assert document["metrics"][item["metric"]] == item["value"]
        else:
            assert item["metric"] == "cut.faults[0].at_us"
            assert document["faults"]["cut"][0]["at_us"] == item["value"]


def test_every_metric_has_a_unit(scenario: Scenario, runs: dict[str, VariantRun]):
    known = units([*ALL_METRICS, "a.start_us", "a.iterations"])
    assert known["completion_us"] == known["start_us"] == "us"
    assert known["ratio_to_bound"] == "ratio"
    assert known["npus"] == known["iterations"] == "count"
    document = to_document(conclude(scenario, 1, "embedded", runs))
    assert {name.rpartition(".")[2] for name in document["metrics"]} == {*document["units"]}


def test_the_hash_of_the_input_follows_values_seed_and_content_of_files(
    write: Callable[[str], Path], tmp_path: Path
):
    topology = tmp_path / "mine.py"
    topology.write_text("import networkx as nx\n\n\ndef ring(n):\n    return nx.cycle_graph(n)\n")
    text = "name: own\ntopology: {python: 'mine.py:ring', params: {n: 4}}\n"
    first = load(write(text))[0]
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    (moved / "mine.py").write_bytes(topology.read_bytes())
    (moved / "scenario.yaml").write_text(f"# a comment\n{text}")
    assert digest(first, 1) == digest(load(moved / "scenario.yaml")[0], 1)
    assert digest(first, 1) != digest(first, 2)
    assert digest(first, 1) != digest(load(write(text.replace("n: 4", "n: 5")))[0], 1)
    topology.write_text(topology.read_text().replace("cycle", "path"))
    assert digest(first, 1) != digest(load(moved / "scenario.yaml")[0], 1)


def test_files_that_a_p4_program_includes_belong_to_the_input(write: Callable[[str], Path]):
    path = write("name: own\ntopology: {name: full-mesh, dims: [4]}\nprogram: {ub_npu: {file: p4/mine.p4}}\n")
    folder = path.parent / "p4" / "control"
    folder.mkdir(parents=True)
    (folder.parent / "mine.p4").write_text(
        '#include <core.p4>\n#include "control/count.p4"\n#include "none.p4"\n'
    )
    (folder / "count.p4").write_text('# include "../sizes.p4"\n')
    (folder.parent / "sizes.p4").write_text('const bit<32> CELLS = 512;\n#include "mine.p4"\n')
    scenario = load(path)[0]
    assert [file.name for file in files_of(scenario)] == ["mine.p4", "count.p4", "sizes.p4"]
    before = digest(scenario, 1)
    (folder.parent / "sizes.p4").write_text("const bit<32> CELLS = 256;\n")
    assert digest(scenario, 1) != before


def test_junit_tells_a_parser_of_others_what_held(
    scenario: Scenario, runs: dict[str, VariantRun], fidelities: dict[str, Fidelity], tmp_path: Path
):
    doubted = {name: replace(run, fidelity=fidelities["doubted"]) for name, run in runs.items()}
    wrong = replace(runs["cut"], observation=replace(runs["cut"].observation, correct_nodes=15))
    results = [
        conclude(scenario, 1, "embedded", {**runs, "cut": wrong}),
        conclude(scenario, 2, "mininet", doubted, switch="bmv2"),
        Failed("other", "no link named 'x <&> y'"),
    ]
    path = tmp_path / "junit.xml"
    path.write_text(to_junit(results))
    assert ElementTree.parse(path).getroot().tag == "testsuites"
    suites = [*junitparser.JUnitXml.fromfile(str(path))]
    assert [suite.name for suite in suites] == ["small", "small", "other"]
    counts = [(suite.tests, suite.failures, suite.errors, suite.skipped) for suite in suites]
    assert counts == [(5, 1, 0, 0), (5, 0, 0, 2), (1, 0, 1, 0)]
    (failed,) = [case for case in suites[0] if case.result]
    assert failed.name == "cut: the array of every NPU is right"
    assert failed.result[0].message == "cut.correct_npus is 15, required: == 16"
    assert next(iter(suites[2])).result[0].message == "no link named 'x <&> y'"


def test_bounds_say_what_they_are() -> None:
    collective = {"kind": "all-to-all", "algorithm": "direct", "elements": 800}
    values = {"name": "ring", "topology": {"name": "torus", "dims": [8]}, "collective": collective}
    result = railyard.run(values)
    document = json.loads(result.to_json())
    (bounds,) = document["bounds"].values()
    assert {bound["bound"].partition(" ")[0] for bound in bounds} >= {"bytes", "maximum", "what"}
    assert bounds[0]["us"] == max(bound["us"] for bound in bounds)
    assert bounds[0]["us"] == pytest.approx(document["metrics"]["run.bound_us"], abs=1e-5)
    jsonschema.validate(document, json.loads(result_schema()))
    assert all(escape(bound["bound"]) in result.report() for bound in bounds)
