# SPDX-License-Identifier: Apache-2.0
"""Random faults under DDP: a run has the losses of the healthy run, or fails and names the lost rank."""

import random
from functools import cache
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: `pip install railyard[torch]`")

from tests.railyard.torch.starting import SCRIPTS, losses, scenario, torchrun

NODES = [f"npu{index}" for index in range(4)]
LINKS = [f"{here}-{there}" for here, there in combinations(NODES, 2)]
STEPS = 8

# The virtual time of the healthy run is about 1.3 ms.
LATEST_US = 1300


def fault_of(draw):
    """Return a random fault, of links or of one NPU."""
    at_us = round(draw.uniform(1, LATEST_US), 1)
    link = draw.choice(LINKS)
    here, there = link.split("-")
    kinds = [
        {"link": link},
        {"link": link, "event": "flap", "period_us": draw.choice([5, 40, 300]), "count": draw.randint(1, 6)},
        {"link": link, "event": "rate", "percent": draw.choice([1, 10, 50])},
        {"direction": f"{here}->{there}", "event": "loss", "percent": draw.choice([1, 20, 100])},
        {"link": link, "event": "delay", "add_ns": draw.choice([100, 30000])},
        {"npu": draw.choice(NODES)},
    ]
    return {"at_us": at_us, **draw.choice(kinds)}


def trained(faults):
    with TemporaryDirectory() as folder:
        file = scenario(Path(folder), faults)
        return torchrun("--tflops", "0.01", file, SCRIPTS / "ddp.py", "railyard", STEPS, check=False)


@cache
def healthy():
    return losses(trained([]).stdout)


@pytest.mark.long(*map(str, range(2, 20)))
@pytest.mark.parametrize("seed", range(20))
def test_no_wrong_gradient_in_silence_and_no_hang(seed):
    draw = random.Random(seed)
    faults = [fault_of(draw) for _ in range(draw.randint(1, 3))]
    ended = trained(faults)
    assert len(healthy()) == STEPS
    if ended.returncode == 0:
        assert losses(ended.stdout) == healthy(), faults
    else:
        assert ended.returncode == 1, ended.stderr
        assert "DistBackendError" in ended.stderr, faults
        assert "is lost" in ended.stderr, faults
        assert any("npu" in fault for fault in faults), faults
        assert losses(ended.stdout) == healthy()[: len(losses(ended.stdout))], faults
