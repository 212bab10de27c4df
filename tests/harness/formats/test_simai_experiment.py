# SPDX-License-Identifier: Apache-2.0
"""The check of the experiment with SimAI: a workload on its servers, SimAI's summary read, skips."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.usefixtures("command_in_this_process")

FOLDER = Path(__file__).resolve().parents[3] / "experiments" / "42_simai"
HEAD = "HYBRID model_parallel_NPU_group: 8 ep: 1 pp: 12 vpp: 8 ga: 1 all_gpus: 192 checkpoints: 0 pp_comm 64"
LAYERS = "a -1 1000 ALLREDUCE 8388608 1 NONE 0 1 NONE 0 1\nb -1 2000 NONE 0 1 NONE 0 1 NONE 0 1\n"
# A summary in the form of SimAI's.
SUMMARY = """layer_name,run-,fwd compute,wg compute
File name, Expose DP comm, Expose DP_EP comm, Expose TP comm, Expose_EP_comm, total comp, Total time
run-, 38 (1.00%), 2 (0.10%), 327 (5.00%), 1222 (20.00%), 4542 (73.90%), 6131
"""


def module(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Import a file of the experiment; other folders have files of the same names."""
    monkeypatch.syspath_prepend(str(FOLDER))
    for file in FOLDER.glob("*.py"):
        monkeypatch.delitem(sys.modules, file.stem, raising=False)
    for file in FOLDER.glob("*.py"):
        monkeypatch.setitem(sys.modules, file.stem, importlib.import_module(file.stem))
    return sys.modules[name]


def test_an_allreduce_takes_its_bytes_over_the_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = module("check", monkeypatch)
    workload = tmp_path / "small.txt"
    workload.write_text(f"{HEAD}\n2\n{LAYERS}")
    case = check.Case("small", 8, 0.5)
    times = check.our_times(workload, case, tmp_path / "imported")
    assert times["computations"] == pytest.approx(0.003004)
    least = 2 * 7 / 8 * 8388608 / (360 * 2**30) * 1000
    assert least < times["tensor-parallel collectives"] < 1.1 * least
    assert times["expert-parallel all-to-alls"] == 0


def test_a_summary_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "run-EndToEnd.csv"
    file.write_text(SUMMARY)
    assert module("theirs", monkeypatch)._parts(file) == {
        "computations": 4.542,
        "tensor-parallel collectives": 0.327,
        "expert-parallel all-to-alls": 1.222,
        "data-parallel collectives": 0.04,
    }


def test_a_part_of_a_workload_for_simai(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = module("theirs", monkeypatch)
    workload = tmp_path / "small.txt"
    workload.write_text(f"{HEAD}\n2\n{LAYERS}")
    (tmp_path / "part").mkdir()
    part = theirs.part_of(workload, 16, 1, tmp_path / "part")
    numbers = theirs.rank_numbers(part)
    assert (numbers["all_gpus"], numbers["pp"], numbers["pp_comm"]) == (16, 1, 0)
    assert (numbers["vpp"], numbers["model_parallel_NPU_group"]) == (8, 8)
    assert part.read_text().splitlines()[1:] == ["1", LAYERS.splitlines()[0]]


def test_without_simai_the_check_is_skipped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["check.py"])
    assert module("check", monkeypatch).main() == 0
    assert capsys.readouterr().out.startswith("skipped: ")
