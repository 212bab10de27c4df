# SPDX-License-Identifier: Apache-2.0
"""Saturation of a lossless fabric: frames over all admitted paths, until delivery or deadlock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from controller.deadlock.turn_rules import RuleSet
from controller.errors import PlanError
from controller.p4runtime.client import P4RuntimeClient
from controller.paths.finder import PathFinder
from controller.plan.entry import hops_of
from controller.schemes.registry import rule_set
from controller.tables.turns import turn_entries
from emulation._engine import Budget
from emulation.embedded.testbed import EmbeddedTestbed
from emulation.errors import DeadlockedError
from emulation.traffic.host.saturate import Saturator, steered_frame
from harness.run.boot import programs_of, running
from topologies import HOST_PORT, Fabric

__all__ = ["SaturationResult", "saturate"]

# Frames that each source sends at the start: more than the first buffers hold, so some always wait there.
_AT_FIRST = 64

# Virtual time between two reports of progress, in ps.
_LOOK_PS = 20_000_000


@final
@dataclass(frozen=True, slots=True)
class SaturationResult:
    """Result of a saturation.

    Attributes:
        paths: Number of paths that the rules admit.
        sent: Frames sent.
        received: Frames received.
        at_ps: Virtual time of the end.
        hops: Passes of frames through switches.
        cycle: (link, "from->to", VL) of each buffer in the deadlock that ended the run; empty without one.
    """

    paths: int
    sent: int
    received: int
    at_ps: int
    hops: int
    cycle: tuple[tuple[str, str, int], ...] = ()


def saturate(
    fabric: Fabric,
    rules: str | RuleSet,
    frames: int,
    *,
    seed: int = 1,
    max_hops: int = 3,
    frame_bytes: int = 128,
    credit_frames: int = 1,
    progress: Callable[[float], None] = lambda share: None,
) -> SaturationResult:
    """Send frames over random paths admitted by the turn rules, on the embedded testbed.

    Frames carry source routes, which the compiled P4 programs follow.

    Args:
        fabric: Fabric to saturate.
        rules: Turn rules, or their name.
        frames: Number of frames.
        seed: Seed of the choice of paths.
        max_hops: Hops of the longest path, at most five: a route has six instructions, and the last of them
            delivers the frame to the host.
        frame_bytes: Size of a frame.
        credit_frames: Size of a port's receive buffer on each VL, in frames.
        progress: Callback that receives the share of frames that have arrived.

    Raises:
        PlanError: `max_hops` is above five, or an NPU has no path that the rules admit.
    """
    turns = rule_set(rules, fabric) if isinstance(rules, str) else rules
    choices = _choices(fabric, turns, max_hops, frame_bytes)
    for name, own in choices.items():
        if not own:
            raise PlanError(
                f"the turn rules {turns.name} admit no path from {name}",
                remedy="use rules that allow more turns",
            )
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
        return SaturationResult(paths, sent, budget.received, testbed.now_ps, testbed.network.hops, cycle)


def _choices(fabric: Fabric, rules: RuleSet, max_hops: int, frame_bytes: int) -> dict[str, list[bytes]]:
    """Return a frame for every path admitted by the rules, by the name of the path's source."""
    finder = PathFinder(fabric)
    endpoints = list(fabric.endpoints)
    choices: dict[str, list[bytes]] = {}
    for source in endpoints:
        own = choices[source.name] = []
        for target in endpoints:
            for path in finder.paths_up_to(source.name, target.name, max_hops):
                if rules.vls_of(fabric, path) is not None:
                    # The last switch delivers the frame to its host.
                    ports = [*(fabric.port_to(*hop) for hop in hops_of(path)), HOST_PORT]
                    own.append(steered_frame(source.address, target.address, ports, frame_bytes))
    return choices
