# SPDX-License-Identifier: Apache-2.0
"""railyard import and export: what is imported runs, what is exported reads as the same."""

import json
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from emulation.errors import EmulationError
from emulation.traffic.collectives.declaration import Request
from emulation.traffic.collectives.registry import find
from harness.formats.msccl.write import to_msccl
from harness.formats.registry import read_files
from railyard.cli import app
from tests.harness.formats.samples import GOAL, MATRIX, case, ring
from topologies import full_mesh, ub_rack
from topologies.sources.exports import to_containerlab, to_dot, to_graphml
from topologies.sources.files import read_fabric


def _import_and_run(name: str, source: Path, folder: Path) -> dict[str, float]:
    imported = CliRunner().invoke(app, ["import", name, str(source), "--out", str(folder)])
    assert imported.exit_code == 0, imported.output
    ran = CliRunner().invoke(
        app, ["run", str(folder / "scenario.yaml"), "--out", str(folder / "out"), "--quiet", "--no-report"]
    )
    assert ran.exit_code == 0, ran.output
    metrics: dict[str, float] = json.loads((folder / "out" / "result.json").read_text())["metrics"]
    return metrics


def test_a_ring_of_msccl_runs(tmp_path: Path) -> None:
    source = tmp_path / "ring.xml"
    source.write_text(ring(4))
    metrics = _import_and_run("msccl", source, tmp_path / "ring")
    assert metrics["run.correct_npus"] == 4
    # 6 steps with a chunk of 4,096 bytes, over one or two links of 400 Gbit/s, and what headers and hops add.
    assert 6 * 4096 * 8 / 400e3 < metrics["run.completion_us"] < 18 * 4096 * 8 / 400e3


def test_a_matrix_of_htsim_runs(tmp_path: Path) -> None:
    source = tmp_path / "flows.cm"
    source.write_text(MATRIX)
    assert _import_and_run("htsim", source, tmp_path / "flows")["run.correct_npus"] == 4


def test_a_goal_file_runs(tmp_path: Path) -> None:
    source = tmp_path / "few.goal"
    source.write_text(GOAL)
    assert _import_and_run("goal", source, tmp_path / "few")["run.correct_npus"] == 3


def test_a_case_of_ns3_ub_runs_with_its_slow_port(tmp_path: Path) -> None:
    (tmp_path / "case").mkdir()
    metrics = _import_and_run("ns-3-ub", case(tmp_path / "case"), tmp_path / "run")
    assert metrics["run.correct_npus"] == 3
    assert metrics["run.completion_us"] > 1, "the link of node 2 takes 1 us"


def test_a_folder_with_a_scenario_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "scenario.yaml").write_text("mine")
    source = tmp_path / "few.goal"
    source.write_text(GOAL)
    result = CliRunner().invoke(app, ["import", "goal", str(source), "--out", str(tmp_path)])
    assert result.exit_code != 0
    assert (tmp_path / "scenario.yaml").read_text() == "mine"
    assert not (tmp_path / "graph.json").exists()


def test_graphml_reads_as_the_same_fabric(tmp_path: Path) -> None:
    path = tmp_path / "rack.graphml"
    path.write_text(to_graphml(ub_rack()))
    read = read_fabric(path)

    def links(fabric: object) -> set[tuple[object, ...]]:
        return {(a.a, a.b, a.rate_bps, a.delay_ps) for a in fabric.links}  # type: ignore[attr-defined]

    assert links(read) == links(ub_rack())


def test_dot_and_containerlab_have_every_link() -> None:
    fabric = full_mesh((2, 2))
    assert to_dot(fabric).count(" -- ") == len(fabric.links)
    assert '"npu0" -- "npu1"' in to_dot(fabric)
    assert '- endpoints: ["npu0:eth1", "npu1:eth1"]' in to_containerlab(fabric)


@pytest.mark.parametrize(
    "algorithm", [each.name for each in find("allreduce").algorithms if not each.in_switches]
)
def test_each_allreduce_of_ours_is_proved_as_msccl(tmp_path: Path, algorithm: str) -> None:
    # Idle links of rings join into a cycle in meshes with lines of an even number of NPUs only.
    grid = (5,) if algorithm.endswith("rings") else (4, 4) if algorithm == "multi-ring" else (2, 3)
    build = next(each for each in find("allreduce").algorithms if each.name == algorithm).build
    path = tmp_path / "ours.xml"
    path.write_text(to_msccl(build(Request(grid, 7200)), algorithm))
    imported = read_files("msccl", [path])
    assert "Every GPU ends with the result of allreduce." in imported.notes


@pytest.mark.parametrize("grid", [(5,), (2, 3), (4, 4)])
@pytest.mark.parametrize(
    "algorithm", [each.name for each in find("all-gather").algorithms if not each.in_switches]
)
def test_each_all_gather_of_ours_is_proved_as_msccl(
    tmp_path: Path, algorithm: str, grid: tuple[int, ...]
) -> None:
    build = next(each for each in find("all-gather").algorithms if each.name == algorithm).build
    path = tmp_path / "ours.xml"
    path.write_text(to_msccl(build(Request(grid, 7200)), algorithm, "all-gather"))
    imported = read_files("msccl", [path])
    assert "Every GPU ends with the result of allgather." in imported.notes


@pytest.mark.parametrize("grid", [(5,), (2, 3), (4, 4)])
@pytest.mark.parametrize(
    "algorithm", [each.name for each in find("all-gather").algorithms if not each.in_switches]
)
def test_a_public_checker_runs_each_all_gather_of_ours(
    tmp_path: Path, request: pytest.FixtureRequest, algorithm: str, grid: tuple[int, ...]
) -> None:
    """The checker of dromniscience/MSCCL-XML-Verifier carries a file out with a thread a threadblock."""
    checker = request.config.getoption("--msccl-verifier")
    if checker is None:
        pytest.skip(
            "needs the allgather-verifier of dromniscience/MSCCL-XML-Verifier: --msccl-verifier PROGRAM"
        )
    build = next(each for each in find("all-gather").algorithms if each.name == algorithm).build
    path = tmp_path / "ours.xml"
    text = to_msccl(build(Request(grid, 7200)), algorithm, "all-gather")
    path.write_text(text)
    command = [checker, str(path), "20"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "All tests passed." in done.stdout, done.stderr
    path.write_text(text.replace('dstbuf="o" dstoff="1"', 'dstbuf="o" dstoff="0"', 1))
    assert subprocess.run(command, capture_output=True, check=False).returncode != 0


def test_an_all_gather_of_unequal_shares_is_refused() -> None:
    build = find("all-gather").algorithms[0].build
    with pytest.raises(EmulationError, match="do not begin with equal shares"):
        to_msccl(build(Request((5,), 7201)), "uneven", "all-gather")


def test_export_names_what_it_knows(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["export", "gml", "ub-rack", "--out", str(tmp_path / "x")])
    assert "give graphml, dot, containerlab, msccl or chakra" in str(result.exception)
