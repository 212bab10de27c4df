# SPDX-License-Identifier: Apache-2.0
"""The command in a process of its own: exit codes, and the results that it writes."""

from pathlib import Path

from railyard.command import railyard, result_of

SCENARIO = """
name: mesh
title: A mesh
topology: {name: full-mesh, dims: [2, 2]}
collective: {kind: allreduce, algorithm: direct, elements: 64}
"""


def test_a_check_gets_the_exit_code_of_the_command() -> None:
    assert railyard("list", "ub-rack") == 0
    assert railyard("check", "absent.yaml") == 2


def test_a_run_returns_its_result_and_leaves_files_only_where_asked(tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(SCENARIO)
    code, result = result_of(scenario, folder=tmp_path / "out")
    assert code == 0
    assert result["metrics"]["run.correct_npus"] == 4
    assert (tmp_path / "out" / "result.json").exists()
    assert result_of(scenario) == (code, result)


def test_a_refused_scenario_has_no_result(tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(SCENARIO + "absent: 1\n")
    assert result_of(scenario) == (2, {})
