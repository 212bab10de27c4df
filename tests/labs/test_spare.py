"""Lab 4: the starter, the solutions, and wrong sessions and controllers, each a client of a running rack."""

from pathlib import Path

import pytest

from harness.lessons import catalogue
from harness.lessons.attempt import Verdict
from harness.lessons.catalogue import find_lab
from tests.labs.classroom import passing, solution, starter, verdicts

LAB = "04_spare"
BY_HAND, REACHED, SUMS, ECONOMY = "by-hand", "reached", "sums", "economy"

needs_shell = pytest.mark.skipif(
    bool(find_lab(LAB).stage(BY_HAND).lacking()), reason="p4runtime-shell: `scripts/shell.sh install`"
)


@pytest.fixture
def no_shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Leave out p4runtime-shell, which takes seconds to start."""
    monkeypatch.setitem(catalogue._PLACES, "p4runtime-shell", tmp_path / "none")


LOOP = "    for name, port in ports.items():\n"
REBOOT = (
    "    from harness.files import PROGRAMS\n"
    "    files = {'p4info': PROGRAMS / 'ub_npu.p4info.txtpb', 'p4blob': PROGRAMS / 'ub_npu.json'}\n"
    "    everything = fy.SwitchOptions(device_id=1, p4force=True, **files)\n"
    "    async with fy.Switch('npu0', address, everything):\n        pass\n"
)

# Wrong answers: a replacement in the last solution, and the stages that pass nevertheless.
MUTANTS = {
    "the spare forgotten": ("ports = {spare: 0, above", "ports = {above", [ECONOMY]),
    "the switch above forgotten": (', above: nodes[above]["ports"][spare]}', "}", [ECONOMY]),
    "no switch of a board": ('name.startswith("lrs") and', "False and", [ECONOMY]),
    "up by the first port": ('node["ports"][above]', 'min(node["ports"].values())', [ECONOMY]),
    "no neighbour told": ('name.startswith("npu") and', "False and", [ECONOMY]),
    "npu1 by name": ("failed, spare))", "'npu1', spare))", []),
    "every NPU told": (' and failed in node["ports"]', "", [REACHED, SUMS]),
    "each entry written thrice": ("modify([entry])", "modify([entry] * 3)", [REACHED, SUMS]),
    "inserted": ("modify([entry])", "insert([entry])", []),
    "a program loaded anew": (LOOP, REBOOT + LOOP, []),
    "nothing at all": ("ports.items()", "()", []),
}


# Wrong sessions: a replacement in the solution, and words of the verdict.
SESSIONS = {
    "nothing typed": ("te.modify()", "", "no entry has changed"),
    "inserted": ("te.modify()", "te.insert()", "ALREADY_EXISTS"),
    "the entry of npu6": ('"index"] = "2"', '"index"] = "3"', "frames for npu6 take another port"),
    "the port of the address": ('"port"] = "7"', '"port"] = "9"', "the frame is lost"),
    "the other switch above": ('"port"] = "7"', '"port"] = "5"', "the frame takes port 5"),
    "an entry besides": (
        "te.modify()",
        'te.modify()\nte.match["index"] = "8"\nte.insert()',
        "3 entries of linear are new or gone",
    ),
    "deleted": ("te.modify()", "te.delete()", "the frame is lost"),
    "no shell command": ("te.modify()", "te.modifies()", "AttributeError"),
    "a program of the system": ("te.modify()", "!touch /tmp/outside", "no entry has changed"),
}


@needs_shell
@pytest.mark.long(*[name for name in SESSIONS if name != "inserted"])
@pytest.mark.parametrize("name", SESSIONS)
def test_a_wrong_session_fails(name: str, tmp_path: Path):
    old, new, words = SESSIONS[name]
    lines = solution(LAB)["session.txt"]
    assert lines.count(old) == 1
    verdict = judged(lines.replace(old, new), tmp_path)
    assert not verdict.passed
    assert words in verdict.observed


@needs_shell
def test_the_solution_typed_by_hand_passes(tmp_path: Path):
    verdict = judged(solution(LAB, BY_HAND)["session.txt"], tmp_path)
    assert verdict.passed
    assert "port 7" in verdict.observed


def judged(session: str, folder: Path) -> Verdict:
    """Verdict of the first stage on a session, without the stages that follow."""
    files = {"session.txt": session, "controller.py": ""}
    return verdicts(LAB, files, folder)[BY_HAND]


@pytest.mark.usefixtures("no_shell")
def test_without_the_shell_the_other_stages_are_checked(tmp_path: Path):
    verdict = verdicts(LAB, solution(LAB), tmp_path)[BY_HAND]
    assert not verdict.checked
    assert verdict.observed == "not checked: stage by-hand needs p4runtime-shell, which is not installed"
    assert "scripts/shell.sh install" in verdict.look


@pytest.mark.usefixtures("no_shell")
def test_the_starter_reads_a_table_and_fails_all_stages(tmp_path: Path):
    result = verdicts(LAB, starter(LAB), tmp_path)
    assert not any(verdict.passed for verdict in result.values())
    assert "0 of 8 arrived there" in result[REACHED].observed


@pytest.mark.usefixtures("no_shell")
@pytest.mark.parametrize("seed", [1, pytest.param(4, marks=pytest.mark.long)])
def test_the_solution_passes(seed: int, tmp_path: Path):
    assert passing(LAB, solution(LAB), tmp_path, seed) == [REACHED, SUMS, ECONOMY]


@pytest.mark.usefixtures("no_shell")
def test_the_first_controller_brings_a_student_to_the_last_stage(tmp_path: Path):
    assert passing(LAB, solution(LAB, REACHED), tmp_path) == [REACHED, SUMS]


@pytest.mark.usefixtures("no_shell")
@pytest.mark.long(*[name for name in MUTANTS if name not in ("the spare forgotten", "a program loaded anew")])
@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_controller_fails(name: str, tmp_path: Path):
    old, new, stages = MUTANTS[name]
    code = solution(LAB)["controller.py"]
    assert old in code
    # npu1 fails with seed 1, and npu4 with seed 2.
    files = {"session.txt": "", "controller.py": code.replace(old, new)}
    assert passing(LAB, files, tmp_path, 2) == stages
