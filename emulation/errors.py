# SPDX-License-Identifier: Apache-2.0
"""Errors of the emulation floor.

RailyardError
└── EmulationError      anything that goes wrong while a fabric is made real
    ├── ProgramError    a compiled P4 program, or a p4info that does not describe it
    ├── FrameError      bytes that are not the frame they should be
    ├── TestbedError    a testbed asked for what it cannot do
    ├── CutOffError     an NPU that is gone, and no spare for it
    └── DeadlockedError a lossless fabric in which every waiting frame waits for another
"""

from topologies.errors import RailyardError

__all__ = ["CutOffError", "DeadlockedError", "EmulationError", "FrameError", "ProgramError", "TestbedError"]


class EmulationError(RailyardError):
    """Something went wrong while a fabric was made real."""


class ProgramError(EmulationError):
    """A compiled P4 program is unusable, or its p4info does not describe it."""


class FrameError(EmulationError):
    """Bytes that are not the frame they should be."""


class TestbedError(EmulationError):
    """A testbed was asked for something it cannot do."""

    __test__ = False  # the name begins with Test, but pytest has nothing to collect here


class DeadlockedError(EmulationError):
    """Frames wait for credits that can never come back.

    `cycle` holds (link, "from->to", VL), each waiting for the next and the last for the first;
    `at_ps` is when the last frame moved.
    """

    def __init__(self, at_ps: int, cycle: tuple[tuple[str, str, int], ...]) -> None:
        self.at_ps = at_ps
        self.cycle = cycle
        way = ", ".join(f"{ends} on VL {vl}" for _, ends, vl in cycle) or "no cycle of links found"
        super().__init__(
            f"deadlock at {at_ps} ps: {way}",
            remedy="route with rules whose channel dependency graph is acyclic, such as T2-G",
        )


class CutOffError(EmulationError):
    """Nodes are lost, at `at_ps`, for lack of `links`, and no spare can take the place of one; `why` not."""

    def __init__(
        self,
        at_ps: int,
        nodes: tuple[str, ...],
        why: str,
        *,
        links: str = "link",
        remedy: str = "give the fabric more spare NPUs",
    ) -> None:
        self.at_ps = at_ps
        self.nodes = nodes
        self.why = why
        verb = "is" if len(nodes) == 1 else "are"
        super().__init__(
            f"{', '.join(nodes)} {verb} cut off at {at_ps / 10**6:g} us: no {links} is left, and {why}",
            remedy=remedy,
        )
