"""Boot time and memory of a rack. As a program it prints both as JSON: memory needs a fresh process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

__all__ = ["rack_figures"]


def rack_figures() -> dict[str, float]:
    done = subprocess.run([sys.executable, "-m", "bench.rack"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def _measure() -> dict[str, float]:
    from bench.subject import rack_plan
    from emulation.embedded import EmbeddedTestbed
    from lab.boot import booted

    plan = rack_plan()
    before = _resident_mib()
    with booted(EmbeddedTestbed(plan.fabric), plan) as up:
        grown = _resident_mib() - before
        return {
            "rack_boot_seconds": round(up.seconds, 3),
            "rack_table_entries": up.entries,
            "mib_per_switch": round(grown / len(plan.fabric.nodes), 3),
        }


if __name__ == "__main__":
    print(json.dumps(_measure()))
