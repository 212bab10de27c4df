# SPDX-License-Identifier: Apache-2.0
"""Faults of a variant, with their targets found in the fabric."""

from __future__ import annotations

from typing import NoReturn

from emulation import faults
from emulation.targets import find_target
from harness.errors import ScenarioError
from harness.scenario.document import Location
from harness.scenario.loader import Lines
from harness.scenario.schema import Fault, Variant
from topologies import Fabric

__all__ = ["in_order", "planned_faults", "resolved_fault"]


def planned_faults(
    with_line: Lines, at: Location, fabric: Fabric, variant: Variant
) -> tuple[faults.Fault, ...]:
    """Return the faults of a variant in the order of time, with their targets found in the fabric."""
    resolved = [
        with_line((*at, number, fault.target[0]), resolved_fault, fabric, fault)
        for number, fault in enumerate(variant.faults)
    ]
    for number, fault in enumerate(resolved):
        if fault.event == "storm" and variant.link.pfc is None:
            with_line((*at, number, "event"), _refuse_storm)
    for number in faults.unmatched_clears(resolved):
        with_line((*at, number), _refuse, resolved[number])
    return in_order(resolved)


def _refuse_storm() -> NoReturn:
    raise ScenarioError(
        "a storm of pause frames has no effect, because links have no priority flow control",
        remedy="give `pfc:` under `link.queues.data`",
    )


def resolved_fault(fabric: Fabric, chosen: Fault) -> faults.Fault:
    """Convert a scenario's fault to a fault for testbeds, with its target found in the fabric."""
    return faults.Fault(
        at_ps=round(chosen.at_us * 10**6),
        target=find_target(fabric, *chosen.target, chosen.source),
        event=chosen.event,
        **chosen.parameters,
    )


def in_order(resolved: list[faults.Fault]) -> tuple[faults.Fault, ...]:
    """Return faults in the order of time; faults at equal times keep the order of the file."""
    return tuple(sorted(resolved, key=lambda fault: fault.at_ps))


def _refuse(fault: faults.Fault) -> None:
    began = "took it down" if fault.event == "up" else "impaired it"
    raise ScenarioError(
        f"{fault.text} at {fault.at_ps / 10**6:g} us, but no earlier fault of this target {began}",
        remedy="name the target exactly as the earlier fault does, and give a later time",
    )
