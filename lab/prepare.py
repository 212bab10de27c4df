"""Everything of a scenario that can be wrong is found here, before anything is started."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar, final

from controller.plan import Plan
from controller.planner import make_plan
from emulation.traffic.collectives import (
    allreduce_bound_ps,
    allreduce_halves,
    allreduce_ring,
    mesh_ring,
    ring_bound_ps,
)
from emulation.traffic.schedule import Schedule, Sliced, demand, slice_schedule
from emulation.traffic.transport import TransportParameters
from lab.document import Document, Location
from lab.loader import relocated
from lab.scenario import ELEMENT_BYTES, Collective, Fault, Scenario, Transport, Variant
from topologies import Fabric, RailyardError
from topologies.catalog import build

__all__ = ["Prepared", "prepare"]

T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True)
class Prepared:
    """One variant with all that its run needs; ranks of the schedule are node indices."""

    variant: Variant
    fabric: Fabric
    sliced: Sliced
    plan: Plan
    transport: TransportParameters
    bound_ps: int

    def with_faults(self, faults: tuple[Fault, ...]) -> Prepared:
        return replace(self, variant=self.variant.model_copy(update={"faults": faults}))


def prepare(
    scenario: Scenario, document: Document, note: Callable[[str], None] = lambda _: None
) -> tuple[Prepared, ...]:
    """All variants, in their order; a ScenarioError names the line that asks for what cannot be.

    `note` is told the variant whose plan is being made, which can take a second.
    """
    with_line = _Lines(document)
    fabric = with_line(("topology",), lambda: build(scenario.topology.name, **scenario.topology.parameters()))
    plans: dict[object, Plan] = {}
    prepared = []
    for index, variant in enumerate(scenario.variants):
        at = ("variants", index)
        for number, fault in enumerate(variant.faults):
            with_line((*at, "faults", number, "link"), lambda name=fault.link: fabric.link(name))
        schedule = with_line((*at, "collective"), lambda chosen=variant.collective: _schedule(fabric, chosen))
        sliced = slice_schedule(schedule, variant.collective.payload_bytes // ELEMENT_BYTES)
        transport = with_line((*at, "transport"), lambda chosen=variant.transport: _transport(chosen))
        same = (variant.routing.strategy, variant.routing.rules, variant.collective)
        if same not in plans:
            note(variant.name)
            plans[same] = with_line(
                (*at, "routing"), lambda chosen=variant, traffic=schedule: _plan(fabric, chosen, traffic)
            )
        bound = _bound_ps(fabric, variant)
        prepared.append(Prepared(variant, fabric, sliced, plans[same], transport, bound))
    return tuple(prepared)


@final
class _Lines:
    """Puts an error of a lower floor on the line of the scenario that caused it."""

    def __init__(self, document: Document) -> None:
        self._document = document

    def __call__(self, location: Location, make: Callable[[], T]) -> T:
        try:
            return make()
        except RailyardError as ex:
            raise relocated(self._document, location, ex) from ex


def _schedule(fabric: Fabric, collective: Collective) -> Schedule:
    if collective.algorithm == "ring":
        return allreduce_ring(mesh_ring(fabric.dims), collective.elements)
    return allreduce_halves(fabric.dims, collective.elements)


def _plan(fabric: Fabric, variant: Variant, schedule: Schedule) -> Plan:
    names = [node.name for node in fabric.nodes]
    return make_plan(
        fabric,
        strategy=variant.routing.strategy,
        rules=variant.routing.rules,
        demand=demand(schedule, names, ELEMENT_BYTES),
    )


def _transport(chosen: Transport) -> TransportParameters:
    return TransportParameters(
        window=chosen.window,
        ack_every=min(TransportParameters().ack_every, chosen.window),
        initial_rto_ps=round(chosen.initial_rto_us * 10**6),
        min_rto_ps=round(chosen.min_rto_us * 10**6),
    )


def _bound_ps(fabric: Fabric, variant: Variant) -> int:
    """A ring is bound to its own links only where routing keeps it to them."""
    rate = min(link.rate_bps for link in fabric.links)
    data_bytes = variant.collective.data_bytes
    if variant.collective.algorithm == "ring" and variant.routing.strategy == "shortest":
        return round(ring_bound_ps(len(fabric.nodes), data_bytes, rate))
    return round(allreduce_bound_ps(fabric.dims, data_bytes, rate))
