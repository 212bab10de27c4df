# SPDX-License-Identifier: Apache-2.0
"""The comparison with uet-htsim: the medians of its rounds, and a small plan that the engine runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.peers import uec
from bench.peers.timing import engine_times

PLAN = """two.cm
!Experiment Two flows
!Binary ./htsim_uec
!Param -sender_cc_only
!tailFCT 50
"""
MATRIX = "Nodes 16\nConnections 2\n0->5 id 1 start 0 size 20000\n5->0 id 2 start 0 size 20000\n"


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    (tmp_path / "two.cm").write_text(MATRIX)
    (tmp_path / "plan.txt").write_text(PLAN)
    return tmp_path / "plan.txt"


def test_a_ratio_is_the_median_of_the_ratios_of_rounds() -> None:
    rounds = {
        "htsim": [(10.0, 9.0), (30.0, 9.0), (12.0, 9.0)],
        "threads 2": [(5.0, 9.0), (10.0, 3.0), (8.0, 9.0)],
    }
    result = uec.compare(rounds)
    assert result["htsim"] == {"wall_s": 12.0, "processor_s": 9.0}
    assert result["threads 2"] == {"wall_s": 8.0, "processor_s": 9.0}
    assert result["ratio, threads 2"] == {"wall": 2.0, "processor": 1.0}  # of 2.0, 3.0, 1.5; not 12 / 8


def test_the_engine_runs_an_experiment_of_a_plan_to_its_end(plan: Path, tmp_path: Path) -> None:
    wall, used = engine_times(uec.ready_of(plan, "Two flows", tmp_path / "scenario"), threads=1)
    assert wall > 0
    assert used > 0


def test_an_experiment_that_the_plan_lacks_is_named(plan: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no experiment 'Three flows'"):
        uec.ready_of(plan, "Three flows", tmp_path / "scenario")


def test_a_program_that_is_not_there_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / uec.PLAN).write_text(PLAN)
    monkeypatch.setattr("sys.argv", ["uec", "--uet", str(tmp_path), "--program", str(tmp_path / "htsim_uec")])
    with pytest.raises(SystemExit) as stopped:
        uec.main()
    assert stopped.value.code == 2
    assert "htsim_uec: no such file" in capsys.readouterr().err
