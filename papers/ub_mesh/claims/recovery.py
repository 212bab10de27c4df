# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh's direct notification (fault recovery) beside flooding hop by hop: who is told, and how soon."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from papers.claims import Progress
from papers.claims.findings import Finding, FindingsCheck

if TYPE_CHECKING:
    from controller import Mode, Plan
    from lab.sweeps.notification import Costs, NotificationReport
    from topologies import Fabric

__all__ = ["CHECKS", "job_pairs"]

US = 10**6  # in ps

# Of a rack's 448 links; all are alike but for their dimension and place.
EVERY = 14

MODES: tuple[Mode, ...] = ("direct", "flooding")

# Links of the Pod that fail, by the tiers that they join: 0 NPUs, 1 and 3 LRS.
POD_LINKS = {
    "between NPUs of a board": (0, 0, 0),
    "from an NPU to an LRS": (0, 1, None),
    "between LRS of a plane": (1, 3, None),
    "from rack to rack": (3, 3, 2),
}

TWO_HOPS = "paths of up to two hops (all-path here)"
DETOURS = "one-hop detours for all"

WHY_NOT_TWICE = {
    TWO_HOPS: "every source concerned is next to an end of the link: flooding takes one hop to it, and the "
    "processing of the end and of the source is the same both ways; ",
    DETOURS: "sources two hops from both ends process once where flooding processes twice, and the links' "
    "delay is the same: 2 is what the ratio comes near as processing outweighs delay; ",
}

WHAT_COUNTS = (
    "counted from the first notice to the last table; with the failure's detection and the reaction of the "
    "ends, which no way of telling saves, it is {:.2f}"
)


def job_pairs(fabric: Fabric) -> Iterable[tuple[str, str]]:
    """NPUs that differ in one coordinate: whom an AllReduce by dimensions joins."""
    from topologies import NodeKind

    npus = [node for node in fabric.nodes if node.kind is NodeKind.NPU]
    at = {node.coordinates: node.name for node in npus}
    for node in npus:
        for axis, size in enumerate(fabric.dims):
            for value in range(node.coordinates[axis] + 1, size):
                other = (*node.coordinates[:axis], value, *node.coordinates[axis + 1 :])
                yield node.name, at[other]


def _ran(plan: Plan, links: Sequence[str], costs: Costs) -> dict[Mode, list[NotificationReport]]:
    from lab.sweeps.notification import Notification

    result: dict[Mode, list[NotificationReport]] = {}
    for mode in MODES:
        of_plan = Notification(plan, mode, costs)
        result[mode] = [of_plan.fail([link]) for link in links]
    return result


def _sizes(plan: Plan, links: Sequence[str]) -> str:
    """Nodes that know after the failure of a link, by its dimension; told directly by the controllers."""
    from lab.sweeps.notification import Costs, Notification

    told = Notification(plan, "direct", Costs())
    result: dict[int, set[int]] = {0: set(), 1: set()}
    for link in links:
        axis = plan.fabric.link(link).dimension
        assert axis is not None
        result[axis].add(len(told.fail([link]).informed))
    x, y = (" to ".join(map(str, sorted({min(item), max(item)}))) for item in (result[0], result[1]))
    return x if x == y else f"{x} for X, {y} for Y"


def _ratio(ran: dict[Mode, list[NotificationReport]], costs: Costs) -> tuple[float, float]:
    """Return how much later flooding repairs the last source: as a ratio of notification, and of all."""
    from lab.sweeps.notification import bare_ps

    bare = {mode: max(bare_ps(told, costs) for told in ran[mode]) for mode in MODES}
    whole = {mode: max(told.repaired_ps for told in ran[mode]) for mode in MODES}
    return bare["flooding"] / max(1, bare["direct"]), whole["flooding"] / whole["direct"]


def _rack(note: Progress) -> Sequence[Finding]:
    from controller import make_plan
    from lab.sweeps.notification import Costs, bare_ps, spread_over
    from topologies import ub_rack

    rack = ub_rack()
    links = [link.name for link in rack.links[::EVERY]] + [link.name for link in rack.links[7::EVERY]]
    note("planning", 0.0)
    shortest = make_plan(rack, strategy="shortest")
    plans = {
        "XY order only": (shortest, "2 for X, 16 for Y"),
        "shortest paths, both orders": (spread_over(shortest, 0), "16"),
        TWO_HOPS: (make_plan(rack), "22"),
        DETOURS: (spread_over(shortest, 1), "64"),
    }
    findings: list[Finding] = []
    for number, (name, (plan, expected)) in enumerate(plans.items()):
        note(name, (1 + number) / 9)
        ours = _sizes(plan, links)
        findings.append(
            Finding(
                f"nodes that know of a failed link, told directly: {name}",
                "derived here",
                expected,
                f"{ours}, of {len(links)} links",
                "holds" if ours == expected else "differs",
            )
        )
    costs = Costs(detect_ps=US, processing_ps=US)
    for number, name in enumerate((TWO_HOPS, DETOURS)):
        plan = plans[name][0]
        note(f"direct and flooded: {name}", (5 + number) / 9)
        ran = _ran(plan, links[:: 1 if number == 0 else 4], costs)
        few, many = (max(item.messages for item in ran[mode]) for mode in MODES)
        findings.append(
            Finding(f"messages, {name}", "derived here", "-", f"{few} direct, {many} flooded", "not judged")
        )
        bare, whole = _ratio(ran, costs)
        findings.append(
            Finding(
                f"flooding repairs the last source later, 1 µs of processing a node: {name}",
                "derived here",
                "2 x or more",
                f"{bare:.2f} x",
                "holds" if bare >= 2 else "differs",
                WHY_NOT_TWICE[name] + WHAT_COUNTS.format(whole),
                known=True,
            )
        )
    note("one message after the other", 7 / 9)
    queued = Costs(detect_ps=US, processing_ps=US, send_ps=US // 10, queued=True)
    bare, _ = _ratio(_ran(plans[TWO_HOPS][0], links[::8], queued), queued)
    findings.append(
        Finding(
            "the same, 0.1 µs for each message a node sends",
            "derived here",
            "-",
            f"{bare:.2f} x",
            "not judged",
            "an end tells 21 nodes one after the other, where flooding has it tell 13 neighbours",
        )
    )
    note("one path delay", 8 / 9)
    free = Costs()
    ran = _ran(plans[TWO_HOPS][0], links[::8], free)
    took = max(bare_ps(told, free) for told in ran["direct"])
    delay = rack.links[0].delay_ps
    findings.append(
        Finding(
            "told directly, no processing: one path delay",
            "derived here",
            f"about {delay / 1000:g} ns a hop",
            f"{took / 1000:.2f} ns",
            "holds" if took <= 2 * delay else "differs",
        )
    )
    return findings


def _second(note: Progress) -> Sequence[Finding]:
    from controller import make_plan
    from lab.sweeps.notification import Costs, Notification
    from lab.sweeps.sweep import sample_pairs
    from topologies import ub_rack

    rack = ub_rack()
    links = [link.name for link in rack.links]
    pairs = sample_pairs(links, 60, seed=1)
    costs = Costs(detect_ps=US, processing_ps=US)
    findings: list[Finding] = []
    for strategy in ("shortest", "all-path"):
        note(f"planning {strategy}", 0.0)
        told = Notification(make_plan(rack, strategy=strategy), "direct", costs)
        left = 0
        for number, pair in enumerate(pairs):
            note(f"pairs of links, {strategy}", number / len(pairs))
            left += sum(told.fail(pair, apart_ps=apart).stranded for apart in (0, 10 * US))
        findings.append(
            Finding(
                f"sources left on a dead path after two failures, told directly: {strategy}",
                "derived here",
                "0",
                f"{left}, of {len(pairs)} pairs, at once and 10 µs apart",
                "holds" if not left else "differs",
            )
        )
    return findings


def _pod(note: Progress) -> Sequence[Finding]:
    from controller import make_plan
    from topologies.families.registry import build

    note("planning 1,024 NPUs", 0.0)
    pod = build("ub-pod")
    plan = make_plan(pod, strategy="shortest", peers=job_pairs(pod))
    return _pod_findings(plan, note)


def _pod_findings(plan: Plan, note: Progress) -> Sequence[Finding]:
    from lab.sweeps.notification import Costs

    fabric, costs = plan.fabric, Costs(detect_ps=US, processing_ps=US)
    findings: list[Finding] = []
    for number, (name, shape) in enumerate(POD_LINKS.items()):
        note(name, (1 + number) / 5)
        link = next(
            link.name
            for link in fabric.links
            if (fabric.node(link.a.node).tier, fabric.node(link.b.node).tier, link.dimension) == shape
        )
        ran = _ran(plan, [link], costs)
        (direct,), (flooded,) = ran["direct"], ran["flooding"]
        bare, whole = _ratio(ran, costs)
        later = f"{bare:.2f} x as late" if direct.sources > 2 else "nobody but the ends is concerned"
        findings.append(
            Finding(
                f"Pod, a link {name}: flooding beside direct notification",
                "derived here",
                "-",
                f"{len(direct.informed)} and {len(flooded.informed):,} nodes know, {direct.messages} and "
                f"{flooded.messages:,} messages; {later}",
                "not judged",
                WHAT_COUNTS.format(whole) if direct.sources > 2 else "",
            )
        )
    return findings


CHECKS = (
    FindingsCheck("recovery", "ub-mesh", "direct notification and flooding in a rack", _rack),
    FindingsCheck("recovery-twice", "ub-mesh", "two links of a rack fail, told directly", _second),
    FindingsCheck("recovery-pod", "ub-mesh", "direct notification and flooding in a Pod", _pod, long=True),
)
