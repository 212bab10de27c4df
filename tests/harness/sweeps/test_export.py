# SPDX-License-Identifier: Apache-2.0
"""Results of runs and studies as one table, and the one-liners of the guide on them."""

import csv
import io
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
GUIDE = (ROOT / "docs" / "use" / "ci.md").read_text()
Railyard = Callable[..., tuple[int, str, str]]

TEXT = """\
name: small
topology: {name: full-mesh, dims: [2, 2]}
collective: {elements: 256, payload_bytes: 256}
variants: [{name: healthy}, {name: cut, faults: [{at_us: 0.02, link: npu0-npu1}]}]
assertions: [{metric: cut.npus, equals: 5, name: five NPUs}]
study: {set: {topology.dims: [2x2, 2x3]}, seeds: 1..2}
"""


@pytest.fixture
def folder(railyard: Railyard, write: Callable[[str], Path], tmp_path: Path) -> Path:
    """Results of a run and of two shards of a study; an assertion fails in each."""
    path = write(TEXT)
    assert railyard("run", path, "--no-report", "--quiet", "--out", "all/run")[0] == 1
    for number in (1, 2):
        out = f"all/part{number}"
        assert railyard("sweep", path, "--jobs", "1", "--shard", f"{number}/2", "--out", out)[0] == 1
    return tmp_path / "all"


def test_a_table_has_every_run_once_in_each_format(railyard: Railyard, folder: Path, tmp_path: Path):
    records = json.loads(railyard("results", folder, "--format", "json")[1])
    assert len(records) == 2 * 2 * 2 + 2
    assert records == json.loads(railyard("results", folder, folder / "run", "--format", "json")[1])
    assert {record["status"] for record in records if record["variant"] == "healthy"} == {"right"}
    assert {record["status"] for record in records if record["variant"] == "cut"} == {"fails"}
    dims = [record["topology.dims"] for record in records if "topology.dims" in record]
    assert sorted(dims) == ["2x2"] * 4 + ["2x3"] * 4
    rows = list(csv.DictReader(io.StringIO(railyard("results", folder)[1])))
    assert [float(row["completion_us"]) for row in rows] == [record["completion_us"] for record in records]
    assert rows[-1]["topology.dims"] == ""
    parquet = pytest.importorskip("pyarrow.parquet")
    code, out, _ = railyard("results", folder, "--format", "parquet", "--out", tmp_path / "t.parquet")
    assert (code, out) == (0, "")
    table = parquet.read_table(tmp_path / "t.parquet").to_pylist()
    assert [row["completion_us"] for row in table] == [record["completion_us"] for record in records]
    assert [row["seed"] for row in table] == [record["seed"] for record in records]
    assert railyard("results", folder, "--format", "parquet")[0] == 2
    code, _, err = railyard("results", tmp_path / "none")
    assert code == 2
    assert "no results of runs" in err


def one_liners() -> list[list[tuple[str, str]]]:
    """Comment and program of each line, block by block."""
    blocks = re.findall(r"```jq\n(.*?)```", GUIDE, flags=re.DOTALL)
    return [re.findall(r"^# (.*)\n(.*)$", block, flags=re.MULTILINE) for block in blocks]


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
def test_the_one_liners_of_the_guide_say_what_they_promise(railyard: Railyard, folder: Path):
    result = (folder / "run" / "result.json").read_text()
    table = railyard("results", folder / "part1", folder / "part2", "--format", "json")[1]

    def answers(programs: list[tuple[str, str]], text: str) -> dict[str, str]:
        return {
            comment: subprocess.run(
                ["jq", "-rc", program], input=text, capture_output=True, text=True, check=True
            ).stdout.strip()
            for comment, program in programs
        }

    of_result, of_table, of_incidents = one_liners()
    said = answers(of_result, result)
    document = json.loads(result)
    assert said["whether all assertions hold"] == "false"
    failed = said["assertions that fail: metric, value, comparison, limit"]
    assert failed == "cut.npus is 4, required == 5"
    times = dict(line.split() for line in said["one metric of each variant"].splitlines())
    assert float(times["cut"]) == document["metrics"]["cut.completion_us"]
    assert said["variants with a fault, and its time"] == "cut 0.02"
    rows = list(csv.reader(io.StringIO(said["metrics with units, as CSV"])))
    assert {row[0]: row[2] for row in rows}["healthy.completion_us"] == "us"
    assert len(rows) == len(document["metrics"])
    said = answers(of_table, table)
    assert json.loads(said["number of runs by status"]) == {"right": 4, "fails": 4}
    slowest = max(json.loads(table), key=lambda record: record["completion_us"])
    assert said["the slowest run"].split()[-1] == str(slowest["completion_us"])
    incidents = railyard("run", folder.parent / "scenario.yaml", "--incidents", "-", "--no-report")[1]
    metrics = json.loads(result)["metrics"]
    assert answers(of_incidents, incidents)["jobs that a fault halted or slowed, with their times"] == (
        f'"cut","job",{metrics["cut.completion_us"]},{metrics["healthy.completion_us"]}'
    )
