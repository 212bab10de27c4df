# SPDX-License-Identifier: Apache-2.0
"""Convert MSCCL++ execution plans with reductions in a switch (NVLS) to Railyard's collective in switches.

In MSCCL++, a GPU that executes `glres` reads a part of the memory of all GPUs through the switch; the switch
adds the parts up, and writes the sum to all GPUs. In Railyard, all members send each chunk up a tree of
switches, whose root sends the sum down to all members. Copies within a GPU's memory are checked, and take no
time.
"""

from __future__ import annotations

from typing import Final

from emulation.traffic.graph.operations import ELEMENT_BYTES
from harness.formats.documents import read_json
from harness.formats.imported import Imported
from harness.formats.msccl.plan import SWITCH_SUM, Plan

__all__ = ["adds_in_switch", "check_switch_plan", "switch_collective"]

_BESIDE: Final = frozenset({
    SWITCH_SUM, "copy", "signal", "rlxsignal", "wait", "rlxwait", "nop", "barrier", "flush", "sem_acquire",
    "sem_release",
})  # fmt: skip


def adds_in_switch(plan: Plan) -> bool:
    """Return whether a plan has a reduction in a switch (`glres`)."""
    return any(operation.name == SWITCH_SUM for operation in plan.operations())


def check_switch_plan(plan: Plan) -> None:
    """Raise FormatError if a plan with reductions in a switch cannot be converted.

    The plan must be an AllReduce, and may move data only by `glres` and by copies within a GPU.
    """
    if plan.collective != "allreduce":
        read_json(plan.path).child("collective").refuse(
            f"collective {plan.collective!r} is not supported with {SWITCH_SUM!r}", "give allreduce"
        )
    for operation in plan.operations():
        if operation.name not in _BESIDE:
            operation.item.refuse(
                f"operation {operation.name!r} is not supported in a plan with {SWITCH_SUM!r}",
                f"use a plan that moves data by {SWITCH_SUM!r} and copies only",
            )


def switch_collective(plan: Plan, chunk_bytes: int) -> Imported:
    """Convert a plan to an AllReduce in switches; the caller has checked the plan's result."""
    ranks = len(plan.gpus)
    notes = [
        f"A chunk has {chunk_bytes} bytes; the file gives no size.",
        "NVLS reads the memory of all GPUs on request; Railyard's GPUs send their blocks to the switch.",
        "All GPUs begin at the same time, so signals before and after the sums are not sent.",
    ]
    if any(operation.name == "copy" for operation in plan.operations()):
        notes.append("Copies of a GPU within its own memory take no time.")
    return Imported(
        plan.name,
        None,
        topology={"name": "rail-only", "domains": 2, "hb_size": ranks, "inside": "switch"},
        collective={
            "kind": "allreduce",
            "algorithm": "switch-tree",
            "elements": plan.gpus[0].chunks["i"] * chunk_bytes // ELEMENT_BYTES,
            "members": [f"gpu0..gpu{ranks - 1}"],
        },
        notes=tuple(notes),
    )
