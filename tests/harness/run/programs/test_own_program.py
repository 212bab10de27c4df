"""Scenarios that run a P4 program of the user's own in place of a built-in program."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from controller.p4runtime.client import ProgramFiles
from harness.errors import ScenarioError
from harness.files import PROGRAMS
from harness.run.prepare import prepare
from harness.run.programs.own_program import own_program
from harness.run.runner import observe
from harness.scenario.loader import load

HEAD = """\
name: own
topology: {name: full-mesh, dims: [2, 2]}
collective: {elements: 16384, payload_bytes: 1024}
"""
COMPILED, P4INFO = PROGRAMS / "ub_npu.json", PROGRAMS / "ub_npu.p4info.txtpb"
Write = Callable[[str], Path]


def own(folder: Path, change: Callable[[dict], None]) -> None:
    """Write the built-in program, changed, as mine.json with its p4info."""
    program = json.loads(COMPILED.read_text())
    change(program)
    (folder / "mine.json").write_text(json.dumps(program))
    shutil.copy(P4INFO, folder / "mine.p4info.txtpb")


def deaf(program: dict) -> None:
    """Let the ingress look at nothing, so that every frame goes out of port 0."""
    program["pipelines"][0]["init_table"] = None


@pytest.mark.parametrize(("change", "right"), [(lambda program: None, 4), (deaf, 0)])
def test_nodes_run_it(write: Write, change: Callable[[dict], None], right: int):
    path = write(HEAD + "program: {ub_npu: {file: mine.json}}\n")
    own(path.parent, change)
    (ready,) = prepare(*load(path))
    seen = observe(ready, 1)
    assert seen.correct_nodes == right
    assert bool(seen.first_wrong) == (right == 0)


def test_its_own_entries_join_those_of_the_plan(write: Write):
    row = {"table": "segment", "match": {"dcna": [4096, 16]}, "action": "set_segment"}
    rows = json.dumps({"npu1": [{**row, "params": {"base": 0, "shift": 0, "mask": 0}}]})
    path = write(HEAD + "program: {ub_npu: {file: mine.json, entries: rows.json}}\n")
    own(path.parent, lambda program: None)
    (path.parent / "rows.json").write_text(rows)
    (ready,) = prepare(*load(path))
    assert {node: len(entries) for node, entries in ready.own.entries.items() if entries} == {"npu1": 1}
    assert observe(ready, 1).correct_nodes == 4


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("{ub_nup: {file: mine.json}}", "runs a program 'ub_nup'; replace ub_npu"),
        ("{ub_npu: {file: other.json}}", "other.json: the file cannot be read: No such file or directory"),
        ("{ub_npu: {file: other.p4}}", "other.p4: the file does not exist; give the path of a P4 program"),
        (
            "{ub_npu: {file: mine.json, entries: rows.json}}",
            "rows.json cannot be read: No such file or directory",
        ),
        ("{ub_npu: {fil: mine.json}}", "unknown key 'fil' in program.ub_npu; did you mean 'file'?"),
    ],
)
def test_a_wrong_one_is_refused_with_its_line(write: Write, program: str, told: str):
    path = write(f"{HEAD}program: {program}\n")
    own(path.parent, lambda program: None)
    with pytest.raises(ScenarioError, match=r"scenario.yaml:4: ") as refused:
        prepare(*load(path))
    assert told in str(refused.value)


def test_a_program_without_a_table_of_the_plan_is_refused(write: Write):
    path = write(HEAD + "program: {ub_npu: {file: mine.json}}\n")
    own(path.parent, lambda program: None)
    p4info = path.parent / "mine.p4info.txtpb"
    p4info.write_text(p4info.read_text().replace('alias: "all_path"', 'alias: "some_path"'))
    with pytest.raises(ScenarioError, match=r"table all_path is not in the p4info.*keep the tables"):
        prepare(*load(path))


@pytest.mark.skipif(shutil.which("p4c-bm2-ss") is None, reason="p4c compiles the source; it is not installed")
def test_a_source_is_compiled():
    built_in = ProgramFiles(COMPILED.read_bytes(), P4INFO.read_bytes())
    compiled = own_program(PROGRAMS.parent / "ub_npu.p4", None)
    assert compiled.p4info == built_in.p4info
    tables = [
        [table["name"] for line in json.loads(files.json)["pipelines"] for table in line["tables"]]
        for files in (compiled, built_in)
    ]
    assert tables[0] == tables[1]
