# SPDX-License-Identifier: Apache-2.0
"""The check of the experiment with uet-htsim: a plan and a result of our own, and the skip."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.usefixtures("command_in_this_process")

CHECK = Path(__file__).resolve().parents[3] / "experiments" / "46_uet_htsim" / "check.py"
EXPERIMENT = "one.cm\n!Experiment {}\n!Binary ./htsim_uec\n!Param -sender_cc_only\n!tailFCT {}\n"


@pytest.fixture
def check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_uet", CHECK)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("name", "target", "code"), [("One", 60, 0), ("One", 3, 1), ("One, 1024 node incast", 3, 0)]
)
def test_a_target_is_met_or_its_miss_is_known(
    check: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    target: int,
    code: int,
) -> None:
    (tmp_path / "one.cm").write_text("Nodes 16\nConnections 1\n0->15 id 1 start 0 size 200000\n")
    (tmp_path / "plan.txt").write_text(EXPERIMENT.format(name, target))
    (tmp_path / "validate_outputs").mkdir()
    (tmp_path / "validate_outputs" / "plan.out").write_text("[PASS] Tail FCT 29.5 us below the target\n")
    monkeypatch.setattr("sys.argv", ["check.py", "--uet", str(tmp_path), "--plan", "plan.txt"])
    assert check.main() == code
    assert "| 29.5 |" in capsys.readouterr().out


def test_without_uet_htsim_the_check_is_skipped(
    check: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["check.py"])
    assert check.main() == 0
    assert capsys.readouterr().out.startswith("skipped: ")
