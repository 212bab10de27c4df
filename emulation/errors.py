# SPDX-License-Identifier: Apache-2.0
"""Errors of the emulation floor.

RailyardError
└── EmulationError      anything that goes wrong while a fabric is made real
    ├── ProgramError    a compiled P4 program, or a p4info that does not describe it
    ├── FrameError      a malformed frame
    ├── GraphError      an impossible operation of a traffic graph
    ├── TestbedError    an operation that a testbed cannot carry out
    │   └── MachineError    a port, right, program, kernel module or memory that this machine lacks
    ├── CutOffError     a lost NPU that no spare can replace
    ├── DeadlockedError frames of a lossless fabric that wait for each other in a cycle
    └── ThreadsError    a run in several threads that only a single thread can continue
"""

from collections.abc import Mapping
from typing import ClassVar

from topologies.errors import RailyardError

__all__ = [
    "CutOffError",
    "DeadlockedError",
    "EmulationError",
    "FrameError",
    "GraphError",
    "MachineError",
    "ProgramError",
    "TestbedError",
    "ThreadsError",
    "check_ranges",
]


class EmulationError(RailyardError):
    """Something went wrong while a fabric was made real."""


class ProgramError(EmulationError):
    """A compiled P4 program is unusable, or its p4info does not describe it."""


class FrameError(EmulationError):
    """A frame is malformed."""


class GraphError(EmulationError):
    """A traffic graph is impossible.

    `operation` is the list index of the wrong operation, `key` its wrong key; -1 and "" for the whole graph.
    """

    def __init__(self, message: str, *, operation: int = -1, key: str = "", remedy: str = "") -> None:
        self.operation = operation
        self.key = key
        super().__init__(message, remedy=remedy)


class TestbedError(EmulationError):
    """A testbed cannot carry out an operation."""

    __test__ = False  # the name begins with Test, but pytest has nothing to collect here


class MachineError(TestbedError):
    """This machine lacks what a run needs: a free port, a right, a program, a kernel module, memory."""

    of_machine: ClassVar[bool] = True


class DeadlockedError(EmulationError):
    """Frames wait for credits that cannot return.

    `cycle` holds buffers as (link, "from->to", VL): each waits for the next buffer, the last for the first.
    `at_ps` is the time at which the last frame moved.
    """

    def __init__(self, at_ps: int, cycle: tuple[tuple[str, str, int], ...]) -> None:
        self.at_ps = at_ps
        self.cycle = cycle
        links = ", ".join(f"{ends} on VL {vl}" for _, ends, vl in cycle) or "no cycle of links found"
        super().__init__(
            f"deadlock at {at_ps} ps: {links}",
            remedy="route with rules whose channel dependency graph is acyclic, such as T2-G",
        )


class ThreadsError(EmulationError):
    """An event needs all partitions at its own time: only a run in a single thread can provide them."""


class CutOffError(EmulationError):
    """Nodes have lost all their `links` at `at_ps`, and no spare replaces them; `why` is the reason."""

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


def check_ranges(what: str, values: object, ranges: Mapping[str, tuple[int, int]]) -> None:
    """Raise an EmulationError if an attribute of `values` is outside its range; None is in every range.

    `ranges` has the least and the greatest value of each attribute; the message begins with `what`.
    """
    for name, (low, high) in ranges.items():
        value = getattr(values, name)
        if value is not None and not low <= value <= high:
            raise EmulationError(f"{what}: {name} is {value}", remedy=f"use a value from {low} to {high}")
