# SPDX-License-Identifier: Apache-2.0
"""Runs an unchanged PyTorch script, with a process for each rank, on a fabric in virtual time."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, final

from harness.errors import OutputError, ScenarioError
from harness.ranks.coordinator import LAUNCH_PS, Coordinator, RankRecord
from harness.ranks.session import opened
from harness.run.collectives.grids import members_of
from harness.run.prepare import Prepared
from railyard.torch.recording import TrainingRecorder

__all__ = ["Settings", "Trained", "lost_ranks", "train"]


@final
@dataclass(frozen=True, slots=True)
class Settings:
    """Script, number of ranks and speed of computation of a run.

    Attributes:
        script: Python file that every rank runs.
        arguments: Arguments of the script.
        ranks: Number of ranks; None for a rank on each member of the fabric.
        tflops: Rate of counted floating-point operations, in 10^12 per second; None counts none.
        scale: Virtual seconds for each second of a rank's processor time.
        launch_us: Time from the call of an operation to its begin on the fabric.
    """

    script: Path
    arguments: Sequence[str] = ()
    ranks: int | None = None
    tflops: float | None = None
    scale: float = 0.0
    launch_us: float = LAUNCH_PS / 10**6


@final
@dataclass(frozen=True, slots=True)
class Trained:
    """Result of a run of a script.

    Attributes:
        ranks: Record of each rank.
        end_ps: Virtual time of the fabric at the end, in ps.
        busy: Busy time of each link in ps, from its first to its second end, and back.
    """

    ranks: Sequence[RankRecord]
    end_ps: int
    busy: Mapping[str, tuple[int, int]]

    @property
    def failed(self) -> list[RankRecord]:
        """Records of the ranks that did not finish the script without an error."""
        return [rank for rank in self.ranks if rank.outcome != "done"]


def train(
    ready: Prepared, settings: Settings, seed: int, recorder: TrainingRecorder | None = None
) -> Trained:
    """Run a script on the fabric of a variant; `recorder` records the run.

    Raises:
        OutputError: PyTorch or the script is missing, or the processes do not start.
        ScenarioError: The fabric has too few members.
    """
    nodes = _nodes(ready, settings)
    lost = lost_ranks(ready, nodes)
    hooks: dict[str, Any] = {}
    if recorder is not None:
        hooks = {"on_note": recorder.on_note, "on_outcome": recorder.on_outcome}
    with opened(ready, nodes, seed) as session, _processes(settings, len(nodes)) as (connections, stop):
        if recorder is not None:
            recorder.begin(ready, session, nodes)
        coordinator = Coordinator(
            session,
            nodes,
            connections,
            launch_ps=max(1, round(settings.launch_us * 10**6)),
            lost=lost,
            stop_process=stop,
            **hooks,
        )
        coordinator.run()
        if recorder is not None:
            recorder.end(coordinator.ranks)
        usage = session.testbed.link_usage()
        busy = {name: (there.busy_ps, back.busy_ps) for name, (there, back) in usage.items()}
        return Trained(coordinator.ranks, session.now_ps, busy)


def _nodes(ready: Prepared, settings: Settings) -> tuple[str, ...]:
    if not settings.script.is_file():
        raise OutputError(f"the script {settings.script} does not exist", remedy="name a Python file")
    if importlib.util.find_spec("torch") is None:
        raise OutputError(
            "PyTorch is not installed", remedy="install it with `pip install 'railyard[torch]'`"
        )
    wanted = ready.variant.every_job[0].collective.members
    nodes = members_of(ready.fabric, wanted)
    count = len(nodes) if settings.ranks is None else settings.ranks
    if not 1 <= count <= len(nodes):
        raise ScenarioError(
            f"the run has {count} ranks, and {ready.fabric.name} has {len(nodes)} members for them",
            remedy=f"give --ranks 1 to {len(nodes)}",
        )
    return nodes[:count]


def lost_ranks(ready: Prepared, nodes: Sequence[str]) -> dict[int, int]:
    """Return the ranks whose nodes a fault takes down, with the time in ps of the first such fault."""
    lost: dict[int, int] = {}
    for fault in ready.faults:
        ends = [node for node in fault.target.hosts if fault.event == "down" and fault.target.links]
        for node in ends:
            if node in nodes:
                lost.setdefault(nodes.index(node), fault.at_ps)
    return lost


@contextmanager
def _processes(settings: Settings, count: int) -> Iterator[tuple[list[Connection], _Stop]]:
    """Start the processes of all ranks, and yield their connections; end all of them with the context."""
    pairs = [socket.socketpair() for _ in range(count)]
    reading, writing = os.pipe()
    theirs = [there.fileno() for _, there in pairs]
    given = {
        "connections": theirs,
        "pids": writing,
        "script": str(settings.script),
        "arguments": list(settings.arguments),
        "tflops": settings.tflops,
        "scale": settings.scale,
    }
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    leader = subprocess.Popen(
        [sys.executable, "-m", "railyard.torch.worker", json.dumps(given)],
        pass_fds=[*theirs, writing],
        env=environment,
        start_new_session=True,
    )
    stop = _Stop()
    try:
        os.close(writing)
        for _, there in pairs:
            there.close()
        with os.fdopen(reading) as ids:
            stop.ids = json.loads(ids.read() or "[]")
        if not stop.ids:
            raise OutputError("the processes of the ranks did not start", remedy="see the error above")
        connections = [Connection(here.detach()) for here, _ in pairs]
        yield connections, stop
        leader.wait()
    finally:
        leader.terminate()  # the leader then ends the processes of all ranks, and waits for them
        leader.wait()
        with suppress(ProcessLookupError):
            os.killpg(leader.pid, signal.SIGKILL)  # processes that the script has started


@final
class _Stop:
    """Function that kills the process of a rank; `ids` has the process id of each rank."""

    def __init__(self) -> None:
        self.ids: list[int] = []

    def __call__(self, rank: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.ids[rank], signal.SIGKILL)
