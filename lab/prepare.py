# SPDX-License-Identifier: Apache-2.0
"""Everything of a scenario that can be wrong is found here, before anything is started."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar, final

from controller.plan import Plan
from controller.planner import make_plan
from emulation import faults
from emulation.targets import find_target
from emulation.traffic.schedule import Schedule, Sliced, demand, slice_schedule
from emulation.traffic.transport import TransportParameters
from lab.collective import bound_ps, schedule_of
from lab.document import Document, Location
from lab.errors import ScenarioError
from lab.loader import relocated
from lab.scenario import ELEMENT_BYTES, Fault, Scenario, Transport, Variant
from topologies import Fabric, NodeKind, RailyardError
from topologies.catalog import build

__all__ = ["Prepared", "prepare"]

T = TypeVar("T")

# Who takes part in collectives.
_MEMBERS = (NodeKind.NPU, NodeKind.GPU)


@final
@dataclass(frozen=True, slots=True)
class Prepared:
    """One variant with all that its run needs; rank r of the schedule is the NPU or GPU `members[r]`.

    `faults` are those of the variant, found in the fabric, in the order of their times.
    """

    variant: Variant
    fabric: Fabric
    sliced: Sliced
    plan: Plan
    transport: TransportParameters
    bound_ps: int
    members: tuple[str, ...]
    faults: tuple[faults.Fault, ...] = ()

    def with_faults(self, chosen: tuple[Fault, ...]) -> Prepared:
        variant = self.variant.model_copy(update={"faults": chosen})
        found = _in_order([_found(self.fabric, fault) for fault in chosen])
        return replace(self, variant=variant, faults=found)


def prepare(
    scenario: Scenario, document: Document, note: Callable[[str], None] = lambda _: None
) -> tuple[Prepared, ...]:
    """All variants, in their order; a ScenarioError names the line that asks for what cannot be.

    `note` is told the variant whose plan is being made, which can take a second.
    """
    with_line = _Lines(document)
    fabric = with_line(("topology",), lambda: build(scenario.topology.name, **scenario.topology.parameters()))
    members = tuple(node.name for node in fabric.nodes if node.kind in _MEMBERS)
    plans: dict[object, Plan] = {}
    prepared = []
    for index, variant in enumerate(scenario.variants):
        at = ("variants", index)
        struck = _faults(with_line, (*at, "faults"), fabric, variant)
        schedule = with_line((*at, "collective"), lambda chosen=variant: _schedule(fabric, members, chosen))
        sliced = slice_schedule(schedule, variant.collective.payload_bytes // ELEMENT_BYTES)
        transport = with_line((*at, "transport"), lambda chosen=variant.transport: _transport(chosen))
        routing = variant.routing
        routed = (routing.strategy, routing.rules, routing.demand, routing.peers)
        same = (routed, variant.collective, variant.expect)
        if same not in plans:
            note(variant.name)
            plans[same] = with_line(
                (*at, "routing"),
                lambda chosen=variant, traffic=schedule: _plan(fabric, members, chosen, traffic),
            )
        bound = _bound_ps(fabric, members, variant)
        prepared.append(Prepared(variant, fabric, sliced, plans[same], transport, bound, members, struck))
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


def _faults(with_line: _Lines, at: Location, fabric: Fabric, variant: Variant) -> tuple[faults.Fault, ...]:
    found = [
        with_line((*at, number, fault.target[0]), lambda chosen=fault: _found(fabric, chosen))
        for number, fault in enumerate(variant.faults)
    ]
    for number in faults.ends_nothing(found):
        with_line((*at, number), lambda fault=found[number]: _refuse(fault))
    return _in_order(found)


def _found(fabric: Fabric, chosen: Fault) -> faults.Fault:
    return faults.Fault(
        at_ps=round(chosen.at_us * 10**6),
        target=find_target(fabric, *chosen.target, chosen.source),
        event=chosen.event,
        loss=(chosen.percent or 0.0) / 100 if chosen.event == "loss" else 0.0,
        rate=(chosen.percent or 100.0) / 100 if chosen.event == "rate" else 1.0,
        delay_ps=round((chosen.add_ns or 0.0) * 1000),
        period_ps=round((chosen.period_us or 0.0) * 10**6),
        count=chosen.count or 0,
    )


def _in_order(found: list[faults.Fault]) -> tuple[faults.Fault, ...]:
    """By time; what is at the same time stays in the order of the file."""
    return tuple(sorted(found, key=lambda fault: fault.at_ps))


def _refuse(fault: faults.Fault) -> None:
    began = "took it down" if fault.event == "up" else "impaired it"
    raise ScenarioError(
        f"{fault.says} at {fault.at_ps / 10**6:g} us, but no fault of that target {began} before",
        remedy="name the target as the fault does that it ends, and give it a later time",
    )


def _schedule(fabric: Fabric, members: tuple[str, ...], variant: Variant) -> Schedule:
    detours = variant.routing.strategy != "shortest"
    return schedule_of(fabric, members, variant.collective, detours=detours)


def _plan(fabric: Fabric, members: tuple[str, ...], variant: Variant, schedule: Schedule) -> Plan:
    wanted = demand(schedule, members, ELEMENT_BYTES)
    known = variant.routing.demand == "known"
    return make_plan(
        fabric,
        strategy=variant.routing.strategy,
        rules=variant.routing.rules,
        demand=wanted if known else None,
        peers=wanted if variant.routing.peers == "job" else None,
        check=variant.expect != "deadlock",
    )


def _transport(chosen: Transport) -> TransportParameters:
    return TransportParameters(
        window=chosen.window,
        ack_every=min(chosen.ack_every, chosen.window),
        initial_rto_ps=round(chosen.initial_rto_us * 10**6),
        min_rto_ps=round(chosen.min_rto_us * 10**6),
    )


def _bound_ps(fabric: Fabric, members: tuple[str, ...], variant: Variant) -> int:
    return bound_ps(fabric, members, variant.collective, variant.routing.strategy)
