# SPDX-License-Identifier: Apache-2.0
"""Execution plans of MSCCL++ whose switch adds up (NVLS), as a collective that switches carry out.

A GPU that carries out `glres` reads a part of the memory of all GPUs through the switch, which adds them up,
and writes the sum to all of them. Here the members send each chunk up a tree, whose root sends the sum down
to all. Copies of a GPU to and from its scratch memory around the sum are proved, and take no time.
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
    """Return whether a switch adds up in a plan."""
    return any(operation.name == SWITCH_SUM for operation in plan.operations())


def check_switch_plan(plan: Plan) -> None:
    """Refuse a plan with a sum in a switch if it is no AllReduce, or moves data between GPUs besides."""
    if plan.collective != "allreduce":
        read_json(plan.path).child("collective").refuse(
            f"collective {plan.collective!r} with {SWITCH_SUM!r}", "give allreduce"
        )
    for operation in plan.operations():
        if operation.name not in _BESIDE:
            operation.item.refuse(
                f"operation {operation.name!r} beside {SWITCH_SUM!r}",
                f"take a plan whose data move by {SWITCH_SUM!r} and copies alone",
            )


def switch_collective(plan: Plan, chunk_bytes: int) -> Imported:
    """Return the AllReduce of a plan whose switch adds up, which has been proved."""
    ranks = len(plan.gpus)
    notes = [
        f"A chunk has {chunk_bytes} bytes; the file has no sizes.",
        "On GPUs a switch reads the memory of all when one asks; here each sends its blocks up.",
        "All begin at the same time, so signals before and after the sums are not sent.",
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
