# SPDX-License-Identifier: Apache-2.0
"""How busy the machine and single processes were between two looks at /proc."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import final

__all__ = ["CpuMeter"]

_TICKS = os.sysconf("SC_CLK_TCK")


@final
class CpuMeter:
    """Begins to count when it is made; `processes` are pids by name."""

    def __init__(self, processes: Mapping[str, int]) -> None:
        self._processes = processes
        self._machine = _machine_ticks()
        self._began = {name: _process_ticks(pid) for name, pid in processes.items()}

    def read(self) -> tuple[float, dict[str, float]]:
        """Share of all processors that was busy, 0 to 1, and processor seconds of each process."""
        busy, total = (now - then for now, then in zip(_machine_ticks(), self._machine, strict=True))
        seconds = {
            name: (_process_ticks(pid) - self._began[name]) / _TICKS for name, pid in self._processes.items()
        }
        return (busy / total if total else 0.0), seconds


def _machine_ticks() -> tuple[int, int]:
    """Busy and all, over all processors."""
    user, nice, system, idle, iowait, irq, softirq, steal, *_ = map(
        int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    )
    busy = user + nice + system + irq + softirq + steal
    return busy, busy + idle + iowait


def _process_ticks(pid: int) -> int:
    """Of a process and its threads; 0 once it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(fields[11]) + int(fields[12])
