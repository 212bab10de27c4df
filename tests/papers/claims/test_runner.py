# SPDX-License-Identifier: Apache-2.0
"""The runner of claims: each figure once, read back, in processes, and under mutations."""

from pathlib import Path

import pytest

from harness.output import OutputFolder
from papers.claims import FigureStore, Runner, local, read_claims
from papers.claims.mutations import mutated
from tests.papers.claims.studies import CLAIMS, write_study


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_study(tmp_path / "study")


def calls() -> list[str]:
    return Path("calls.txt").read_text(encoding="utf-8").split()


def verdicts(path: Path, kept: FigureStore, processes: int = 1) -> dict[str, str]:
    runner = Runner(kept, local(), processes)
    rows = [row for done in runner.finished(read_claims(path).checks) for row in done.rows]
    return {row.claim.name: row.verdict for row in rows}


def test_a_figure_is_computed_once_however_many_claims_and_checks_read_it(study: Path):
    again = CLAIMS[CLAIMS.index("  mesh:\n") : CLAIMS.index("  ring:\n")].replace("mesh:", "mesh-again:")
    study.write_text(CLAIMS + again, encoding="utf-8")
    assert set(verdicts(study, FigureStore()).values()) == {"holds"}
    assert calls() == ["4"]


def test_the_next_call_reads_figures_back_and_judges_changed_claims(study: Path, tmp_path: Path):
    output = OutputFolder(tmp_path)
    assert set(verdicts(study, FigureStore(output)).values()) == {"holds"}
    study.write_text(CLAIMS.replace("paper: 3}", "paper: 4}"), encoding="utf-8")
    assert verdicts(study, FigureStore(output))["degree"] == "unexpected"
    assert calls() == ["4"]
    study.write_text(CLAIMS.replace("{nodes: 4}", "{nodes: 5}"), encoding="utf-8")
    assert verdicts(study, FigureStore(output))["degree"] == "unexpected"
    assert calls() == ["4", "5"]
    verdicts(study, FigureStore(output, resume=False))
    assert calls() == ["4", "5", "5"]


def test_a_model_is_called_again_when_a_file_that_it_reads_changes(study: Path, tmp_path: Path):
    output, table = OutputFolder(tmp_path), study.parent / "table.csv"
    study.write_text(f"files: [table.csv]\n{CLAIMS}", encoding="utf-8")
    for text in ("1", "1", "2"):
        table.write_text(text, encoding="utf-8")
        verdicts(study, FigureStore(output))
    assert calls() == ["4", "4"]


def test_processes_give_the_same_rows(study: Path):
    assert verdicts(study, FigureStore(), processes=2) == verdicts(study, FigureStore())


def test_mutations_turn_and_share_their_figures(study: Path):
    checks = read_claims(study).checks
    turns = {
        turn.row.claim.name: (turn.value, turn.turned)
        for _, some in mutated(checks, Runner(FigureStore(), local()))
        for turn in some
    }
    assert turns["links"] == (3, True)
    assert turns["degree"] == (2, True)
    assert turns["both"] == (1.5, True)
    assert turns["half"] == (3, True)
    assert turns["slower"] == (1, True)
    assert calls() == ["4", "3"]


def test_a_model_that_raises_names_file_and_line_and_turns_a_mutation(study: Path):
    study.write_text(CLAIMS.replace("{nodes: 3}", "{nodes: 1}"), encoding="utf-8")
    mesh = read_claims(study).check("mesh")
    ((_, turns),) = mutated([mesh], Runner(FigureStore(), local()))
    assert all(turn.turned for turn in turns)
    study.write_text(CLAIMS.replace("{nodes: 4}", "{nodes: 1}"), encoding="utf-8")
    (done,) = Runner(FigureStore(), local()).finished([read_claims(study).check("mesh")])
    assert {row.verdict for row in done.rows} == {"unexpected"}
    assert "model.py:3: ValueError: a mesh has two nodes or more" in done.rows[0].trouble


def test_assertions_of_a_scenario_that_fail_are_a_row(study: Path):
    scenario = study.parent / "scenario.yaml"
    text = scenario.read_text(encoding="utf-8").replace("min: {metric: direct", "max: {metric: direct")
    scenario.write_text(text, encoding="utf-8")
    (done,) = Runner(FigureStore(), local()).finished([read_claims(study).check("ring")])
    row = done.rows[0]
    assert (row.claim.name, row.verdict) == ("assertions", "unexpected")
    assert row.measured is not None
    assert (row.measured.value, row.measured.detail) == (1, "a ring takes longer")


def test_runs_repeated_are_compared_and_failures_in_turn_are_counted(study: Path):
    extra = """\
  again:
    title: repeats
    scenario: scenario.yaml
    repeats: 2
    common: {kind: derived, place: here, mutation: {shift: 1}}
    claims:
      differing: {text: results that differ from the first run, holds: 0}
  cut:
    title: each link fails
    scenario: cut.yaml
    fail_each: link
    variants: [direct]
    common: {kind: derived, place: here, mutation: {shift: 1}}
    claims:
      runs: {text: links, holds: 6}
      correct_runs: {text: right runs, holds: 6}
"""
    scenario = (study.parent / "scenario.yaml").read_text(encoding="utf-8")
    fault = "faults: [{at_us: 0.1, link: npu0-npu1}]"
    cut = scenario.replace("algorithm: direct}", f"algorithm: direct}}\n    {fault}")
    (study.parent / "cut.yaml").write_text(cut, encoding="utf-8")
    study.write_text(CLAIMS[: CLAIMS.index("  mesh:")] + extra, encoding="utf-8")
    assert verdicts(study, FigureStore()) == {
        "assertions": "holds",
        "differing": "holds",
        "runs": "holds",
        "correct_runs": "holds",
    }
