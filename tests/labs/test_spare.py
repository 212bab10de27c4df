"""Lab 4: the starter, the solutions and wrong controllers, each a finsy client of a running rack."""

from pathlib import Path

import pytest

from tests.labs.classroom import passing, solution, starter, verdicts

LAB = "04_spare"
REACHED, SUMS, ECONOMY = "reached", "sums", "economy"

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


def test_the_starter_reads_a_table_and_fails_all_stages(tmp_path: Path):
    result = verdicts(LAB, starter(LAB), tmp_path)
    assert not any(verdict.passed for verdict in result.values())
    assert "0 of 8 arrived there" in result[REACHED].observed


@pytest.mark.parametrize("seed", [1, pytest.param(4, marks=pytest.mark.long)])
def test_the_solution_passes(seed: int, tmp_path: Path):
    assert passing(LAB, solution(LAB), tmp_path, seed) == [REACHED, SUMS, ECONOMY]


def test_the_first_solution_brings_a_student_to_the_last_stage(tmp_path: Path):
    assert passing(LAB, solution(LAB, REACHED), tmp_path) == [REACHED, SUMS]


@pytest.mark.long(*[name for name in MUTANTS if name not in ("the spare forgotten", "a program loaded anew")])
@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_controller_fails(name: str, tmp_path: Path):
    old, new, stages = MUTANTS[name]
    code = solution(LAB)["controller.py"]
    assert old in code
    # npu1 fails with seed 1, and npu4 with seed 2.
    assert passing(LAB, {"controller.py": code.replace(old, new)}, tmp_path, 2) == stages
