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
from itertools import chain
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, final

from harness.errors import OutputError, ScenarioError
from harness.ranks.coordinator import LAUNCH_PS, NOTICE_PS, Coordinator, RankRecord
from harness.ranks.session import FabricSession, opened
from harness.run.collectives.grids import members_of
from harness.run.prepare import Prepared
from railyard.torch.recording import TrainingRecorder

__all__ = ["Availability", "Settings", "Trained", "train"]


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
        max_restarts: Number of failures after which all ranks start again.
        min_ranks: Fewest ranks that start again; None: all, so that a lost NPU has to come back.
    """

    script: Path
    arguments: Sequence[str] = ()
    ranks: int | None = None
    tflops: float | None = None
    scale: float = 0.0
    launch_us: float = LAUNCH_PS / 10**6
    max_restarts: int = 0
    min_ranks: int | None = None


@final
@dataclass(frozen=True, slots=True)
class Trained:
    """Result of a run of a script.

    Attributes:
        rounds: Records of all ranks, a sequence for each start of the ranks.
        end_ps: Virtual time of the fabric at the end, in ps.
        busy: Busy time of each link in ps, from its first to its second end, and back.
    """

    rounds: Sequence[Sequence[RankRecord]]
    end_ps: int
    busy: Mapping[str, tuple[int, int]]

    @property
    def ranks(self) -> Sequence[RankRecord]:
        """Record of each rank of the last round."""
        return self.rounds[-1]

    @property
    def failed(self) -> list[RankRecord]:
        """Records of the ranks of the last round whose script failed or did not finish."""
        return [rank for rank in self.ranks if rank.outcome != "done"]


def train(
    ready: Prepared, settings: Settings, seed: int, recorder: TrainingRecorder | None = None
) -> Trained:
    """Run the script of `settings` on the fabric of a prepared variant; `recorder` records the run.

    Raises:
        OutputError: PyTorch or the script is missing, or the processes do not start.
        ScenarioError: The fabric has too few members.
    """
    nodes = _nodes(ready, settings)
    availability = Availability(ready, nodes)
    fewest = len(nodes) if settings.min_ranks is None else settings.min_ranks
    rounds: list[Sequence[RankRecord]] = []
    failures = 0
    with opened(ready, nodes, seed) as session:
        if recorder is not None:
            recorder.begin(ready, session, nodes)
        present: Sequence[str] = nodes
        while True:
            coordinator = _round(session, settings, present, availability, recorder, len(rounds), failures)
            rounds.append(coordinator.ranks)
            if not coordinator.stopped:
                break
            failures += any(rank.failed for rank in coordinator.ranks)
            begin_ps = availability.enough(fewest, session.now_ps)
            if begin_ps is None:
                break
            session.run_to(begin_ps)
            present = availability.present(begin_ps)
        if recorder is not None:
            recorder.end(rounds[-1])
        usage = session.testbed.link_usage()
        busy = {name: (there.busy_ps, back.busy_ps) for name, (there, back) in usage.items()}
        return Trained(rounds, session.now_ps, busy)


def _round(
    session: FabricSession,
    settings: Settings,
    nodes: Sequence[str],
    availability: Availability,
    recorder: TrainingRecorder | None,
    number: int,
    failures: int,
) -> Coordinator:
    """Run the script on nodes until all ranks have ended, or have been stopped to start again."""
    hooks: dict[str, Any] = {}
    if recorder is not None:
        hooks = {"on_note": recorder.on_note, "on_outcome": recorder.on_outcome}
    now = session.now_ps
    with _processes(settings, len(nodes), number, now) as (connections, stop):
        coordinator = Coordinator(
            session,
            nodes,
            connections,
            launch_ps=max(1, round(settings.launch_us * 10**6)),
            lost=availability.losses(nodes, now),
            joins=availability.returns(nodes, now) if settings.max_restarts else None,
            restarts=failures < settings.max_restarts,
            stop_process=stop,
            **hooks,
        )
        coordinator.run()
    return coordinator


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


@final
class Availability:
    """Times at which faults of a scenario take nodes down and up."""

    def __init__(self, ready: Prepared, nodes: Sequence[str]) -> None:
        self._nodes = tuple(nodes)
        # By node, times in ps and whether the node works from then on.
        self._changes: dict[str, list[tuple[int, bool]]] = {node: [] for node in nodes}
        for fault in sorted(ready.faults, key=lambda fault: fault.at_ps):
            if fault.event in ("down", "up") and fault.target.links:
                for node in set(fault.target.hosts) & self._changes.keys():
                    self._changes[node].append((fault.at_ps, fault.event == "up"))

    def present(self, time_ps: int) -> list[str]:
        """Return the nodes that work at `time_ps`."""
        return [node for node in self._nodes if self._works(node, time_ps)]

    def losses(self, nodes: Sequence[str], since_ps: int) -> dict[int, int]:
        """Return the time in ps of each node's first loss after `since_ps`, by the index of the node."""
        losses = {}
        for rank, node in enumerate(nodes):
            later = [at_ps for at_ps, up in self._changes[node] if not up and at_ps > since_ps]
            if later:
                losses[rank] = later[0]
        return losses

    def returns(self, nodes: Sequence[str], since_ps: int) -> dict[int, str]:
        """Return notices to ranks about nodes repaired after `since_ps`, except `nodes`, by time in ps."""
        return {
            at_ps + NOTICE_PS: f"{node} is back"
            for node in self._nodes
            if node not in nodes
            for at_ps, up in self._changes[node]
            if up and at_ps > since_ps
        }

    def enough(self, count: int, since_ps: int) -> int | None:
        """Return the first time from `since_ps` on with `count` working nodes; None if there is none."""
        changes = chain.from_iterable(self._changes.values())
        times = [at_ps for at_ps, up in changes if up and at_ps > since_ps]
        return next(
            (time for time in [since_ps, *sorted(times)] if len(self.present(time)) >= max(1, count)), None
        )

    def _works(self, node: str, time_ps: int) -> bool:
        return next((up for at_ps, up in reversed(self._changes[node]) if at_ps <= time_ps), True)


@contextmanager
def _processes(
    settings: Settings, count: int, number: int, begin_ps: int
) -> Iterator[tuple[list[Connection], _Stop]]:
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
        "restart": number,
        "begin_ps": begin_ps,
        "max_restarts": settings.max_restarts,
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
    """Kills the process of a rank when called; `ids` has the process id of each rank."""

    def __init__(self) -> None:
        self.ids: list[int] = []

    def __call__(self, rank: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.ids[rank], signal.SIGKILL)
