# SPDX-License-Identifier: Apache-2.0
"""The P4Runtime server and the thread that passes on what switches tell ask the wire at the same time."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

# In a process of its own: threads that wait for each other for good are then ended from outside.
TOGETHER = """
import sys, threading
from emulation import _engine

wire = _engine.Wire()
switch = wire.add_switch("device 1", 510)
wire.start()
sys.setswitchinterval(1e-6)

def repeat(ask):
    for _ in range(20_000):
        ask()

# As frames do, which the wire's own thread carries, it keeps others waiting.
def hold():
    wire.lock()
    sum(range(100))
    wire.unlock()

asked = [
    hold,
    lambda: wire.packet_out(switch, bytes(64)),
    wire.take_control,
    wire.take_messages,
]
threads = [threading.Thread(target=repeat, args=(ask,)) for ask in asked]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
wire.stop()
"""


def test_threads_do_not_wait_for_each_other_for_good() -> None:
    subprocess.run([sys.executable, "-c", TOGETHER], cwd=ROOT, check=True, timeout=60)
