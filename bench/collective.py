# SPDX-License-Identifier: Apache-2.0
"""A whole AllReduce over a rack on the embedded testbed: switches, links, hosts and data together.

`python -m bench.collective` prints JSON: figures of experiment 1's healthy variant, and the time of its
network alone: as many frames without data, over one link each, between hosts that answer each frame.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from statistics import median

from emulation._engine import Budget
from emulation.traffic.host.saturate import Saturator, steered_frame
from harness.run.boot import booted
from harness.run.jobs.running import Jobs
from harness.run.prepare import Prepared, prepare
from harness.run.testbeds import Embedded
from harness.scenario.loader import load
from topologies import HOST_PORT, Fabric

__all__ = ["SCENARIO", "collective_figures", "network_seconds"]

SCENARIO = Path(__file__).resolve().parents[1] / "experiments" / "01_first_train" / "scenario.yaml"
SEED = 1
PASSES_A_FRAME = 2  # at the NPU that sends, and at its neighbour
SMALL_FRAME_BYTES, AT_FIRST = 128, 64


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


def network_seconds(ready: Prepared, packet_hops: int) -> float:
    """Return the processor seconds of `packet_hops` passes over the variant's network, without agents."""
    fabric = ready.plan.fabric
    budget = Budget(packet_hops // PASSES_A_FRAME)
    testbed = Embedded().make(ready, max(1, ready.bound_ps // 48), SEED)
    with booted(testbed, ready.plan):
        for number, end in enumerate(fabric.endpoints):
            testbed.attach(end.name, Saturator(_to_neighbours(fabric, end.name), AT_FIRST, number, budget))
        began = time.process_time()
        testbed.run()
        seconds = time.process_time() - began
        if testbed.network.hops != packet_hops:
            raise RuntimeError(f"{testbed.network.hops} passes instead of {packet_hops}")
    return seconds


def _to_neighbours(fabric: Fabric, name: str) -> list[bytes]:
    source = fabric.node(name)
    neighbours = [node for node in map(fabric.node, fabric.neighbours(name)) if node in fabric.endpoints]
    return [
        steered_frame(
            source.address, node.address, [fabric.port_to(name, node.name), HOST_PORT], SMALL_FRAME_BYTES
        )
        for node in neighbours
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="packet-hops a core-second of a whole AllReduce")
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    (first,) = [item for item in prepare(*load(SCENARIO)) if item.variant.name == "healthy"]
    figures = [collective_figures(first) for _ in range(rounds)]
    middle = {name: median(item[name] for item in figures) for name in figures[0]}
    passes = int(middle["packet_hops"])
    middle["network_seconds"] = median(network_seconds(first, passes) for _ in range(rounds))
    print(json.dumps(middle, indent=2))
