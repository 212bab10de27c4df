# SPDX-License-Identifier: Apache-2.0
"""The part of `railyard up` for a Mininet fabric divided among several machines."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from railyard.cli.display.screen import say
from railyard.cli.fabrics.up_mininet import serving

if TYPE_CHECKING:
    from controller.plan.plan import Plan
    from emulation.mininet.cluster.testbed import MachinesTestbed

__all__ = ["keep_machines"]


def keep_machines(testbed: MachinesTestbed, plan: Plan, words: list[str]) -> None:
    """Keep a fabric running on several machines until Ctrl-C, or until the command `words` ends on hosts."""
    from emulation.control.loop import ControlLoop
    from harness.run.boot import booted

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with suppress(KeyboardInterrupt), booted(testbed, plan) as running:
        ControlLoop(testbed, running.client, plan, mode="direct", detect_ps=0, processing_ps=0)
        say(*_welcome(testbed, running.entries))
        with serving(testbed, running) as thread:
            if words:
                before = testbed.carried()
                testbed.launch(words, lambda node, text: say(f"{node}: {text}"), thread.check)
                say(*_account(testbed, before))
            else:
                say("Ctrl-C ends it")
                thread.wait()


def _welcome(testbed: MachinesTestbed, entries: int) -> Iterator[str]:
    switches = f"{len(testbed.fabric.nodes)} switches ({testbed.switch})"
    yield f"{testbed.fabric.name}: {switches}, {entries} table entries"
    yield testbed.division.summary
    for name, clock in testbed.clocks.offsets.items():
        yield (
            f"machine {name}: its wall clock is {clock.wall_ns / 1e6:+.3f} ms from this "
            f"machine's, within {clock.within_ns / 1e6:.3f} ms"
        )
    for node, place in list(testbed.places().items())[:1]:
        yield f"host of {node} on machine {place}"
        yield f"P4Runtime of {node}, device {testbed.device_ids[node]}: {testbed.addresses[node]}"


def _account(testbed: MachinesTestbed, before: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    """Yield a line with the numbers of frames over all links, and over links between machines.

    `before` has the frames of each link before the command.
    """
    crossing = {link.name for link in testbed.division.crossing}
    frames = {link: sum(now) - sum(before[link]) for link, now in testbed.carried().items()}
    between = sum(count for link, count in frames.items() if link in crossing)
    yield f"UB frames: {sum(frames.values())} over links, {between} of them between machines"
