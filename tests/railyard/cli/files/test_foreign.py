# SPDX-License-Identifier: Apache-2.0
"""railyard run takes files of other tools: their scenario is shown, kept, and not written over."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from harness.errors import FormatError, OutputError
from harness.formats.chakra.write import to_traces, write_traces
from harness.formats.detection import format_of
from railyard.cli import app
from tests.harness.formats.samples import GOAL, MATRIX, case, ring
from tests.harness.formats.test_chakra_write import CHAIN, RANKS


def _run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["run", *map(str, words), "--no-report"])


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.xml", ring(), "msccl"),
        ("a.0.et", "", "chakra"),
        ("a.0.et.gz", "", "chakra"),
        ("a.goal", GOAL, "goal"),
        ("a.cm", MATRIX, "htsim"),
        ("a.txt", "HYBRID model_parallel_NPU_group: 8 all_gpus: 8", "simai"),
        ("a.txt", "one.cm\n!Experiment One\n", "htsim-plan"),
        ("a.txt", "notes", None),
        ("a.json", '{"collective": "allreduce", "gpus": []}', "mscclpp"),
        ("a.json", '{"workload_graph": []}', "chakra"),
        ("a.json", '{"name": "a scenario in JSON"}', None),
        ("a.json", "[]", None),
        ("a.yaml", "", None),
    ],
)
def test_formats_are_known_by_endings_or_keys(
    tmp_path: Path, name: str, content: str, expected: str | None
) -> None:
    (tmp_path / name).write_text(content)
    assert format_of(tmp_path / name) == expected


def test_folders(tmp_path: Path) -> None:
    assert format_of(tmp_path) is None
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "a.0.et").touch()
    assert format_of(tmp_path / "traces") == "chakra"
    assert format_of(case(tmp_path)) == "ns-3-ub"


def test_a_file_runs_and_its_scenario_is_shown_and_kept(tmp_path: Path) -> None:
    source, results = tmp_path / "triggers.cm", tmp_path / "out"
    source.write_text(MATRIX)
    done = _run(source, "--out", results)
    assert done.exit_code == 0, done.output
    scenario = results / "imported" / "scenario.yaml"
    assert all(f"  {line}" in done.output for line in scenario.read_text().splitlines())
    assert json.loads((results / "result.json").read_text())["metrics"]["run.correct_npus"] == 4
    again = _run(source, "--out", results, "--quiet")
    assert (again.exit_code, again.output) == (0, "")
    scenario.write_text(scenario.read_text().replace("title:", "# title:"))
    edited = _run(source, "--out", results)
    assert isinstance(edited.exception, OutputError)
    assert f"run {scenario}, or remove it" in str(edited.exception)


def test_traces_of_several_ranks_are_one_scenario(tmp_path: Path) -> None:
    write_traces(tmp_path, "chain", to_traces([("job", CHAIN)], RANKS), packed=False)
    traces = sorted(tmp_path.glob("*.et"))
    goal = tmp_path / "pair.goal"
    goal.write_text("num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n")
    done = _run(*traces, goal, "--out", tmp_path / "out", "--quiet")
    assert done.exit_code == 0, done.output
    assert {path.parent.name for path in (tmp_path / "out").rglob("result.json")} == {"chain", "pair"}


def test_a_file_at_fault_runs_nothing(tmp_path: Path) -> None:
    source = tmp_path / "broken.cm"
    source.write_text("Nodes 4\nConnections 1\n0->9 id 1 start 0 size 8\n")
    done = _run(source, "--out", tmp_path / "out")
    assert isinstance(done.exception, FormatError)
    assert f"{source}:3: node 9" in str(done.exception)
    assert not (tmp_path / "out").exists()


def test_a_plan_of_uet_htsim_runs_each_experiment_and_fails_with_a_missed_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.cm").write_text("Nodes 16\nConnections 1\n0->15 id 1 start 0 size 200000\n")
    experiment = "one.cm\n!Experiment {}\n!Binary ./htsim_uec\n!Param -sender_cc_only\n!tailFCT {}\n"
    (tmp_path / "plan.txt").write_text(experiment.format("In time", 60) + experiment.format("Late", 3))
    result = _run("plan.txt")
    assert result.exit_code == 1
    documents = [json.loads(path.read_text()) for path in sorted(Path("results").glob("*/result.json"))]
    assert [document["passed"] for document in documents] == [True, False]
    # 200,000 bytes at 100 Gbit/s, and six links of 1 us.
    assert all(22 < document["metrics"]["run.completion_us"] < 30 for document in documents)
