# SPDX-License-Identifier: Apache-2.0
"""Ranks start again from a checkpoint: fewer while an NPU is down, all of them once it is back."""

import json
import re
from itertools import groupby

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: `pip install railyard[torch]`")

from tests.railyard.torch.starting import SCRIPTS, scenario, torchrun

SCRIPT, STEPS = SCRIPTS / "elastic.py", 60
LINE = re.compile(r"^step (\d+) loss (\S+) ranks (\d+) restart (\d+)$", re.MULTILINE)
LOST = {"npu": "npu2", "at_us": 300}
BACK = {"npu": "npu2", "at_us": 1500, "event": "up"}


def trained(folder, faults, *options, check=True):
    """Return step, loss, ranks and restart of each step, and the values of training.json."""
    folder.mkdir()
    given = ("--tflops", "0.01", "--out", folder / "out", *options)
    ended = torchrun(*given, scenario(folder, faults), SCRIPT, folder, STEPS, check=check)
    fields = LINE.findall(ended.stdout)
    lines = [(int(step), float(loss), int(ranks), int(again)) for step, loss, ranks, again in fields]
    return lines, json.loads((folder / "out" / "training.json").read_text()), ended


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    lines, _, _ = trained(tmp_path_factory.mktemp("healthy") / "run", [])
    assert [step for step, *_ in lines] == [*range(STEPS)]
    return [loss for _, loss, _, _ in lines]


def sizes(lines):
    return [key for key, _ in groupby((ranks, again) for _, _, ranks, again in lines)]


def test_a_run_shrinks_and_grows_again_with_equal_losses(tmp_path, healthy):
    options = ("--max-restarts", 1, "--min-ranks", 2)
    runs = [trained(tmp_path / name, [LOST, BACK], *options) for name in ("first", "second")]
    lines, training, ended = runs[0]
    assert sizes(lines) == [(4, 0), (3, 1), (4, 2)]
    assert [step for step, *_ in lines] == [*range(STEPS)]
    assert [loss for _, loss, _, _ in lines] == pytest.approx(healthy, rel=1e-4)
    assert runs[1][0] == lines
    assert runs[1][1] == training
    assert ended.returncode == 0

    first, second = training["earlier_rounds"]
    assert "rank 2 (npu2) is lost" in first[2]["outcome"]
    assert [rank["node"] for rank in second] == ["npu0", "npu1", "npu3"]
    assert all(rank["outcome"] == "stopped: npu2 is back" for rank in second)
    assert second[0]["begun_us"] == pytest.approx(1300, abs=30)  # a millisecond after the loss
    assert training["ranks"][0]["begun_us"] == pytest.approx(2500, abs=30)
    assert "stopped: npu2 is back" in (tmp_path / "first" / "out" / "report.html").read_text()


def test_all_ranks_wait_for_a_lost_npu_unless_fewer_are_allowed(tmp_path, healthy):
    late = {**BACK, "at_us": 5000}
    lines, training, _ = trained(tmp_path / "run", [LOST, late], "--max-restarts", 1)
    assert sizes(lines) == [(4, 0), (4, 1)]
    assert [loss for _, loss, _, _ in lines] == healthy
    assert training["ranks"][0]["begun_us"] >= 5000


@pytest.mark.parametrize(
    ("faults", "options"),
    [([LOST, BACK], ()), ([LOST], ("--max-restarts", 3))],
    ids=["no-restart-left", "it-stays-away"],
)
def test_a_run_ends_with_the_name_of_the_lost_rank(tmp_path, faults, options):
    lines, training, ended = trained(tmp_path / "run", faults, *options, check=False)
    assert ended.returncode == 1
    assert "rank 2 (npu2) is lost" in ended.stderr
    assert len(sizes(lines)) == 1
    assert "earlier_rounds" not in training
