# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh's direct notification (fault recovery) beside flooding hop by hop: who is told, and how soon."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from controller import Mode, Plan, make_plan
from controller.recovery.notification import Costs, Notification, NotificationReport, bare_ps, spread_over
from harness.sweeps.cases import sample_pairs
from papers.claims import Check, Claim, Measured, Progress, Values
from papers.claims.declare import around, at_least, between, changed, derived, scaled, shifted, stated
from topologies import Fabric, NodeKind, ub_rack
from topologies.families.registry import build

__all__ = ["CHECKS", "job_pairs"]

US = 10**6  # in ps

# Of a rack's 448 links; all are alike but for their dimension and place.
EVERY = 14

MODES: tuple[Mode, ...] = ("direct", "flooding")

# Links of the Pod that fail, by the tiers that they join: 0 NPUs, 1 and 3 LRS.
POD_LINKS = {"uplink": (0, 1, None), "plane": (1, 3, None), "racks": (3, 3, 2)}

_derived = partial(derived, place="UB-Mesh §4.2, worked out here")
_stated = partial(stated, place="UB-Mesh §4.2, Fig. 12")

_FLOODED = changed("flooded", mode="flooding", every=8 * EVERY)
_NEAR = (
    "every source concerned is next to an end of the link: flooding takes one hop to it, and the processing"
    " of the end and of the source is the same both ways"
)
_TWO = (
    "sources two hops from both ends process once where flooding processes twice, and the delay of the links"
    " is the same: the ratio comes near 2 as processing outweighs delay"
)
_QUEUE = "an end tells 21 nodes one after the other, where flooding has it tell 13 neighbours"
_LATER = "flooding repairs the last source later, from the first notice to the last table"

RACK = (
    _derived("x", "nodes that know of a failed link of a board, XY order only", 2, "nodes", _FLOODED),
    _derived("y", "nodes that know of a failed link between boards, XY order only", 16, "nodes", _FLOODED),
    _derived("orders", "nodes that know of a failed link, both orders, most", 16, "nodes", _FLOODED),
    _derived(
        "two-hops", "nodes that know of a failed link, paths of up to two hops, most", 22, "nodes", _FLOODED
    ),
    _derived(
        "detours",
        "nodes that know of a failed link, one-hop detours for all, fewest",
        64,
        "nodes",
        changed("detours for none", detours=0, every=8 * EVERY),
    ),
    _stated(
        "messages-two-hops",
        "messages, direct to flooded, paths of up to two hops",
        "fewer",
        "x",
        _FLOODED,
        holds=between(0, 0.5),
    ),
    _stated(
        "messages-detours",
        "messages, direct to flooded, one-hop detours for all",
        "fewer",
        "x",
        _FLOODED,
        holds=between(0, 0.5),
    ),
    _stated(
        "later-two-hops",
        f"{_LATER}, paths of up to two hops",
        "faster recovery",
        "x",
        scaled(0.5),
        holds=at_least(1.1),
        expected=around(1.0, 0.1),
        reason=_NEAR,
    ),
    _stated(
        "later-detours",
        f"{_LATER}, one-hop detours for all",
        "faster recovery",
        "x",
        _FLOODED,
        holds=at_least(1.1),
        reason=_TWO,
    ),
    _stated(
        "later-queued",
        f"{_LATER}, paths of up to two hops, 0.1 µs a message sent",
        "faster recovery",
        "x",
        _FLOODED,
        holds=at_least(1.1),
        expected=between(0.6, 0.9),
        reason=_QUEUE,
    ),
    _derived(
        "delay",
        "told directly, no processing: first notice to last table",
        between(5, 10),
        "ns",
        changed("1 µs of processing", processing=1, every=8 * EVERY),
        reason="one or two hops of 5 ns",
    ),
)


def job_pairs(fabric: Fabric) -> Iterable[tuple[str, str]]:
    """NPUs that differ in one coordinate: whom an AllReduce by dimensions joins."""
    npus = [node for node in fabric.nodes if node.kind is NodeKind.NPU]
    at = {node.coordinates: node.name for node in npus}
    for node in npus:
        for axis, size in enumerate(fabric.dims):
            for value in range(node.coordinates[axis] + 1, size):
                other = (*node.coordinates[:axis], value, *node.coordinates[axis + 1 :])
                yield node.name, at[other]


def _ran(
    plan: Plan, links: Sequence[str], costs: Costs, direct: Mode = "direct"
) -> dict[Mode, list[NotificationReport]]:
    """Fail each link in turn; `direct` is the mode that stands for direct notification."""
    modes: dict[Mode, Mode] = {"direct": direct, "flooding": "flooding"}
    result: dict[Mode, list[NotificationReport]] = {}
    for name, mode in modes.items():
        of_plan = Notification(plan, mode, costs)
        result[name] = [of_plan.fail([link]) for link in links]
    return result


def _sizes(plan: Plan, links: Sequence[str], mode: Mode) -> tuple[list[int], list[int]]:
    """Return the numbers of nodes that know after the failure of a link along X, and along Y."""
    told = Notification(plan, mode, Costs())
    result: dict[int, list[int]] = {0: [], 1: []}
    for link in links:
        axis = plan.fabric.link(link).dimension
        assert axis is not None
        result[axis].append(len(told.fail([link]).informed))
    return result[0], result[1]


def _later(ran: dict[Mode, list[NotificationReport]], costs: Costs) -> Measured:
    """Return how much later flooding repairs the last source, as a ratio of notification."""
    bare = {mode: max(bare_ps(told, costs) for told in ran[mode]) for mode in MODES}
    whole = {mode: max(told.repaired_ps for told in ran[mode]) for mode in MODES}
    ratio = whole["flooding"] / whole["direct"]
    return Measured(bare["flooding"] / max(1, bare["direct"]), detail=f"{ratio:.2f}x from the failure on")


def _messages(ran: dict[Mode, list[NotificationReport]]) -> Measured:
    few, many = (max(item.messages for item in ran[mode]) for mode in MODES)
    return Measured(few / many, detail=f"{few} direct, {many} flooded")


def _rack(
    note: Progress, mode: Mode = "direct", detours: int = 1, processing: int = 0, every: int = EVERY
) -> Values:
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
    costs = Costs(detect_ps=US, processing_ps=US)
    for number, (name, plan, step) in enumerate((("two-hops", two_hops, 1), ("detours", spread, 4))):
        note(f"direct and flooded: {name}", (5 + number) / 9)
        ran = _ran(plan, links[::step], costs, mode)
        known = [len(item.informed) for item in ran["direct"]]
        result |= {
            name: Measured(min(known) if name == "detours" else max(known), detail=f"{len(known)} links"),
            f"messages-{name}": _messages(ran),
            f"later-{name}": _later(ran, costs),
        }
    note("one message after the other", 7 / 9)
    queued = Costs(detect_ps=US, processing_ps=US, send_ps=US // 10, queued=True)
    result["later-queued"] = _later(_ran(two_hops, links[::8], queued, mode), queued)
    note("one path delay", 8 / 9)
    free = Costs(processing_ps=processing * US)
    told = _ran(two_hops, links[::8], free)["direct"]
    result["delay"] = max(bare_ps(item, free) for item in told) / 1000
    return result


TWICE = tuple(
    _derived(
        strategy,
        f"sources left on a dead path after two failures, told directly: {strategy}",
        0,
        "sources",
        shifted(1),
    )
    for strategy in ("shortest", "all-path")
)


def _second(note: Progress) -> Values:
    rack = ub_rack()
    links = [link.name for link in rack.links]
    pairs = sample_pairs(links, 60, seed=1)
    costs = Costs(detect_ps=US, processing_ps=US)
    result: dict[str, Measured] = {}
    for strategy in ("shortest", "all-path"):
        note(f"planning {strategy}", 0.0)
        told = Notification(make_plan(rack, strategy=strategy), "direct", costs)
        left = 0
        for number, pair in enumerate(pairs):
            note(f"pairs of links, {strategy}", number / len(pairs))
            left += sum(told.fail(pair, apart_ps=apart).stranded for apart in (0, 10 * US))
        result[strategy] = Measured(left, detail=f"{len(pairs)} pairs, at once and 10 µs apart")
    return result


def _pod_claims() -> tuple[Claim, ...]:
    links = {
        "uplink": "from an NPU to an LRS",
        "plane": "between LRS of a plane",
        "racks": "from rack to rack",
    }
    result: list[Claim] = []
    for name, words in links.items():
        result += [
            _stated(
                f"{name}-messages",
                f"Pod, a link {words}: messages, direct to flooded",
                "fewer",
                "x",
                _FLOODED,
                holds=between(0, 0.5),
            ),
            _stated(
                f"{name}-later",
                f"Pod, a link {words}: {_LATER}",
                "faster recovery",
                "x",
                _FLOODED,
                holds=at_least(1.1),
            ),
        ]
    return tuple(result)


def _pod(note: Progress, mode: Mode = "direct", every: int = 1) -> Values:
    """One link of each kind; `every` belongs to the mutation that the rack shares."""
    note("planning 1,024 NPUs", 0.0)
    fabric = build("ub-pod")
    plan = make_plan(fabric, strategy="shortest", peers=job_pairs(fabric))
    costs = Costs(detect_ps=US, processing_ps=US)
    result: dict[str, Measured | float] = {}
    for number, (name, shape) in enumerate(POD_LINKS.items()):
        note(name, (1 + number) / 4)
        link = next(
            link.name
            for link in fabric.links
            if (fabric.node(link.a.node).tier, fabric.node(link.b.node).tier, link.dimension) == shape
        )
        ran = _ran(plan, [link], costs, mode)
        result |= {f"{name}-messages": _messages(ran), f"{name}-later": _later(ran, costs)}
    return result


CHECKS = (
    Check("recovery", "ub-mesh", "direct notification and flooding in a rack", RACK, _rack),
    Check("recovery-twice", "ub-mesh", "two links of a rack fail, told directly", TWICE, _second),
    Check(
        "recovery-pod", "ub-mesh", "direct notification and flooding in a Pod", _pod_claims(), _pod, long=True
    ),
)
