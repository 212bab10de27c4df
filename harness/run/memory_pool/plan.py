# SPDX-License-Identifier: Apache-2.0
"""Plan of a memory pool, checked before anything starts, and the values that its run leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from emulation.traffic.memory.extents import Directory, allocate
from emulation.traffic.memory.wire import HEADER_BYTES
from harness.errors import ScenarioError
from harness.run.collectives.grids import members_of
from harness.scenario.traffic.memory_pool import PoolSettings
from topologies import HOST_PORT, Fabric, Link
from topologies.transform.spares import has_spares

__all__ = ["PoolPlan", "PoolReport", "plan_pool"]


@final
@dataclass(frozen=True, slots=True)
class PoolPlan:
    """A pool before a run; nodes are `names` by CNA."""

    settings: PoolSettings
    borrowers: tuple[int, ...]
    lenders: tuple[int, ...]
    directory: Directory
    names: Mapping[int, str]
    bound_ps: int

    @property
    def expected_bytes(self) -> int:
        """Bytes of all requests if each carries data of the size of a store."""
        return len(self.borrowers) * self.settings.operations * (HEADER_BYTES + self.settings.size)


@final
@dataclass(frozen=True, slots=True)
class PoolReport:
    """Outcome of a pool.

    `correct` borrowers have finished, and all values and copies are as they must be; `first_wrong` is the
    first error, and the reason if a borrower could not go on. `moved_pages` lost a copy and went on.
    """

    end_ps: int
    borrowers: int
    correct: int
    first_wrong: str
    gave_up: str
    checksum: int
    operations: int
    latency_ps: float
    slowest_ps: int
    lent_bytes: int
    moved_pages: int
    lost_lenders: int


def plan_pool(fabric: Fabric, settings: PoolSettings) -> PoolPlan:
    """Return the plan of a pool; ScenarioError or EmulationError for what is impossible."""
    if has_spares(fabric):
        raise ScenarioError(
            f"a pool on {fabric.name}, which has spares: a takeover restarts the whole run",
            remedy="give the topology no spares",
        )
    able = {node.name for node in fabric.nodes if any(port.number == HOST_PORT for port in node.ports)}
    for name in settings.lenders:
        if fabric.node(name).name not in able:
            raise ScenarioError(f"{name} has no memory to lend", remedy="name CPUs or NPUs")
    if len(set(settings.lenders)) < len(settings.lenders):
        raise ScenarioError("a lender is named twice", remedy="name each lender once")
    borrowers = members_of(fabric, settings.borrowers)
    home = settings.counter_lender or settings.lenders[0]
    if home not in settings.lenders or (settings.counters and home in borrowers):
        why = "borrows" if home in borrowers else "lends nothing"
        raise ScenarioError(
            f"{home} cannot lend the shared counters: it {why}",
            remedy="name a lender that does not borrow as `counter_lender:`",
        )
    address = {name: fabric.node(name).address for name in (*borrowers, *settings.lenders)}
    directory = allocate(
        [address[name] for name in borrowers],
        [address[name] for name in settings.lenders],
        page_bytes=settings.page_bytes,
        pages=settings.pages,
        copies=settings.copies,
        lent_bytes=settings.lent_kib << 10,
        counters=settings.counters,
        counter_lender=address[home],
    )
    # The headers of its requests have to leave a borrower.
    slowest = min(sum(link.rate_bps for link in _links(fabric, name)) for name in borrowers)
    bits = 8 * HEADER_BYTES * settings.operations
    return PoolPlan(
        settings,
        tuple(address[name] for name in borrowers),
        tuple(address[name] for name in settings.lenders),
        directory,
        {number: name for name, number in address.items()},
        max(1, bits * 10**12 // slowest),
    )


def _links(fabric: Fabric, name: str) -> Sequence[Link]:
    return [link for link in fabric.links if name in (link.a.node, link.b.node)]
