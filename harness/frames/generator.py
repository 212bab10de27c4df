# SPDX-License-Identifier: Apache-2.0
"""Build the data frames of a collective with Scapy, for teaching and for comparison with the C++ agents.

The generator executes the schedule of a scenario's job in lockstep, and builds every data frame that a member
sends. It builds no acknowledgements and no retransmissions. For large traffic use the agents
(`emulation/engine/hosts`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple, final

from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from emulation.traffic.frames.layers import CLH, LPH, NTH, TPH
from emulation.traffic.frames.values import CC_CAPABLE, CFG_CNA16, Combine, Opcode, mac
from emulation.traffic.frames.wire import PSN_MASK
from emulation.traffic.host.connections import ends_of
from emulation.traffic.schedule.dag import check_transfers
from emulation.traffic.schedule.data import Array, element_type, fold
from emulation.traffic.schedule.schedule import Sliced
from harness.errors import ScenarioError
from harness.run.planning.job_plan import JobPlan
from harness.run.prepare import Prepared

__all__ = ["GeneratedFrame", "collective_frames"]

_ITEM_BYTES = 4


@final
class GeneratedFrame(NamedTuple):
    """A data frame, with the node whose host sends it and its step of the schedule."""

    step: int
    node: str
    frame: Packet


def collective_frames(ready: Prepared, inputs: Sequence[Array]) -> Iterator[GeneratedFrame]:
    """Yield the data frames of a variant's job, step by step, ordered by receiver.

    Args:
        ready: A variant with a single job whose traffic is a collective, as `prepare` returns it.
        inputs: Initial array of each rank, as `make_data` returns them.

    Raises:
        ScenarioError: The variant does not have exactly one job, its job is no collective, or it sets
            `connections:`.
    """
    if len(ready.jobs) != 1 or not isinstance(ready.jobs[0].sliced, Sliced):
        raise ScenarioError(
            f"the generator needs a single job with a collective, which variant {ready.variant.name} lacks",
            remedy="name a variant without `jobs:`, `graph:` and `pool:`",
        )
    if ready.transport.connections is not None or ready.jobs[0].connections is not None:
        raise ScenarioError(
            f"the generator supports one connection per pair, but variant {ready.variant.name} sets "
            "`connections:`",
            remedy="name a variant without `connections:`",
        )
    check_transfers(ready.jobs[0].sliced.schedule, "frame of a connection")
    return _Generator(ready, ready.jobs[0], ready.jobs[0].sliced, inputs).frames()


@final
class _Generator:
    """Yields the frames of a schedule: executes it on the arrays of all ranks, step by step.

    `_psn` is the next sequence number of each connection.
    """

    def __init__(self, ready: Prepared, job: JobPlan, sliced: Sliced, inputs: Sequence[Array]) -> None:
        self._names = job.members
        self._addresses = [ready.fabric.node(name).address for name in job.members]
        self._sliced = sliced
        self._transport = ready.transport
        self._rows = [row.copy() for row in inputs]
        self._type = int(element_type(inputs[0]))
        self._psn: dict[tuple[int, int], int] = {}
        ranks = len(self._names)
        self._first_lb = {
            (rank, ends.rank): ends.lbs[0]
            for rank in range(ranks)
            for ends in ends_of(rank, sliced.plans_of(rank), ranks, ready.transport)
        }

    def frames(self) -> Iterator[GeneratedFrame]:
        for step, group in groupby(self._sliced.arrivals, key=lambda arrival: arrival.phase.step):
            after: list[tuple[int, int, Array]] = []
            for arrival in group:
                parts = []
                for source, low in arrival.origins:
                    parts.append((source, self._rows[source][low : low + arrival.length]))
                    for start, length, cell in self._sliced.slices:
                        if low <= start and start + length <= low + arrival.length:
                            offset = start - low + arrival.offset
                            payload = self._rows[source][start : start + length].tobytes()
                            frame = self._frame(
                                source, arrival.target, arrival.phase.op, step, cell, offset, payload
                            )
                            yield GeneratedFrame(step, self._names[source], frame)
                value = parts[0][1].copy()
                if arrival.phase.op is not Combine.COPY:
                    value = self._rows[arrival.target][
                        arrival.offset : arrival.offset + arrival.length
                    ].copy()
                    fold(value, arrival.target, parts)
                after.append((arrival.target, arrival.offset, value))
            for rank, start, value in after:
                self._rows[rank][start : start + value.size] = value

    def _frame(
        self, source: int, target: int, op: Combine, step: int, cell: int, offset: int, payload: bytes
    ) -> Packet:
        transport = self._transport
        sent = self._psn.get((source, target), 0)
        self._psn[source, target] = sent + 1
        scna, dcna = self._addresses[source], self._addresses[target]
        return (
            Ether(dst=mac(dcna), src=mac(scna))
            / LPH(vl=2 * transport.level, cfg=CFG_CNA16, lb_mode=transport.lb_mode)
            / NTH(
                scna=scna,
                dcna=dcna,
                cc=CC_CAPABLE if transport.marks else 0,
                lb=(self._first_lb[source, target] + sent * transport.lb_mode) & 0xFF,
                sl=transport.level,
            )
            # The number of a queue is the rank of its peer.
            / TPH(
                opcode=Opcode.DATA,
                src_q=target,
                dst_q=source,
                psn=(transport.first_psn + sent) & PSN_MASK,
            )
            / CLH(
                job=1,
                op=op,
                dtype=self._type,
                step=step,
                chunk=cell,
                offset=offset * _ITEM_BYTES,
                length=len(payload),
            )
            / Raw(payload)
        )
