# SPDX-License-Identifier: Apache-2.0
"""A study on a Ray cluster of two nodes on loopback; a node dies, and the results stay the same."""

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from harness.sweeps.cluster import RayCluster
from harness.sweeps.conduct import conduct, results_of, work_of
from harness.sweeps.plan import plan_study
from harness.sweeps.store import open_study
from harness.sweeps.worker_processes import Done
from tests.harness.sweeps.studies import small_study
from tests.harness.sweeps.test_resume import content

pytest.importorskip("ray")
pytestmark = pytest.mark.long

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts nodes of a cluster, each in a process group of its own, which ends with the test."""
    nodes: list[subprocess.Popen[bytes]] = []
    scripts = str(Path(sys.executable).parent / "ray")

    def begin(*options: str) -> subprocess.Popen[bytes]:
        command = [scripts, "start", "--node-ip-address=127.0.0.1", "--num-cpus=1", "--block"]
        command += ["--disable-usage-stats", "--object-store-memory=100000000", *options]
        quiet = subprocess.DEVNULL
        nodes.append(subprocess.Popen(command, stdout=quiet, stderr=quiet, start_new_session=True))
        return nodes[-1]

    yield begin
    for node in nodes:
        kill(node)


def kill(node: "subprocess.Popen[bytes]") -> None:
    """Kill a node with all its processes."""
    with suppress(ProcessLookupError):
        os.killpg(node.pid, signal.SIGKILL)
    node.wait()


def test_a_node_that_dies_in_the_middle_changes_no_result(
    write: Callable[[str], Path], tmp_path: Path, start: Start
):
    ray: Any = import_module("ray")

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    address = f"127.0.0.1:{port}"
    plan = plan_study(write(small_study(20)))
    start("--head", f"--port={port}", "--include-dashboard=false")
    node, executor = start(f"--address={address}"), None
    for _ in range(20):
        try:
            executor = RayCluster(work_of(plan, plan.path.resolve()), address)
            break
        except Exception:
            time.sleep(1)
    assert executor is not None
    for _ in range(60):
        if ray.cluster_resources().get("CPU") == 2:
            break
        time.sleep(1)
    assert ray.cluster_resources()["CPU"] == 2
    ended: list[Done] = []

    def note(done: Done) -> None:
        ended.append(done)
        if len(ended) == 20:
            kill(node)

    try:
        with open_study(tmp_path / "out", plan) as study:
            conducted = conduct(plan.runs, study, executor, note=note)
            assert conducted.lost == []
            assert len(ended) == 60
            assert [study.get(run.key) for run in plan.runs] == results_of(plan, 1)
    finally:
        executor.close()


def test_killed_workers_cost_no_result(write: Callable[[str], Path], tmp_path: Path):
    path = write(small_study(20))

    def sweep(*options: str) -> "subprocess.Popen[bytes]":
        command = [
            sys.executable,
            "-c",
            "from railyard.cli import main; main()",
            "sweep",
            str(path),
            *options,
        ]
        quiet = subprocess.DEVNULL
        # Ray starts its workers with a niceness of 15, which starves them on a busy machine.
        settings = {**os.environ, "RAY_worker_niceness": "0"}
        return subprocess.Popen(command, stdout=quiet, stderr=quiet, cwd=tmp_path, env=settings)

    assert sweep("--jobs", "1", "--out", "whole").wait() == 0
    chance = random.Random(20)
    kills = 0
    process = sweep("--ray", "local", "--out", "parts")
    while kills < 10:
        time.sleep(chance.uniform(0.2, 2.0))
        if process.poll() is not None:
            # All is done before ten kills: begin anew with a part of the results.
            for run in sorted((tmp_path / "parts" / "runs").iterdir())[::2]:
                run.unlink()
            process = sweep("--ray", "local", "--out", "parts")
        elif workers := [pid for pid, command in _tree(process.pid) if command in _WORKERS]:
            with suppress(ProcessLookupError):
                os.kill(chance.choice(workers), signal.SIGKILL)
                kills += 1
    code = process.wait()
    while code == 3:  # a run whose worker was killed twice
        code = sweep("--ray", "local", "--out", "parts").wait()
    assert code == 0
    whole, parts = content(tmp_path / "whole"), content(tmp_path / "parts")
    assert {*whole} == {*parts}
    assert [name for name in whole if whole[name] != parts[name]] == []


_WORKERS = ("ray::IDLE", "ray::_execute")


def _tree(pid: int) -> Iterator[tuple[int, str]]:
    """Yield the descendants of a process with their commands."""
    with suppress(OSError):
        for child in map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()):
            yield child, Path(f"/proc/{child}/cmdline").read_text().strip("\0 ")
            yield from _tree(child)
