# SPDX-License-Identifier: Apache-2.0
"""Parts of the experiment with others' collectives: measurements read, the ring algorithm timed, skips."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.harness.formats.samples import ring

pytestmark = pytest.mark.usefixtures("command_in_this_process")

FOLDER = Path(__file__).resolve().parents[3] / "experiments" / "39_collectives_of_others"
MEASURED = """size,count,type,redop,root,time,algbw,busbw,wrong
0,0,float,sum,-1,0.20,0.00,0.00,0
8,2,float,sum,-1,17.06,0.00,0.00,0
1048576,262144,float,sum,-1,49.35,21.25,37.18,0
2097152,524288,float,sum,-1,79.51,26.38,46.16,0
67108864,16777216,float,sum,-1,Test,timeout,(1000s),common.cu.cpp:555
"""


def module(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Import a file of the experiment; other folders have files of the same names."""
    monkeypatch.syspath_prepend(str(FOLDER))
    for file in FOLDER.glob("*.py"):
        monkeypatch.delitem(sys.modules, file.stem, raising=False)
        monkeypatch.setitem(sys.modules, file.stem, importlib.import_module(file.stem))
    return sys.modules[name]


def test_what_kernels_cost_is_read_from_measurements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = module("measured", monkeypatch)
    file = tmp_path / "measured.csv"
    file.write_text(MEASURED)
    times = measured.measurements(file)
    assert list(times) == [8, 1048576, 2097152]
    start_us, rate = measured.kernel(times, 0.25)
    assert start_us == 17.06
    assert rate == pytest.approx(0.25 * 1048576 / (79.51 - 49.35) / 1000)


def test_the_ring_algorithm_takes_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step is a share at 50 GiB/s and 0.5 µs; headers and switches add less than a tenth."""
    astra = module("astra", monkeypatch)
    share = 1 << 18
    step_us = share / (50 * 2**30) * 10**6 + 0.5
    for steps, parts in ((1, 1), (3, 1), (2, 2)):
        least = steps * parts * step_us
        assert least < astra.by_ring(4, steps, share, parts) < 1.1 * least


def test_an_algorithm_on_both_fabrics(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    algorithms = module("algorithms", monkeypatch)
    (tmp_path / "ring.xml").write_text(ring())
    assert dict(algorithms.compare(tmp_path)) == {"ring: proved, and right on both fabrics": True}
    _, _, line = (said for said in capsys.readouterr().out.splitlines() if said.startswith("|"))
    name, gpus, frames, mesh, mesh_bound, rack, rack_bound = (cell.strip() for cell in line.split("|")[1:-1])
    assert (name, gpus) == ("ring", "3")
    assert int(frames) > 0
    assert float(mesh) > 0 < float(rack)
    assert float(mesh_bound) >= 1 <= float(rack_bound)


def test_without_anything_the_check_is_skipped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["check.py"])
    assert module("check", monkeypatch).main() == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in said] == ["skipped"] * 3
