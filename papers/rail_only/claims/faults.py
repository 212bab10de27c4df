# SPDX-License-Identifier: Apache-2.0
"""Rail-only's faults, struck on the emulator: who loses the network, and what brings a rail back."""

from __future__ import annotations

from collections.abc import Sequence

from papers.claims import Progress
from papers.claims.findings import Finding, FindingsCheck
from papers.claims.runs import observed

__all__ = ["CHECKS"]

_FAULTS = "Rail-only, fault tolerance"

# The rail switch that the scenarios of experiment 13 kill is that of rank 1.
_RANK = 1


def run_rail_switch(note: Progress) -> Sequence[Finding]:
    """Fail a rail switch under an AllReduce, without and with optical switches below it."""
    bare = observed("13_rail_faults/bare.yaml", note, ("rail",))
    ready, seen = bare["rail"]
    below = [name for name in ready.members if ready.fabric.node(name).coordinates[0] == _RANK]
    only = seen.cut_off.startswith(f"{', '.join(below)} are cut off") and seen.correct_nodes < seen.nodes
    healed = observed("13_rail_faults/scenario.yaml", note, ("rail", "gpu", "domain"))
    _, rail = healed["rail"]
    took = rail.takeovers[0] if rail.takeovers else None
    result = [
        Finding(
            "a rail switch dies: who loses the network between domains",
            _FAULTS,
            "the GPUs below it",
            seen.cut_off.partition(" at ")[0] or "nobody",
            "holds" if only else "differs",
        ),
        Finding(
            "the same with optical switches and an idle rail switch",
            f"{_FAULTS}: optical switches as an idea for later, spare switches as possible",
            "the rail comes back",
            f"{rail.correct_nodes} of {rail.nodes} right, after {took}" if took else "no takeover",
            "holds"
            if took and rail.correct_nodes == rail.nodes and list(took.without) == below
            else "differs",
        ),
    ]
    for name, claim in (
        ("gpu", "a GPU dies and one is idle in its domain: optical switches bring that one to the rail"),
        ("domain", "a domain is lost: the whole domain migrates to an idle one"),
    ):
        _, item = healed[name]
        words = str(item.takeovers[0]) if item.takeovers else "no takeover"
        right = item.takeovers and item.correct_nodes == item.nodes
        result.append(
            Finding(
                claim,
                _FAULTS,
                "the job goes on",
                f"{item.correct_nodes} of {item.nodes} right; {words}",
                "holds" if right else "differs",
            )
        )
    return tuple(result)


CHECKS = (
    FindingsCheck(
        "faults", "rail-only", "A rail switch, a GPU and a domain fail under an AllReduce", run_rail_switch
    ),
)
