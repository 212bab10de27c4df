# SPDX-License-Identifier: Apache-2.0
"""Comparison of the collective model with the emulator: times on small meshes, and the error.

The model counts bytes on the busiest link, headers included, and one latency for each stage of a collective.
The latency is fitted to the smallest array on the smallest mesh; all other times are predictions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal, final, get_args

from controller.planner import make_plan
from emulation.traffic.collectives import all_to_all, allreduce_ring, dimension_wise, mesh_ring, on_groups
from emulation.traffic.frames.wire import DATA_HEADER_BYTES
from emulation.traffic.host.transport import TransportParameters
from emulation.traffic.schedule.schedule import Schedule, demand, slice_schedule
from harness.errors import ModelError
from harness.run.planning.job_plan import JobPlan
from harness.run.prepare import Prepared
from harness.run.runner import observe
from harness.scenario.schema import ELEMENT_BYTES, Collective, Routing, Variant
from papers.training.interconnect import DIMENSIONS, Group, mesh
from papers.training.workload import Op
from topologies import Fabric, full_mesh

__all__ = ["CASES", "Case", "Compared", "compare", "predicted_us"]

# A data frame also carries an 8-byte source route.
PAYLOAD_BYTES = 4096
FRAME_BYTES = PAYLOAD_BYTES + DATA_HEADER_BYTES + 8


Kind = Literal["allreduce", "ring", "all-gather", "all-to-all", "pairs"]


@final
@dataclass(frozen=True, slots=True)
class Case:
    """A collective on a small full mesh, predicted by the model and emulated.

    Attributes:
        dims: sizes of the mesh.
        kind: kind of the collective. `allreduce` may use all links of the mesh, `ring` is an AllReduce along
            one ring. `pairs` is an AllReduce of disjoint pairs of neighbours in the first dimension; most of
            its bandwidth is on detours over links that no pair uses directly.
        elements: number of elements of each NPU's array.
    """

    dims: tuple[int, ...]
    kind: Kind
    elements: int

    @property
    def shape(self) -> str:
        joined = "x".join(map(str, self.dims))
        return joined if len(self.dims) > 1 else f"K{joined}"

    @property
    def stages(self) -> int:
        """Number of consecutive stages; the sends of a stage wait for those of the stage before."""
        if self.kind == "ring":
            return 2 * (prod(self.dims) - 1)
        return len(self.group) * (2 if self.kind in ("allreduce", "pairs") else 1)

    @property
    def group(self) -> Group:
        """The group that exchanges data, as the model describes it."""
        sizes = (2,) if self.kind == "pairs" else self.dims
        return tuple((name, size) for (name, _), size in zip(DIMENSIONS, sizes, strict=False))


CASES = tuple(
    Case(dims, kind, elements)
    for dims in ((4,), (8,), (4, 4))
    for kind in get_args(Kind)
    for elements in (1 << 16, 1 << 18, 1 << 20)
)

# Kind -> operation of the model, over all links of the mesh; `ring` has a formula of its own.
OPS = {
    "allreduce": Op.allreduce,
    "all-gather": Op.allgather,
    "all-to-all": Op.alltoall,
    "pairs": Op.allreduce,
}


@final
@dataclass(frozen=True, slots=True)
class Compared:
    """The predicted and the emulated time of a case, in microseconds."""

    case: Case
    predicted_us: float
    emulated_us: float

    @property
    def error_percent(self) -> float:
        return 100 * (self.predicted_us / self.emulated_us - 1)


def predicted_us(case: Case, rate_bps: int, latency: float) -> float:
    """Return the predicted time of a case, in microseconds.

    Args:
        rate_bps: rate of each link in each direction.
        latency: latency of a stage, in microseconds.
    """
    data = case.elements * ELEMENT_BYTES * FRAME_BYTES / PAYLOAD_BYTES
    ranks = prod(case.dims)
    if case.kind == "ring":
        share = 2 * (ranks - 1) / ranks
    else:
        share = mesh(case.dims).share(OPS[case.kind], case.group)
    return data * 8 * share / rate_bps * 1e6 + case.stages * latency


def compare(cases: Sequence[Case] = CASES, latency: float | None = None) -> Iterator[Compared]:
    """Emulate each case, and yield its predicted and its emulated time.

    Args:
        latency: latency of a stage, in microseconds; fitted to the first case if None.

    Raises:
        ModelError: The data of an emulated case are wrong.
    """
    for case in cases:
        fabric = full_mesh(case.dims)
        rate = fabric.links[0].rate_bps
        emulated = _emulated_us(case, fabric)
        if latency is None:
            latency = max(0.0, (emulated - predicted_us(case, rate, 0.0)) / case.stages)
        yield Compared(case, predicted_us(case, rate, latency), emulated)


def _schedule(case: Case) -> Schedule:
    match case.kind:
        case "ring":
            return allreduce_ring(mesh_ring((*case.dims, 1)[:2]), case.elements)
        case "all-to-all":
            return all_to_all(case.dims, case.elements // prod(case.dims))
        case "pairs":
            ranks = prod(case.dims)
            pairs = [(rank, rank + 1) for rank in range(0, ranks, 2)]
            return on_groups(dimension_wise((2,), case.elements), pairs, ranks)
        case kind:
            return dimension_wise(case.dims, case.elements, kind=kind)


def _emulated_us(case: Case, fabric: Fabric) -> float:
    """Return the emulated time in microseconds; `ring` uses shortest paths, other kinds all paths."""
    strategy = "shortest" if case.kind == "ring" else "all-path"
    schedule = _schedule(case)
    names = tuple(node.name for node in fabric.nodes)
    collective = Collective(elements=case.elements, payload_bytes=PAYLOAD_BYTES)
    job = JobPlan(
        name="case",
        begin_ps=0,
        collective=collective,
        members=names,
        sliced=slice_schedule(schedule, PAYLOAD_BYTES // ELEMENT_BYTES),
        bound_ps=round(predicted_us(case, fabric.links[0].rate_bps, 0.0) * 1e6),
    )
    ready = Prepared(
        variant=Variant(name="case", collective=collective, routing=Routing(strategy=strategy)),
        fabric=fabric,
        plan=make_plan(fabric, strategy=strategy, demand=demand(schedule, names, ELEMENT_BYTES)),
        transport=TransportParameters(),
        jobs=(job,),
    )
    seen = observe(ready, 1)
    if seen.correct_nodes != seen.nodes:
        raise ModelError(
            f"{case.shape} {case.kind} of {case.elements} elements ended with wrong data: {seen.first_wrong}",
            remedy="correct the emulation; only times of runs with right data are compared",
        )
    return seen.completion_ps / 1e6
