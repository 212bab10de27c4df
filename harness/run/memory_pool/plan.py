# SPDX-License-Identifier: Apache-2.0
"""Plan of a memory pool, made and checked before the run starts, and the report of its run."""

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
    """Plan of a memory pool.

    Attributes:
        settings: Settings of the pool in the scenario.
        borrowers: Addresses (CNA) of the borrowers.
        lenders: Addresses of the lenders.
        directory: Location of every page and copy.
        names: Names of the nodes by address.
        bound_ps: Lower bound of the time of all operations.
    """

    settings: PoolSettings
    borrowers: tuple[int, ...]
    lenders: tuple[int, ...]
    directory: Directory
    names: Mapping[int, str]
    bound_ps: int

    @property
    def expected_bytes(self) -> int:
        """Bytes of the requests of all operations if every operation were a store."""
        return len(self.borrowers) * self.settings.operations * (HEADER_BYTES + self.settings.size)


@final
@dataclass(frozen=True, slots=True)
class PoolReport:
    """Outcome of a memory pool at the end of a run.

    Attributes:
        end_ps: Time at which the last borrower finished.
        borrowers: Number of borrowers.
        correct: Number of borrowers that finished, and whose values and copies are all correct.
        first_wrong: Description of the first error; empty if there is none.
        gave_up: Reason for which a borrower gave up; empty if none did.
        checksum: CRC-32 of the memory of all nodes.
        operations: Number of operations with a response.
        latency_ps: Mean latency of operations.
        slowest_ps: Latency of the slowest operation.
        lent_bytes: Memory lent to borrowers, with all copies.
        moved_pages: Number of pages that lost a copy.
        lost_lenders: Number of lenders that borrowers gave up.
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
    """Return the plan of a memory pool.

    Raises:
        ScenarioError: Nodes of the fabric cannot lend or borrow as the settings ask.
        EmulationError: The lenders have no room for all pages and copies.
    """
    if has_spares(fabric):
        raise ScenarioError(
            f"{fabric.name} has spares: a takeover restarts the whole run, which a memory pool cannot do",
            remedy="give the topology no spares",
        )
    able = {node.name for node in fabric.nodes if any(port.number == HOST_PORT for port in node.ports)}
    for name in settings.lenders:
        if fabric.node(name).name not in able:
            raise ScenarioError(
                f"the lender {name} has no memory to lend, because it has no host",
                remedy="name CPUs or NPUs as `lenders:`",
            )
    if len(set(settings.lenders)) < len(settings.lenders):
        raise ScenarioError("`lenders:` names a lender twice", remedy="name each lender once")
    borrowers = members_of(fabric, settings.borrowers)
    home = settings.counter_lender or settings.lenders[0]
    if home not in settings.lenders or (settings.counters and home in borrowers):
        why = "borrows" if home in borrowers else "lends nothing"
        raise ScenarioError(
            f"{home} cannot lend the shared counters, because it {why}",
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
    # Lower bound: the request headers of all operations must leave the borrower with the slowest links.
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
