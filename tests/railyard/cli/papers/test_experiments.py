# SPDX-License-Identifier: Apache-2.0
"""`railyard experiments`: what it prints and writes, and which exit code says what."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import papers.claims
from papers.claims import PAPERS, Check, Claim, Interval, Kind, Progress, Values, checks
from papers.claims.declare import at_most, between, derived, scaled
from railyard.cli.papers.experiments import KindChoice, Paper
from topologies.errors import RailyardError

Railyard = Callable[..., tuple[int, str, str]]
Having = Callable[..., None]


def claim(name: str, kind: Kind = Kind.stated, *, known: bool = False) -> Claim:
    return Claim(
        name=name,
        text=f"about {name}",
        place="a paper, §1",
        kind=kind,
        unit="lanes",
        paper=Interval(10, 10),
        holds=between(9, 11),
        expected=between(19, 21) if known else None,
        reason="since [so]" if known else "",
        mutation=scaled(2.5),
    )


def check(name: str, value: float, *claims: Claim, long: bool = False) -> Check:
    """A check that measures `value` for each of its claims."""
    some = claims or (claim(f"{name}-claim"),)

    def measure(note: Progress) -> Values:
        note("counting", 0.5)
        return dict.fromkeys((item.name for item in some), value)

    return Check(name, "ub-mesh", f"title of {name}", some, measure, long, lambda: f"<svg>{name}</svg>")


def refuses(note: Progress) -> Values:
    raise RailyardError("the fabric is too small", remedy="give a larger one")


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")


@pytest.fixture
def having(monkeypatch: pytest.MonkeyPatch) -> Having:
    """Puts checks in the place of those there are."""

    def put(*some: Check) -> None:
        monkeypatch.setattr(papers.claims, "checks", lambda paper: some)

    return put


def test_there_is_a_choice_for_every_paper_and_every_kind():
    assert {paper.value for paper in Paper} == set(PAPERS)
    assert [kind.value for kind in KindChoice] == [kind.value for kind in Kind]


@pytest.mark.parametrize("paper", PAPERS)
def test_checks_are_named_once_by_slugs_and_belong_to_their_paper(paper: str):
    some = checks(paper)
    names = [item.name for item in some]
    assert len(set(names)) == len(names)
    assert {item.paper for item in some} == {paper}
    for entry in some:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", entry.name)
        assert entry.title


def test_a_paper_that_is_not_there():
    with pytest.raises(KeyError):
        checks("no-such-paper")


def test_the_table_the_files_and_the_picture(railyard: Railyard, having: Having, tmp_path: Path):
    having(check("first", 10.0), check("slow", 10.0, long=True))
    code, out, err = railyard("experiments", "--paper", "ub-mesh", "--out", tmp_path / "out")
    assert code == 0, err
    assert "UB-Mesh" in out
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
    assert (tmp_path / "out" / "first.svg").read_text() == "<svg>first</svg>\n"
    assert not (tmp_path / "out" / "slow.svg").exists()
    page = (tmp_path / "out" / "experiments.html").read_text()
    assert "<svg>first</svg>" in page
    assert 'id="kind-stated"' in page


def test_without_a_folder_results_go_to_a_folder_of_the_papers_name(
    railyard: Railyard, having: Having, tmp_path: Path
):
    having(check("first", 10.0))
    assert railyard("experiments")[0] == 0
    assert (tmp_path / "results" / "ub-mesh" / "experiments.json").is_file()


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
    railyard: Railyard, having: Having, value: float, known: bool, code: int, told: str
):
    having(check("first", value, claim("item", known=known)))
    result, out, _ = railyard("experiments")
    assert result == code
    assert told in out
    assert ("(1) since [so]" in out) is known


def test_kinds_are_counted_apart_and_stated_figures_first(railyard: Railyard, having: Having):
    having(check("first", 10.0, claim("paper"), claim("formula", Kind.identity), claim("ours", Kind.derived)))
    out = railyard("experiments")[1]
    assert out.index("1 of 1 figures that the paper states hold") < out.index(
        "1 of 1 figures derived here hold"
    )
    assert "1 of 1 identities (no evidence) hold" in out


def test_a_kind_selects_rows_and_leaves_out_checks_without_it(
    railyard: Railyard, having: Having, tmp_path: Path
):
    having(
        check("both", 10.0, claim("paper"), claim("ours", Kind.derived)),
        Check("other", "ub-mesh", "of another kind", (claim("stated"),), refuses),
    )
    code, out, _ = railyard("experiments", "--kind", "derived")
    assert code == 0
    assert "about ours" in out
    assert "about paper" not in out
    assert "of another kind" not in out


def test_a_check_that_cannot_run_fails_and_hides_no_other(railyard: Railyard, having: Having):
    broken = Check("broken", "ub-mesh", "about what breaks", (claim("item"),), refuses)
    having(broken, check("first", 10.0))
    code, out, _ = railyard("experiments")
    assert code == 1
    assert "the fabric is too small; give a larger one" in " ".join(out.split())
    assert "about first-claim" in out


def test_an_interrupted_run_keeps_what_is_done(railyard: Railyard, having: Having, tmp_path: Path):
    def interrupted(note: Progress) -> Values:
        raise KeyboardInterrupt

    having(check("first", 10.0), Check("second", "ub-mesh", "stopped", (claim("item"),), interrupted))
    code, out, _ = railyard("experiments", "--out", tmp_path / "out")
    assert code == 130
    assert "stopped: 1 of 2 checks are done" in out
    document = json.loads((tmp_path / "out" / "experiments.json").read_text())
    assert (document["finished"], document["not_run"]) == (False, ["second"])
    assert "Not all checks have run yet" in (tmp_path / "out" / "experiments.html").read_text()


def test_only_runs_what_is_named_however_long_it_takes(railyard: Railyard, having: Having, tmp_path: Path):
    having(check("first", 0.0), check("slow", 10.0, long=True))
    code, out, _ = railyard("experiments", "--only", "slow")
    assert code == 0
    assert "first" not in out
    document = json.loads((tmp_path / "results" / "ub-mesh" / "experiments.json").read_text())
    assert document["not_run"] == ["first"]


def test_long_runs_all(railyard: Railyard, having: Having):
    having(check("first", 10.0), check("slow", 10.0, long=True))
    code, out, _ = railyard("experiments", "--long")
    assert code == 0
    assert "about slow-claim" in out
    assert "not run" not in out


def test_mutate_lists_what_turns_and_fails_for_what_does_not(railyard: Railyard, having: Having):
    having(check("first", 10.0))
    code, out, _ = railyard("experiments", "--mutate")
    assert code == 0
    assert re.search(r"9 to 11 lanes +10 lanes +the value times 2.5 +25 lanes +turns", out)
    loose = derived("loose", "whatever comes out", at_most(100), "lanes", scaled(2), place="a paper")
    having(check("first", 10.0), check("second", 10.0, loose))
    code, out, _ = railyard("experiments", "--mutate")
    assert code == 1
    assert "does not turn" in out
    assert "1 of 2 mutations turn the verdict of their claim" in out


def test_list_runs_none(railyard: Railyard, having: Having, tmp_path: Path):
    having(Check("broken", "ub-mesh", "about what breaks", (claim("item"),), refuses, long=True))
    code, out, _ = railyard("experiments", "--list")
    assert code == 0
    assert re.search(r"broken +long +1 +about what breaks", out)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "told", "expected"),
    [
        (["--only", "firts"], "first", 2),
        (["--paper", "ub-mash"], "ub-mesh", 2),
        (["--kind", "guessed"], "recalled", 2),
        (["--out", "file/below"], "--out", 3),  # the machine's disk refuses
    ],
)
def test_bad_usage_names_the_remedy_and_runs_nothing(
    railyard: Railyard, having: Having, tmp_path: Path, arguments: Sequence[str], told: str, expected: int
):
    (tmp_path / "file").touch()
    stops = Check("first", "ub-mesh", "it", (claim("item"),), lambda note: pytest.fail("nothing may run"))
    having(stops)
    code, out, err = railyard("experiments", *arguments)
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
