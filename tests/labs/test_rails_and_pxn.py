"""Lab 5: the starter, the solutions of the stages and wrong rows; the stage with captures needs tshark."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.lessons import catalogue
from tests.labs.classroom import passing, solution, starter, verdicts

LAB = "05_rails_and_pxn"
NIC = 4
EVERY = ["relay", "rails", "all-to-all", "grow"]

Rows = dict[str, list[dict[str, Any]]]


def without_captures(stages: list[str]) -> list[str]:
    return [stage for stage in stages if stage != "rails" or shutil.which("tshark")]


def pxn(rows: Rows, gpu: str) -> dict[int, dict[str, int]]:
    """Parameters of a GPU's rows of pxn, by rank."""
    return {row["match"]["index"]: row["params"] for row in rows[gpu] if row["table"] == "pxn"}


def all_to_nics(rows: Rows) -> None:
    for gpu in rows:
        for params in pxn(rows, gpu).values():
            params["port"] = NIC


def without_own_domain(rows: Rows) -> None:
    for own in rows.values():
        del own[0]


def same_rows_for_all(rows: Rows) -> None:
    first = rows["gpu0"][1:]
    for own in rows.values():
        own[1:] = first


def two_ranks_exchanged(rows: Rows) -> None:
    ports = pxn(rows, "gpu5")
    ports[2]["port"], ports[3]["port"] = ports[3]["port"], ports[2]["port"]


def one_neighbour_relays_for_all(rows: Rows) -> None:
    # gpu0 hands all frames of other ranks to gpu1, which hands them on: a hop too many inside the domain.
    for rank in (2, 3):
        pxn(rows, "gpu0")[rank]["port"] = 1


def mask_with_domain(rows: Rows) -> None:
    for own in rows.values():
        own[1]["params"]["mask"] = 15


def a_row_for_each_destination(rows: Rows) -> None:
    for number, own in enumerate(rows.values()):
        ports = {row["match"]["index"]: row for row in own if row["table"] == "pxn"}
        others = [address for address in range(12) if address // 4 != number // 4]
        own[:] = [
            {
                "table": "pxn_segment",
                "match": {"dcna": [address, 16]},
                "action": "set_ranks",
                "params": {"base": address % 4, "shift": 0, "mask": 0},
            }
            for address in others
        ]
        own += ports.values()


def a_rank_missing(rows: Rows) -> None:
    # Rank 1 of gpu8's domain: only frames of gpu8 suffer.
    rows["gpu8"] = [row for row in rows["gpu8"] if row["match"].get("index") != 1]


# Wrong answers, and the stages that pass nevertheless.
MUTANTS: dict[str, tuple[Callable[[Rows], None], list[str]]] = {
    "all to the own NIC": (all_to_nics, []),
    "no row for the own domain": (without_own_domain, []),
    "the rows of gpu0 for all": (same_rows_for_all, ["relay"]),
    # Each relay hands the frame on to the right rank: right data, a hop too many.
    "two ranks exchanged at gpu5": (two_ranks_exchanged, ["relay", "all-to-all", "grow"]),
    "one neighbour relays for all": (one_neighbour_relays_for_all, ["all-to-all", "grow"]),
    "a mask that reads the domain": (mask_with_domain, []),
    "a row for each destination": (a_row_for_each_destination, ["relay", "rails", "all-to-all"]),
    "a rank missing at gpu8": (a_rank_missing, ["relay"]),
}


@pytest.mark.parametrize("seed", [1, 2])
def test_the_starter_fails_all_stages(seed: int, tmp_path: Path):
    assert passing(LAB, starter(LAB), tmp_path, seed) == []


@pytest.mark.parametrize("seed", [1, 2])
def test_the_solution_passes(seed: int, tmp_path: Path):
    assert passing(LAB, solution(LAB), tmp_path, seed) == without_captures(EVERY)


def test_the_first_solution_has_rows_of_gpu0_alone(tmp_path: Path):
    assert passing(LAB, solution(LAB, "relay"), tmp_path) == ["relay"]


@pytest.mark.parametrize("name", MUTANTS)
def test_wrong_rows_fail(name: str, tmp_path: Path):
    change, stages = MUTANTS[name]
    rows = json.loads(solution(LAB)["entries.json"])
    change(rows)
    assert passing(LAB, {"entries.json": json.dumps(rows)}, tmp_path) == without_captures(stages)


ROW = '{"table": "pxn_segment", "match": {"dcna": %s}, "action": "no_pxn"}'
PREFIX = f'{{"gpu0": [{ROW}]}}'
TWICE = f'{{"gpu0": [{ROW % "[0, 14]"}, {ROW % "[0, 14]"}]}}'
PORT = (
    '{"gpu0": [{"table": "pxn", "match": {"index": 0}, "action": "set_neighbour", "params": {"port": %s}}]}'
)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "entries.json:1: the file is not JSON"),
        ('{"rail0": []}', "no GPU is 'rail0'"),
        ('{"gpu0": [], "gpu0": []}', "key 'gpu0' occurs 2 times"),
        ("[" * 100_000, "nested too deeply"),
        (PREFIX % "[3, 14]", "gpu0[0]: dcna is [3, 14]: 3 has bits beyond its first 14"),
        (PREFIX % "[3, 40]", "gpu0[0]: dcna has a prefix of 40 bits"),
        (TWICE, "gpu0[1]: the table and key of gpu0[0]"),
        (PORT % "200000", "gpu0[0]: port = 0x30d40 does not fit in 9 bits"),
        ('{"gpu0": [{"table": "linear", "match": {"index": 0}, "action": "no_route"}]}', "a row of linear"),
        ('{"gpu0": [{"table": "pxn", "match": {"index": 0}, "action": "fly"}]}', "gpu0[0]"),
        ('{"gpu0": [{"table": "pxn", "action": "NoAction", "default_action": true}]}', "a row of pxn"),
    ],
)
def test_rows_that_cannot_be_written_are_named(content: str, words: str, tmp_path: Path):
    verdict = verdicts(LAB, {"entries.json": content}, tmp_path)["relay"]
    assert not verdict.passed
    assert words in verdict.observed
    assert str(tmp_path) not in verdict.observed
    assert "p4info" not in verdict.look


def test_a_foreign_rank_is_named_with_its_capture(tmp_path: Path):
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed: `make setup`")
    rows = json.loads(solution(LAB)["entries.json"])
    all_to_nics(rows)
    verdict = verdicts(LAB, {"entries.json": json.dumps(rows)}, tmp_path)["rails"]
    assert "the capture of gpu" in verdict.observed


def test_without_tshark_the_other_stages_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(catalogue.shutil, "which", lambda program: None)
    results = verdicts(LAB, solution(LAB), tmp_path)
    assert results["rails"].observed.startswith("not checked: stage rails needs tshark")
    assert "apt-get install tshark" in results["rails"].look
    assert [stage for stage, verdict in results.items() if verdict.passed] == ["relay", "all-to-all", "grow"]
