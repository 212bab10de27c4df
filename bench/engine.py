"""The built-in switch: packet-hops a second of processor time, in process."""

from __future__ import annotations

from bench.subject import TRANSIT, Transit
from emulation.embedded import EmbeddedTestbed

__all__ = ["packet_hops_per_core_second"]

FRAMES = 400_000


def packet_hops_per_core_second(
    testbed: EmbeddedTestbed, chosen: Transit, *, copy_only: bool = False
) -> float:
    """With `copy_only` the frame is copied and nothing else is done: what no switch can beat."""
    switch = testbed.fabric.node(TRANSIT).index
    seconds = testbed.network.bench(switch, chosen.arrival, chosen.frame, FRAMES, copy_only)
    return FRAMES / seconds
