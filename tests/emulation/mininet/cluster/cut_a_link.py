# SPDX-License-Identifier: Apache-2.0
"""A program for the controlling machine: while all hosts reduce, take down every link between two machines.

Arguments: the file of the machines, dims, a file whose existence ends the AllReduce, the AllReduce's program.
"""

import sys
import threading
from pathlib import Path

from controller.planner import make_plan
from emulation.control.loop import ControlLoop
from emulation.mininet.cluster.machines import read_machines
from emulation.mininet.cluster.testbed import MachinesTestbed
from harness.run.boot import booted
from topologies.families.full_mesh import full_mesh


def main() -> None:
    """Run it."""
    file, dims, stop, program = sys.argv[1:]
    fabric = full_mesh([int(part) for part in dims.split("x")])
    plan = make_plan(fabric)
    with booted(
        testbed := MachinesTestbed(fabric, read_machines(Path(file)), switch="builtin", ip=True), plan
    ) as up:
        ControlLoop(testbed, up.client, plan, mode="direct", detect_ps=0, processing_ps=0)
        for clock in testbed.clocks.offsets.values():
            print("clock", clock.monotonic_ns, clock.within_ns)
        stopped = threading.Event()
        serving = threading.Thread(target=testbed.serve, args=(stopped,))
        serving.start()
        first: list[str] = []

        def say(node: str, text: str) -> None:
            print(node, text, flush=True)
            if "sum is right" in text:
                first.append(node)
            if len(first) == len(fabric.nodes) and text == "sum is right":
                link = testbed.division.crossing[0].name
                threading.Thread(target=cut, args=(link,)).start()

        def cut(link: str) -> None:
            before = testbed.carried()
            assert sum(before[link]) > 0, f"{link} carried no frame"
            testbed.set_link(link, False)
            dead = sum(testbed.carried()[link])
            others = sum(map(sum, before.values()))
            # The AllReduce goes on over other links.
            while sum(map(sum, testbed.carried().values())) < others + 1000:
                stopped.wait(0.1)
            assert sum(testbed.carried()[link]) <= dead + 100, f"{link} still carries frames"
            print("cut", link, flush=True)
            Path(stop).touch()

        try:
            testbed.launch([sys.executable, program, stop], say)
        finally:
            stopped.set()
            serving.join()


if __name__ == "__main__":
    main()
