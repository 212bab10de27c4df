"""Lab 7: the starter, the solutions of the stages and wrong settings and P4; the last stage needs p4c."""

import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from harness.lessons.catalogue import find_lab
from tests.labs.classroom import passing, solution, starter, verdicts

LAB = "07_dual_tor"
EVERY = ["bundle", "cut", "spread"]
LINE = "meta.ecmp_hash = (meta.ecmp_hash >> meta.shift) & meta.mask;"
FLOW = "meta.ecmp_hash = flow[15:0];"

needs_p4c = pytest.mark.skipif(shutil.which("p4c-bm2-ss") is None, reason="p4c is not installed")


@pytest.fixture
def no_p4c(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Leave no program on the PATH."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


def tors(first: str, second: str) -> str:
    return f"lacp_us: 4\nlacp_multiplier: 3\nlacp_tors:\n  - {{{first}}}\n  - {{{second}}}\n"


SYSTEM = 'system: "02:00:5e:00:01:01"'
ONE, TWO = f"{SYSTEM}, port_offset: 0", f"{SYSTEM}, port_offset: 256"
GOOD = tors(ONE, TWO)

# Settings, and the stages that pass.
SETTINGS = {
    "another address, from 256 on": (GOOD, ["bundle", "cut"]),
    "the other way round": (tors(TWO, ONE), ["bundle", "cut"]),
    "equal port numbers": (tors(ONE, ONE), []),
    "two systems": (tors(ONE, 'system: "02:00:5e:00:01:02", port_offset: 300'), []),
    "a long period": (GOOD.replace("lacp_us: 4", "lacp_us: 10"), ["bundle"]),
    "a short period": (GOOD.replace("lacp_us: 4", "lacp_us: 1"), ["bundle"]),
    "a large multiplier": (GOOD.replace("multiplier: 3", "multiplier: 9"), ["bundle"]),
}
LONG_SETTINGS = ("another address, from 256 on", "the other way round", "a large multiplier")

# Lines of P4 in place of the last choice, and of the hash.
PROGRAMS = {
    "one plane pinned": (LINE, "meta.ecmp_hash = 0;"),
    "one shift for all tiers": (LINE, "meta.ecmp_hash = (meta.ecmp_hash >> 4) & meta.mask;"),
    "a way by chance": (FLOW, "random(meta.ecmp_hash, 0, 16w0xFFFF);"),
    "lb in place of a hash": (FLOW, "meta.ecmp_hash = (bit<16>)hdr.nth.lb;"),
    "the source alone": ("{ hdr.nth.scna, hdr.nth.dcna, hdr.nth.lb }", "{ hdr.nth.scna }"),
    "no mask": (LINE, "meta.ecmp_hash = meta.shift == 0 ? 16w1 : meta.ecmp_hash;"),
}
LONG_PROGRAMS = ("no mask", "the source alone")


def parameters(names: dict[str, tuple[str, ...]] | dict[str, tuple[str, list[str]]], long: tuple[str, ...]):
    return [pytest.param(name, marks=[pytest.mark.long] * (name in long)) for name in names]


@pytest.mark.usefixtures("no_p4c")
def test_the_starter_fails_all_stages_and_needs_no_p4c(tmp_path: Path):
    result = verdicts(LAB, starter(LAB), tmp_path)
    assert not any(verdict.passed for verdict in result.values())
    assert all(verdict.checked for verdict in result.values())
    assert "chance of an even division as uneven" in result["spread"].observed


@needs_p4c
def test_the_shipped_starter_is_what_p4c_makes_of_it(tmp_path: Path):
    shipped = verdicts(LAB, starter(LAB), tmp_path)["spread"]
    files = {"lacp.yaml": "", "multipath.p4": starter(LAB)["multipath.p4"] + "// changed\n"}
    assert verdicts(LAB, files, tmp_path)["spread"] == shipped


@needs_p4c
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_the_solution_passes(seed: int, tmp_path: Path):
    assert passing(LAB, solution(LAB), tmp_path, seed) == EVERY


@pytest.mark.usefixtures("no_p4c")
@pytest.mark.parametrize(("stage", "stages"), [("bundle", ["bundle"]), ("cut", ["bundle", "cut"])])
def test_without_p4c_the_settings_are_checked(stage: str, stages: list[str], tmp_path: Path):
    program = solution(LAB)["multipath.p4"]
    results = verdicts(LAB, {**solution(LAB, stage), "multipath.p4": program}, tmp_path)
    assert [name for name, verdict in results.items() if verdict.passed] == stages
    assert not results["spread"].checked
    assert results["spread"].observed.startswith("not checked: a changed multipath.p4 needs p4c-bm2-ss")
    assert "p4lang-p4c" in results["spread"].look


@pytest.mark.usefixtures("no_p4c")
@pytest.mark.parametrize("name", parameters(SETTINGS, LONG_SETTINGS))
def test_settings(name: str, tmp_path: Path):
    settings, stages = SETTINGS[name]
    assert passing(LAB, {**starter(LAB), "lacp.yaml": settings}, tmp_path) == stages


@pytest.mark.usefixtures("no_p4c")
def test_a_drawn_cable_without_frames_is_judged_as_well(tmp_path: Path):
    """With two systems a NIC may leave the drawn cable idle, so its capture has no frame of the job."""
    cut = verdicts(LAB, starter(LAB), tmp_path, 1765290439)["cut"]
    assert "last frame or table change 294.0 µs later" in cut.observed


BOMB = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [*{a}, *{a}]\n" for a, b in pairwise("abcdefghijklmnopqrstuvwxyz")
)

# Settings, and words of the sentence about them.
UNREADABLE = {
    "a misspelt key": (GOOD.replace("multiplier", "multiple"), "unknown key 'lacp_multiple'"),
    "a missing key": (GOOD.replace("lacp_us: 4\n", ""), "lacp_us is missing"),
    "a tab": (f"lacp_us: 4\n\t{GOOD}", "lacp.yaml:2: no YAML: found character"),
    "nothing": ("", "lacp.yaml has no keys"),
    "one ToR": (GOOD[: GOOD.rindex("  -")], "lacp_tors.1: "),
    "no address": (GOOD.replace("02:00:5e:00:01:01", "02:00"), "'02:00' is not a MAC address"),
    "a flood": (GOOD.replace("lacp_us: 4", "lacp_us: 0.001"), "0.001 µs between two LACPDUs"),
    "an age": (GOOD.replace("lacp_us: 4", "lacp_us: 2000"), "2000 µs between two LACPDUs"),
    "aliases": (f"{BOMB}lacp_us: 4\n", "more than 100 values"),
    "aliases of a known key": (
        BOMB.replace("z: ", "lacp_tors: ").replace("a: ", "lacp_us: ", 1),
        "more than 100 values",
    ),
}


@pytest.mark.usefixtures("no_p4c")
@pytest.mark.parametrize("name", UNREADABLE)
def test_settings_that_are_not_tried_are_named(name: str, tmp_path: Path):
    settings, words = UNREADABLE[name]
    result = verdicts(LAB, {**starter(LAB), "lacp.yaml": settings}, tmp_path)
    assert words in result["bundle"].observed
    assert words in result["cut"].observed


@needs_p4c
@pytest.mark.parametrize("name", parameters(PROGRAMS, LONG_PROGRAMS))
def test_another_line_of_p4_fails(name: str, tmp_path: Path):
    old, new = PROGRAMS[name]
    program = solution(LAB)["multipath.p4"]
    assert program.count(old) == 1
    files = {"lacp.yaml": "", "multipath.p4": program.replace(old, new)}
    assert passing(LAB, files, tmp_path) == []


@needs_p4c
def test_an_error_of_p4c_is_shown_with_its_line(tmp_path: Path):
    program = solution(LAB)["multipath.p4"].replace(LINE, "meta.ecmp_hash = meta.ecmp_hashh;")
    verdict = verdicts(LAB, {"lacp.yaml": "", "multipath.p4": program}, tmp_path)["spread"]
    assert verdict.observed.startswith("p4c reports multipath.p4(")
    assert "ecmp_hashh" in verdict.observed


@pytest.mark.usefixtures("no_p4c")
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (GOOD + "hash: identical\n", "unknown key 'hash'"),
        (GOOD.replace("lacp_us: 4", "lacp_us: -1"), "lacp_us"),
        (GOOD.replace("multiplier: 3", "multiplier: 1"), "lacp_multiplier"),
        (GOOD.replace("02:00:5e", "01:00:5e"), "is a multicast address"),
        ("lacp_us: [", "no YAML"),
    ],
)
def test_settings_of_another_form_are_named(settings: str, words: str, tmp_path: Path):
    verdict = verdicts(LAB, {**starter(LAB), "lacp.yaml": settings}, tmp_path)["bundle"]
    assert not verdict.passed
    assert words in verdict.observed


def test_the_scenario_begins_with_the_settings_of_the_starter():
    folder = find_lab(LAB).starter
    control = (folder / "scenario.yaml").read_text().split("control:\n")[1]
    for line in (folder / "lacp.yaml").read_text().splitlines():
        assert line.startswith("#") or line.strip() in control
