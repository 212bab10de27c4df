# SPDX-License-Identifier: Apache-2.0
"""Choice of the testbed that runs a variant, and the testbed in virtual time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, final

from emulation.embedded.testbed import EmbeddedTestbed
from emulation.errors import MachineError
from emulation.testbed import WatchableTestbed
from harness.run.estimated_memory import check_memory
from harness.run.prepare import Prepared

__all__ = ["Embedded", "TestbedChoice", "in_one_partition", "processors"]


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class TestbedChoice(Protocol):
    """Maker of testbeds.

    `name` and `switch` stand in the result, `options` in the command that repeats the run; `switch` is empty
    where there is no choice of switches.
    """

    __test__ = False

    @property
    def name(self) -> str:
        """Name of the testbed."""
        ...

    @property
    def switch(self) -> str:
        """Kind of switches."""
        ...

    @property
    def options(self) -> Sequence[str]:
        """Command-line options that choose the testbed."""
        ...

    def check(self, prepared: Sequence[Prepared], *, captures: bool) -> None:
        """Raise a TestbedError if this machine cannot run all variants, before anything is started."""
        ...

    def make(self, ready: Prepared, bin_ps: int, seed: int, *, captures: bool = False) -> WatchableTestbed:
        """Return a testbed for a variant, with bins of `bin_ps`; `captures`: links will be recorded."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Embedded:
    """Virtual time, in this process.

    `threads` run partitions of the fabric at the same time; no result depends on their number, nor on whether
    the fabric stays `whole`.
    """

    name: str = "embedded"
    switch: str = ""
    threads: int = field(default=1, repr=False)  # variants of a run with other threads are kept
    whole: bool = field(default=False, repr=False)

    @property
    def options(self) -> Sequence[str]:
        """None: it is the default."""
        return ()

    def check(self, prepared: Sequence[Prepared], *, captures: bool) -> None:
        """Raise a MachineError if this machine lacks the memory or the processors that a run needs."""
        if self.threads > (available := processors()):
            raise MachineError(
                f"{self.threads} threads: this process may use {available} processors",
                remedy=f"take at most {available}; more threads than processors take longer",
            )
        check_memory(prepared)

    def make(self, ready: Prepared, bin_ps: int, seed: int, *, captures: bool = False) -> EmbeddedTestbed:
        """Return a testbed in virtual time."""
        link = ready.variant.link
        return EmbeddedTestbed(
            ready.fabric,
            credit_bytes=link.credit_bytes,
            scheduler=link.scheduler,
            bin_ps=bin_ps,
            seed=seed,
            network_header=link.network_header,
            threads=self.threads if ready.pool is None and not ready.reduces else 1,
            demand=None if self.whole or not _in_partitions(ready) else ready.demand,
        )


def _in_partitions(ready: Prepared) -> bool:
    """Return whether partitions of the fabric may run on their own in this variant.

    Agents of a pool and members of trees, which are in Python, and jobs whose agents call back need all
    partitions at their time. While a frame of a controller is under way the partitions take turns event by
    event, and hellos are always under way.
    """
    control = ready.variant.control
    alone = control.circuits != "per-job" and control.scheduler == "none" and control.hello_us is None
    return ready.pool is None and not ready.reduces and alone


def in_one_partition(choice: TestbedChoice) -> TestbedChoice:
    """Return the choice of the same testbed with the fabric in one partition, in a single thread."""
    return replace(choice, threads=1, whole=True) if isinstance(choice, Embedded) else choice
