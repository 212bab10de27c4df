# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh's direct notification of failures compared with flooding hop by hop: informed nodes, and times."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from controller import Mode, Plan, make_plan
from controller.recovery.notification import (
    Delays,
    Notification,
    NotificationReport,
    propagation_ps,
    spread_over,
)
from harness.sweeps.cases import sample_pairs
from papers.claims import Measured, Progress, Values
from topologies import Fabric, NodeKind, ub_rack
from topologies.families.registry import build

US = 10**6  # in ps

# Step between the links that fail, of a rack's 448; links differ only in dimension and position.
EVERY = 14

MODES: tuple[Mode, ...] = ("direct", "flooding")

# Failed links of the Pod: tiers of both ends (0: NPUs; 1 and 3: LRS), and dimension.
POD_LINKS = {"uplink": (0, 1, None), "plane": (1, 3, None), "racks": (3, 3, 2)}


def job_pairs(fabric: Fabric, pipeline: int | None = None) -> Iterable[tuple[str, str]]:
    """Yield pairs of NPUs that differ in one coordinate: the pairs of an AllReduce by dimensions.

    Along the axis `pipeline`, only neighbours are pairs.
    """
    npus = [node for node in fabric.nodes if node.kind is NodeKind.NPU]
    at = {node.coordinates: node.name for node in npus}
    for node in npus:
        for axis, size in enumerate(fabric.dims):
            first = node.coordinates[axis] + 1
            for value in range(first, min(first + 1, size) if axis == pipeline else size):
                other = (*node.coordinates[:axis], value, *node.coordinates[axis + 1 :])
                yield node.name, at[other]


def _ran(
    plan: Plan, links: Sequence[str], delays: Delays, direct: Mode = "direct"
) -> dict[Mode, list[NotificationReport]]:
    """Return reports of the failure of each link, by mode; `direct`: mode to run as direct notification."""
    told: dict[Mode, Notification] = {
        "direct": Notification(plan, direct, delays),
        "flooding": Notification(plan, "flooding", delays),
    }
    return {name: [of_plan.fail([link]) for link in links] for name, of_plan in told.items()}


def _sizes(plan: Plan, links: Sequence[str], mode: Mode) -> tuple[list[int], list[int]]:
    """Return the numbers of informed nodes after each failure of a link along X, and along Y."""
    told = Notification(plan, mode, Delays())
    result: dict[int, list[int]] = {0: [], 1: []}
    for link in links:
        axis = plan.fabric.link(link).dimension
        assert axis is not None
        result[axis].append(len(told.fail([link]).informed))
    return result[0], result[1]


def _later(ran: dict[Mode, list[NotificationReport]], delays: Delays) -> Measured:
    """Return flooding's propagation time to the last source, as a multiple of direct notification's."""
    bare = {mode: max(propagation_ps(told, delays) for told in ran[mode]) for mode in MODES}
    whole = {mode: max(told.repaired_ps for told in ran[mode]) for mode in MODES}
    ratio = whole["flooding"] / whole["direct"]
    return Measured(bare["flooding"] / max(1, bare["direct"]), detail=f"{ratio:.2f}x from the failure on")


def _messages(ran: dict[Mode, list[NotificationReport]]) -> Measured:
    few, many = (max(item.messages for item in ran[mode]) for mode in MODES)
    return Measured(few / many, detail=f"{few} direct, {many} flooded")


def recovery(
    note: Progress, mode: Mode = "direct", detours: int = 1, processing: int = 0, every: int = EVERY
) -> Values:
    """Compare direct notification with flooding after link failures in a rack: nodes, messages and times.

    Args:
        mode: mode to run as direct notification.
        detours: hops above the fewest, up to which sources use paths.
        processing: processing time of a node in µs, for the delay of direct notification.
        every: step between the links that fail.
    """
    rack = ub_rack()
    links = [link.name for link in (*rack.links[::every], *rack.links[7::every])]
    note("planning", 0.0)
    shortest = make_plan(rack, strategy="shortest")
    two_hops, spread = make_plan(rack), spread_over(shortest, detours)
    result: dict[str, Measured | float] = {}
    note("nodes that know", 0.2)
    along_x, along_y = _sizes(shortest, links, mode)
    words = f"{len(links)} links"
    result |= {"x": Measured(max(along_x), detail=words), "y": Measured(max(along_y), detail=words)}
    orders = _sizes(spread_over(shortest, 0), links, mode)
    result["orders"] = Measured(max(map(max, orders)), detail=words)
    delays = Delays(detect_ps=US, processing_ps=US)
    for number, (name, plan, step) in enumerate((("two-hops", two_hops, 1), ("detours", spread, 4))):
        note(f"direct and flooded: {name}", (5 + number) / 9)
        ran = _ran(plan, links[::step], delays, mode)
        known = [len(item.informed) for item in ran["direct"]]
        result |= {
            name: Measured(min(known) if name == "detours" else max(known), detail=f"{len(known)} links"),
            f"messages-{name}": _messages(ran),
            f"later-{name}": _later(ran, delays),
        }
    note("one message after the other", 7 / 9)
    queued = Delays(detect_ps=US, processing_ps=US, send_ps=US // 10, queued=True)
    result["later-queued"] = _later(_ran(two_hops, links[::8], queued, mode), queued)
    note("one path delay", 8 / 9)
    free = Delays(processing_ps=processing * US)
    told = _ran(two_hops, links[::8], free)["direct"]
    result["delay"] = max(propagation_ps(item, free) for item in told) / 1000
    return result


def recovery_twice(note: Progress) -> Values:
    """Count the pairs of NPUs left with a path over a failed link after two links of a rack have failed."""
    rack = ub_rack()
    links = [link.name for link in rack.links]
    pairs = sample_pairs(links, 60, seed=1)
    delays = Delays(detect_ps=US, processing_ps=US)
    result: dict[str, Measured] = {}
    for strategy in ("shortest", "all-path"):
        note(f"planning {strategy}", 0.0)
        told = Notification(make_plan(rack, strategy=strategy), "direct", delays)
        left = 0
        for number, pair in enumerate(pairs):
            note(f"pairs of links, {strategy}", number / len(pairs))
            left += sum(told.fail(pair, apart_ps=apart).stranded for apart in (0, 10 * US))
        result[strategy] = Measured(left, detail=f"{len(pairs)} pairs, at once and 10 µs apart")
    return result


def recovery_pod(note: Progress, mode: Mode = "direct") -> Values:
    """Compare direct notification with flooding after the failure of one link of each kind in a Pod.

    `mode` is the mode to run as direct notification.
    """
    note("planning 1,024 NPUs", 0.0)
    fabric = build("ub-pod")
    plan = make_plan(fabric, strategy="shortest", peers=job_pairs(fabric))
    delays = Delays(detect_ps=US, processing_ps=US)
    result: dict[str, Measured | float] = {}
    for number, (name, shape) in enumerate(POD_LINKS.items()):
        note(name, (1 + number) / 4)
        link = next(
            link.name
            for link in fabric.links
            if (fabric.node(link.a.node).tier, fabric.node(link.b.node).tier, link.dimension) == shape
        )
        ran = _ran(plan, [link], delays, mode)
        result |= {f"{name}-messages": _messages(ran), f"{name}-later": _later(ran, delays)}
    return result
