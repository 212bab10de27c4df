"""BMv2 with the same program, tables and frames, on veth links of a network namespace of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Self, final

from bench.switch.subject import TRANSIT, Transit
from controller.plan.plan import Plan
from harness.run.boot import programs_of
from tests.differential.bmv2 import NODE, Bmv2

__all__ = ["Bmv2Bench", "missing", "version"]

QUEUE_DEPTH = 8192
FRAMES = 60_000
# Frames under way at once. The capture ring by which BMv2 reads a veth holds 32; what comes beyond is lost.
IN_FLIGHT = 24
SILENCE_SECONDS = 2.0


def missing() -> str:
    """Return the reason why BMv2 cannot be measured here; empty when it can."""
    for tool in ("simple_switch_grpc", "simple_switch_CLI", "ip", "setpriv"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    return "" if os.geteuid() == 0 else "a network namespace takes root"


def version() -> str:
    done = subprocess.run(["simple_switch_grpc", "--version"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


@final
class Bmv2Bench(Bmv2):
    """Holds everything that the transit NPU of the rack holds, once it is entered."""

    def __init__(self, plan: Plan, chosen: Transit, folder: Path) -> None:
        super().__init__((chosen.arrival, chosen.departure), folder)
        self._plan = plan
        self._chosen = chosen

    def __enter__(self) -> Self:
        super().__enter__()
        try:
            self.client.push_pipeline({NODE: programs_of(self._plan.fabric)[TRANSIT]})
            self.client.install({NODE: self._plan.entries[TRANSIT]})
            self._inside.submit(self._set_queue_depth).result()
        except BaseException:
            self.stop()
            raise
        return self

    def packet_hops_per_core_second(self) -> float:
        """All frames must come out, and as the built-in switch makes them."""
        before = self._cpu_seconds()
        sent = received = 0
        while received < FRAMES:
            while sent < FRAMES and sent - received < IN_FLIGHT:
                self.send(self._chosen.arrival, self._chosen.frame)
                sent += 1
            arrived = self.receive(SILENCE_SECONDS)
            frames = [frame for port, frame in arrived if port == self._chosen.departure]
            if not frames:
                raise RuntimeError(f"bmv2: {sent - received} of {sent} frames lost")
            if any(frame != self._chosen.expected for frame in frames):
                raise RuntimeError("bmv2: a frame came out unlike the built-in switch's")
            received += len(frames)
        return FRAMES / (self._cpu_seconds() - before)

    def _cpu_seconds(self) -> float:
        """Return the processor seconds of all threads of the process, in user and in kernel mode."""
        assert self._process is not None
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _set_queue_depth(self) -> None:
        """64 packets by default, which scheduling alone overruns. Only Thrift sets it, in the namespace."""
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        done = subprocess.run(
            ["simple_switch_CLI"],
            input=f"set_queue_depth {QUEUE_DEPTH}\n",
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0 or "Error" in done.stdout:
            raise RuntimeError(f"simple_switch_CLI: {done.stderr.strip() or done.stdout.strip()}")
