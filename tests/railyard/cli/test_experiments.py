# SPDX-License-Identifier: Apache-2.0
"""`railyard experiments`: what it prints and writes, and which exit code says what."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import papers.claims
from papers.claims import PAPERS, Claim, Finding, Progress, Verdict, claims, passed
from railyard.cli.experiments import Paper
from topologies.errors import RailyardError

Railyard = Callable[..., tuple[int, str, str]]


def claim(name: str, *verdicts: Verdict, known: bool = False, long: bool = False) -> Claim:
    def run(note: Progress) -> Sequence[Finding]:
        note("counting", 0.5)
        return [
            Finding(f"{name} {verdict}", "a paper, §1", "1", "2", verdict, "since [so]", known)
            for verdict in verdicts
        ]

    return Claim(name, "ub-mesh", f"about {name}", run, long, picture=lambda: f"<svg>{name}</svg>")


def refuses(note: Progress) -> Sequence[Finding]:
    raise RailyardError("the fabric is too small", remedy="give a larger one")


@pytest.fixture
def having(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts claims in the place of those there are."""

    def put(*some: Claim) -> None:
        monkeypatch.setattr(papers.claims, "claims", lambda paper: some)

    return put


def test_there_is_a_choice_for_every_paper():
    assert {paper.value for paper in Paper} == set(PAPERS)


@pytest.mark.parametrize("paper", PAPERS)
def test_claims_are_named_once_by_slugs_and_belong_to_their_paper(paper: str):
    some = claims(paper)
    names = [item.name for item in some]
    assert len(set(names)) == len(names)
    assert {item.paper for item in some} == {paper}
    for entry in some:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", entry.name)
        assert entry.title


def test_a_paper_that_is_not_there():
    with pytest.raises(KeyError):
        claims("no-such-paper")


@pytest.mark.long("cables")
@pytest.mark.parametrize("name", ["parts", "cables", "cost", "availability", "linearity"])
def test_the_models_pass_and_tell_whose_figure_it_is(name: str):
    (item,) = (each for each in claims("ub-mesh") if each.name == name)
    findings = item.run(lambda stage, share: None)
    assert passed({name: findings})
    for finding in findings:
        assert finding.source
        if "fitted" in finding.ours:
            assert finding.verdict == "not judged"
            assert "no evidence" in finding.reason


def test_the_table_the_file_and_the_picture(railyard: Railyard, having: Callable[..., None], tmp_path: Path):
    having(claim("first", "holds", "not judged"), claim("slow", "holds", long=True))
    code, out, err = railyard("experiments", "--paper", "ub-mesh", "--out", tmp_path / "out")
    assert code == 0, err
    assert "UB-Mesh" in out
    assert "first holds" in out
    assert "(1) since [so]" in out
    assert "1 hold, 0 differ (0 of them unexpectedly), 1 not judged" in out
    assert "not run, add --long: slow" in out
    assert "1 of 1, first: counting" in err
    document = json.loads((tmp_path / "out" / "experiments.json").read_text())
    assert document["passed"] is True
    assert document["not_run"] == ["slow"]
    assert document["claims"][0]["findings"][0] == {
        "claim": "first holds",
        "source": "a paper, §1",
        "paper": "1",
        "ours": "2",
        "verdict": "holds",
        "reason": "since [so]",
        "known": False,
    }
    assert (tmp_path / "out" / "first.svg").read_text() == "<svg>first</svg>\n"
    assert not (tmp_path / "out" / "slow.svg").exists()


def test_without_a_folder_results_go_to_one_of_the_papers_name(
    railyard: Railyard, having: Callable[..., None], tmp_path: Path
):
    having(claim("first", "holds"))
    assert railyard("experiments")[0] == 0
    assert (tmp_path / "results" / "ub-mesh" / "experiments.json").is_file()


@pytest.mark.parametrize(("known", "expected"), [(False, 1), (True, 0)])
def test_a_difference_fails_unless_it_is_known(
    railyard: Railyard, having: Callable[..., None], known: bool, expected: int
):
    having(claim("first", "differs", known=known))
    code, out, _ = railyard("experiments")
    assert code == expected
    assert f"1 differ ({expected} of them unexpectedly)" in out


def test_a_claim_that_cannot_be_checked_fails_and_hides_no_other(
    railyard: Railyard, having: Callable[..., None]
):
    having(Claim("broken", "ub-mesh", "about what breaks", refuses), claim("first", "holds"))
    code, out, _ = railyard("experiments")
    assert code == 1
    assert "the fabric is too small; give a larger one" in out
    assert "first holds" in out


def test_only_checks_what_is_named_however_long_it_takes(
    railyard: Railyard, having: Callable[..., None], tmp_path: Path
):
    having(claim("first", "differs"), claim("slow", "holds", long=True))
    code, out, _ = railyard("experiments", "--only", "slow")
    assert code == 0
    assert "first" not in out
    document = json.loads((tmp_path / "results" / "ub-mesh" / "experiments.json").read_text())
    assert document["not_run"] == ["first"]


def test_long_checks_all(railyard: Railyard, having: Callable[..., None]):
    having(claim("first", "holds"), claim("slow", "holds", long=True))
    code, out, _ = railyard("experiments", "--long")
    assert code == 0
    assert "slow holds" in out
    assert "not run" not in out


def test_list_checks_none(railyard: Railyard, having: Callable[..., None], tmp_path: Path):
    having(Claim("broken", "ub-mesh", "about what breaks", refuses, long=True))
    code, out, _ = railyard("experiments", "--list")
    assert code == 0
    assert re.search(r"broken +long +about what breaks", out)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [(["--only", "firts"], "first"), (["--paper", "ub-mash"], "ub-mesh"), (["--out", "file/below"], "--out")],
)
def test_bad_usage_names_the_remedy_and_runs_nothing(
    railyard: Railyard, having: Callable[..., None], tmp_path: Path, arguments: Sequence[str], told: str
):
    (tmp_path / "file").touch()
    having(Claim("first", "ub-mesh", "about it", lambda note: pytest.fail("nothing may run")))
    code, out, err = railyard("experiments", *arguments)
    assert (code, out) == (2, "")
    assert told in err
    assert "Traceback" not in err


def test_help_says_what_a_verdict_is(railyard: Railyard):
    code, out, _ = railyard("experiments", "--help")
    assert code == 0
    for word in ("holds", "differs", "not judged", "--only", "--long", "--list", "Exit code 1"):
        assert word in out
