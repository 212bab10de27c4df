# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own tests of `torch.distributed`: what passes with Gloo passes on a fabric, with exceptions."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: `pip install railyard[torch]`")
pytest.importorskip("expecttest", reason="PyTorch's tests need expecttest: `pip install expecttest`")

ROOT = Path(__file__).resolve().parents[3]
MONITORED = "`monitored_barrier` asks for Gloo by name"
EXCEPTIONS = {
    "test_barrier_timeout_full_group": "measures a timeout in real time; here it passes in virtual time",
    "test_get_backend": "expects the name gloo",
    "test_monitored_barrier_gloo": MONITORED,
    "test_monitored_barrier_gloo_rank_0_timeout": MONITORED,
    "test_monitored_barrier_gloo_subgroup": MONITORED,
}


@pytest.mark.long
def test_what_passes_with_gloo_passes_on_a_fabric(tmp_path):
    out = tmp_path / "verdicts.json"
    command = [sys.executable, "-m", "tests.railyard.torch.conformance", "--out", out]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    verdicts = {
        name: (each["gloo"]["verdict"], each["railyard"]["verdict"])
        for name, each in json.loads(out.read_text()).items()
    }
    missed = {name for name, verdict in verdicts.items() if verdict == ("passed", "failed")}
    assert missed <= EXCEPTIONS.keys()
    assert sum(verdict == ("passed", "passed") for verdict in verdicts.values()) > 80


def test_some_of_them_pass(tmp_path):
    out = tmp_path / "verdicts.json"
    some = (
        "test_all_to_all_single_unequal_split",
        "test_static_graph_api_cpu",
        "test_sparse_all_reduce_sum",
    )
    command = [
        sys.executable,
        "-m",
        "tests.railyard.torch.conformance",
        "--backend",
        "railyard",
        "--out",
        out,
    ]
    subprocess.run([*command, *some], cwd=ROOT, check=True, capture_output=True)
    verdicts = {name: each["railyard"]["verdict"] for name, each in json.loads(out.read_text()).items()}
    assert verdicts == dict.fromkeys(some, "passed")
