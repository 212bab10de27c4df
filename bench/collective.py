# SPDX-License-Identifier: Apache-2.0
"""A whole AllReduce over a rack on the embedded testbed: switches, links, hosts and data together.

`python -m bench.collective` prints JSON: figures of experiment 1's healthy variant.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from statistics import median

from harness.run.boot import booted
from harness.run.jobs.running import Jobs
from harness.run.prepare import Prepared, prepare
from harness.run.testbeds import Embedded
from harness.scenario.loader import load

__all__ = ["SCENARIO", "collective_figures"]

SCENARIO = Path(__file__).resolve().parents[1] / "experiments" / "01_first_train" / "scenario.yaml"
SEED = 1


def collective_figures(ready: Prepared) -> dict[str, float]:
    """Run a variant once; seconds are processor time.

    `begin_seconds` is the time to make and attach all agents, `run_seconds` the time of the run. A packet-hop
    is a pass of a frame through a switch's program.
    """
    testbed = Embedded().make(ready, max(1, ready.bound_ps // 48), SEED)
    with booted(testbed, ready.plan):
        jobs = Jobs(ready, testbed, SEED)
        began = time.process_time()
        jobs.begin()
        begun = time.process_time()
        testbed.run()
        ended = time.process_time()
        stats = jobs.stats
    return {
        "begin_seconds": begun - began,
        "run_seconds": ended - begun,
        "packet_hops": testbed.network.hops,
        "data_frames": sum(item.sent for item in stats),
        "packet_hops_per_core_second": testbed.network.hops / (ended - begun),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="packet-hops a core-second of a whole AllReduce")
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    (first,) = [item for item in prepare(*load(SCENARIO)) if item.variant.name == "healthy"]
    figures = [collective_figures(first) for _ in range(rounds)]
    print(json.dumps({name: median(item[name] for item in figures) for name in figures[0]}, indent=2))
