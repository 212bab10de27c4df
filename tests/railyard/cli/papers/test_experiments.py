# SPDX-License-Identifier: Apache-2.0
"""`railyard experiments`: what it prints and writes, and which exit code says what."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from harness.files import EXPERIMENTS
from papers.claims import Kind, named_claims, paper_files, read_claims
from papers.claims.form.schema import json_schema
from railyard.cli.papers.experiments import KindChoice

Railyard = Callable[..., tuple[int, str, str]]

MODEL = """\
from topologies.errors import RailyardError

def value(value, note):
    note("counting", 0.5)
    return {"figure": value}

def refuses():
    raise RailyardError("the fabric is too small", remedy="give a larger one")

def interrupted():
    raise KeyboardInterrupt

def never():
    raise AssertionError("nothing may run")

def picture():
    return "<svg>drawn</svg>"
"""

KNOWN = "expected: [19, 21], reason: 'since [so]', "


def claim(name: str, kind: str = "stated", more: str = "") -> str:
    """A claim that holds from 9 to 11."""
    about = f"text: about {name}, kind: {kind}, place: 'a paper, §1', unit: lanes, paper: 10, within: 1"
    return f"      {name}: {{{about}, value: figure, {more}mutation: {{scale: 2.5}}}}\n"


def check(name: str, value: float, *claims: str, long: bool = False, model: str = "value") -> str:
    """A check whose figure is `value`."""
    source = f"    model: model.py:{model}\n    title: title of {name}\n"
    if model == "value":
        source += f"    arguments: {{value: {value}}}\n    picture: model.py:picture\n"
    some = "".join(claims) or claim(f"{name}-claim")
    return f"  {name}:\n{source}    long: {str(long).lower()}\n    claims:\n{some}"


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")


@pytest.fixture
def having(railyard: Railyard, tmp_path: Path) -> Callable[..., tuple[int, str, str]]:
    """Writes a file of checks and gives it to the command."""
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")

    def run(checks: Sequence[str], *arguments: str | Path) -> tuple[int, str, str]:
        text = f"name: my-paper\ntitle: What a paper says\nchecks:\n{''.join(checks)}"
        (tmp_path / "paper.yaml").write_text(text, encoding="utf-8")
        return railyard("experiments", tmp_path / "paper.yaml", "--jobs", "1", *arguments)

    return run


def test_there_is_a_choice_for_every_kind():
    assert [kind.value for kind in KindChoice] == [kind.value for kind in Kind]


def test_papers_and_experiments_go_by_name(railyard: Railyard):
    assert list(paper_files()) == ["crux", "hpn", "lumoscore", "rail-only", "ub-mesh"]
    code, out, _ = railyard("experiments")
    assert code == 0
    for name, path in named_claims().items():
        assert name in out
        assert read_claims(path).name == name
    code, _, err = railyard("experiments", "ub-mash")
    assert code == 2
    assert "is neither a file nor the name of a paper or an experiment; did you mean 'ub-mesh'" in err


def test_a_scenario_is_told_from_a_file_of_claims(railyard: Railyard):
    code, _, err = railyard("experiments", str(EXPERIMENTS / "01_first_train" / "scenario.yaml"))
    assert code == 2
    assert len(err.splitlines()) == 1
    assert "is a scenario and has no claims; `railyard run " in err


def test_the_schema_is_printed(railyard: Railyard):
    code, out, _ = railyard("experiments", "--schema")
    assert (code, out) == (0, json_schema())


def test_the_table_the_files_and_the_picture(having: Railyard, tmp_path: Path):
    checks = [check("first", 10.0), check("slow", 10.0, long=True)]
    code, out, err = having(checks, "--out", tmp_path / "out")
    assert code == 0, err
    assert "What a paper says" in out
    assert re.search(r"about first-claim +10 lanes +a paper, §1 +stated +9 to 11 lanes +10 lanes +holds", out)
    assert "1 of 1 figures that the paper states hold" in out
    assert "not run, add --long: slow" in out
    assert "1 of 1, first: counting" in err
    document = json.loads((tmp_path / "out" / "experiments.json").read_text())
    assert document["passed"] is True
    assert document["finished"] is True
    assert document["not_run"] == ["slow"]
    assert document["counts"] == {"stated": {"holds": 1}}
    assert document["checks"][0]["claims"][0] == {
        "name": "first-claim",
        "claim": "about first-claim",
        "place": "a paper, §1",
        "kind": "stated",
        "unit": "lanes",
        "paper": [10, 10],
        "holds": [9, 11],
        "expected": None,
        "value": 10.0,
        "confidence": None,
        "samples": 1,
        "detail": "",
        "verdict": "holds",
        "reason": "",
        "mutation": "the value times 2.5",
    }
    assert (tmp_path / "out" / "first.svg").read_text() == "<svg>drawn</svg>\n"
    assert not (tmp_path / "out" / "slow.svg").exists()
    page = (tmp_path / "out" / "experiments.html").read_text()
    assert "<svg>drawn</svg>" in page
    assert 'id="kind-stated"' in page


def test_without_a_folder_results_go_to_a_folder_of_the_files_name(having: Railyard, tmp_path: Path):
    assert having([check("first", 10.0)])[0] == 0
    assert (tmp_path / "results" / "my-paper" / "experiments.json").is_file()


@pytest.mark.parametrize(
    ("value", "known", "code", "told"),
    [
        (20.0, False, 1, "unexpected"),
        (20.0, True, 0, "known difference (1)"),
        (22.0, True, 1, "unexpected (1)"),
        (10.0, True, 1, "unexpected (1)"),
    ],
)
def test_a_difference_fails_unless_it_is_the_one_expected(
    having: Railyard, value: float, known: bool, code: int, told: str
):
    result, out, _ = having([check("first", value, claim("item", more=KNOWN if known else ""))])
    assert result == code
    assert told in out
    assert ("(1) since [so]" in out) is known


def test_kinds_are_counted_apart_and_stated_figures_first(having: Railyard):
    claims = (claim("paper"), claim("formula", "identity"), claim("ours", "derived"))
    out = having([check("first", 10.0, *claims)])[1]
    stated, derived = "1 of 1 figures that the paper states hold", "1 of 1 figures derived here hold"
    assert out.index(stated) < out.index(derived)
    assert "1 of 1 identities (no evidence) hold" in out


def test_a_kind_selects_rows_and_leaves_out_checks_without_it(having: Railyard):
    both = check("both", 10.0, claim("paper"), claim("ours", "derived"))
    code, out, _ = having([both, check("other", 0, model="refuses")], "--kind", "derived")
    assert code == 0
    assert "about ours" in out
    assert "about paper" not in out
    assert "title of other" not in out


def test_a_check_that_cannot_run_fails_and_hides_no_other(having: Railyard):
    code, out, _ = having([check("broken", 0, model="refuses"), check("first", 10.0)])
    assert code == 1
    assert "the fabric is too small; give a larger one" in " ".join(out.split())
    assert "about first-claim" in out


def test_an_interrupted_run_keeps_what_is_done(having: Railyard, tmp_path: Path):
    checks = [check("first", 10.0), check("second", 0, model="interrupted")]
    code, out, _ = having(checks, "--out", tmp_path / "out")
    assert code == 130
    assert "stopped: 1 of 2 checks are done" in out
    document = json.loads((tmp_path / "out" / "experiments.json").read_text())
    assert (document["finished"], document["not_run"]) == (False, ["second"])
    assert "Not all checks have run yet" in (tmp_path / "out" / "experiments.html").read_text()


def test_only_runs_what_is_named_however_long_it_takes(having: Railyard, tmp_path: Path):
    code, out, _ = having([check("first", 0.0), check("slow", 10.0, long=True)], "--only", "slow")
    assert code == 0
    assert "first" not in out
    document = json.loads((tmp_path / "results" / "my-paper" / "experiments.json").read_text())
    assert document["not_run"] == ["first"]


def test_long_runs_all(having: Railyard):
    code, out, _ = having([check("first", 10.0), check("slow", 10.0, long=True)], "--long")
    assert code == 0
    assert "about slow-claim" in out
    assert "not run" not in out


def test_mutate_lists_what_turns_and_fails_for_what_does_not(having: Railyard):
    code, out, _ = having([check("first", 10.0)], "--mutate")
    assert code == 0
    assert re.search(r"9 to 11 lanes +10 lanes +the value times 2.5 +25 lanes +turns", out)
    loose = claim("loose", "derived", "holds: [null, 100], ")
    code, out, _ = having([check("first", 10.0), check("second", 10.0, loose)], "--mutate")
    assert code == 1
    assert "does not turn" in out
    assert "1 of 2 mutations turn the verdict of their claim" in out


def test_list_runs_none(having: Railyard, tmp_path: Path):
    code, out, _ = having([check("broken", 0, model="never", long=True)], "--list")
    assert code == 0
    assert re.search(r"broken +long +1 +title of broken", out)
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("arguments", "told", "expected"),
    [
        (["--only", "firts"], "first", 2),
        (["--kind", "guessed"], "recalled", 2),
        (["--jobs", "0"], "jobs", 2),
        (["--out", "model.py/below"], "--out", 3),  # the machine's disk refuses
    ],
)
def test_bad_usage_names_the_remedy_and_runs_nothing(
    having: Railyard, arguments: Sequence[str], told: str, expected: int
):
    code, out, err = having([check("first", 0, model="never")], *arguments)
    assert code == expected
    assert "holds" not in out
    assert told in err
    assert "Traceback" not in err


def test_help_says_what_a_verdict_and_a_kind_is(railyard: Railyard):
    code, out, _ = railyard("experiments", "--help")
    assert code == 0
    for word in (
        "holds",
        "known difference",
        "unexpected",
        "identity",
        "--only",
        "--long",
        "--kind",
        "Exit code 1",
    ):
        assert word in out
