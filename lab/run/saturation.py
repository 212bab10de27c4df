# SPDX-License-Identifier: Apache-2.0
"""A lossless fabric kept full over all paths that turn rules admit, until all is there or nothing moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from controller.deadlock.turn_rules import RuleSet, rule_set, turn_entries
from controller.p4runtime.client import P4RuntimeClient
from controller.routing.paths import PathFinder, hops_of
from emulation.embedded.testbed import EmbeddedTestbed
from emulation.errors import DeadlockedError
from emulation.traffic.host.saturate import Budget, Saturator, steered_frame
from lab.run.boot import programs_of, running
from topologies import HOST_PORT, Fabric

__all__ = ["Saturated", "saturate"]

# More than the buffers near a source hold, so that it always has frames that wait.
_AT_FIRST = 64

# Virtual time between two looks at how far it is.
_LOOK_PS = 20_000_000


@final
@dataclass(frozen=True, slots=True)
class Saturated:
    """What came of it: frames sent and received, when (virtual ps), passes through switches.

    `cycle` holds (link, "from->to", VL) of the deadlock that ended it, and is empty when all frames arrived.
    """

    paths: int
    sent: int
    received: int
    at_ps: int
    hops: int
    cycle: tuple[tuple[str, str, int], ...] = ()


def saturate(
    fabric: Fabric,
    rules: str,
    frames: int,
    *,
    seed: int = 1,
    max_hops: int = 3,
    frame_bytes: int = 128,
    credit_frames: int = 1,
    progress: Callable[[float], None] = lambda share: None,
) -> Saturated:
    """Send `frames` frames over paths taken at random of all that the rules admit, up to `max_hops` hops.

    Their source routes steer them hop by hop, through the compiled P4 program on the embedded testbed. A port
    has room for `credit_frames` of them a VL. `progress` is told the share that has arrived. PlanError for
    more than five hops: a route's sixth instruction is for the node's own side.
    """
    turns = rule_set(rules, fabric)
    choices = _choices(fabric, turns, max_hops, frame_bytes)
    budget = Budget(frames)
    cycle: tuple[tuple[str, str, int], ...] = ()
    testbed = EmbeddedTestbed(fabric, credit_bytes=credit_frames * frame_bytes, seed=seed)
    with running(testbed), P4RuntimeClient(testbed.address) as client:
        client.connect(testbed.device_ids)
        client.push_pipeline(programs_of(fabric))
        client.install({node.name: turn_entries(turns, fabric, node.name) for node in fabric.nodes})
        for number, (name, own) in enumerate(choices.items()):
            testbed.attach(name, Saturator(own, _AT_FIRST, seed * len(choices) + number, budget))
        try:
            until = _LOOK_PS
            while not testbed.run(until):
                progress(budget.received / frames)
                until += _LOOK_PS
        except DeadlockedError as stopped:
            cycle = stopped.cycle
        paths = sum(map(len, choices.values()))
        sent = frames - budget.left
        return Saturated(paths, sent, budget.received, testbed.now_ps, testbed.network.hops, cycle)


def _choices(fabric: Fabric, rules: RuleSet, max_hops: int, frame_bytes: int) -> dict[str, list[bytes]]:
    """By source, a frame for every path that the rules admit."""
    finder = PathFinder(fabric)
    ends = [node for node in fabric.nodes if not node.tier]
    found: dict[str, list[bytes]] = {}
    for source in ends:
        own = found[source.name] = []
        for target in ends:
            for path in finder.paths_up_to(source.name, target.name, max_hops):
                if rules.vls_of(fabric, path) is not None:
                    # At the end of its way it leaves by the port of the node's own side.
                    ports = [*(fabric.port_to(near, far) for near, far in hops_of(path)), HOST_PORT]
                    own.append(steered_frame(source.address, target.address, ports, frame_bytes))
    return found
