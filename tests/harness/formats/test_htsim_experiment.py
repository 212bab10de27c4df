# SPDX-License-Identifier: Apache-2.0
"""The check of the experiment with htsim: a matrix of our own on its tree, htsim's output read, skips."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.usefixtures("command_in_this_process")

CHECK = Path(__file__).resolve().parents[3] / "experiments" / "38_htsim" / "check.py"
MATRIX = "Nodes 16\nConnections 2\n0->15 id 1 start 0 size 8000\n1->0 id 2 start 0 size 4000\n"
SAID = "Flow ndp_0_15 flow_id 1 finished at 14.5 total bytes 8000\n"


@pytest.fixture
def check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_htsim", CHECK)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_flows_of_a_matrix_end_after_their_links(check: ModuleType, tmp_path: Path) -> None:
    matrix = tmp_path / "two.cm"
    matrix.write_text(MATRIX)
    ours = check.our_times(matrix, 16, "{}", tmp_path / "imported")
    assert list(ours) == ["0->15", "1->0"]
    # Six links of 1 µs or two, and a frame of 0.3 µs at each.
    assert 6 < ours["0->15"] < 10
    assert 2 < ours["1->0"] < 4


def test_output_of_htsim_is_read(check: ModuleType) -> None:
    assert [match.groups() for match in check.FLOW.finditer(SAID)] == [("0", "15", "14.5")]


def test_without_htsim_the_check_is_skipped(
    check: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["check.py"])
    assert check.main() == 0
    assert capsys.readouterr().out.startswith("skipped: ")
