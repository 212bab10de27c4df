# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh's freedom from deadlock on two lanes, by graphs and by full fabrics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from controller.deadlock.dependency_graph import DependencyGraph, find_cycle, path_graph, permitted_graph
from controller.deadlock.tfc import PathClass, admitted_orders, analyse
from controller.deadlock.turn_rules import VlIncrement
from controller.paths.finder import PathFinder, distance
from controller.schemes.registry import rule_set
from harness.report.figures.deadlock_cycle import CYCLE_STYLE, cycle_svg
from harness.run.saturation import SaturationResult, saturate
from papers.claims import Check, Measured, Progress, Values
from papers.claims.declare import at_least, changed, derived, stated
from topologies import full_mesh
from topologies.families.registry import build

__all__ = ["CHECKS"]

_PLACE = "UB-Mesh §4.1.3; the paper omits its rules, these are this project's"

_stated = partial(stated, place=_PLACE)
_derived = partial(derived, place=_PLACE)

_ONE_VL = changed("any path on one lane", rules="single-vl")
_SMALLER = changed("boards of 4", size=4)
_UP_DOWN = changed("rules T1-UD", rules="T1-UD")

RULES = (
    *(
        _derived(f"paths-{hops}", f"paths in a rack, hops: {hops}", count, "paths", _SMALLER)
        for hops, count in ((1, 896), (2, 11_648), (3, 146_048))
    ),
    _stated("vls", "lanes of all-path routing, all paths of up to 3 hops", 2, "lanes", _ONE_VL),
    _stated("refused", "paths of up to 3 hops that the rules refuse", 0, "paths", _UP_DOWN),
    _stated("cycle", "channels of the rack's dependency graph on a cycle", 0, "channels", _ONE_VL),
    _derived("channels", "channels of the rack's dependency graph", 1790, "channels", _ONE_VL),
    _derived("dependencies", "dependencies of the rack's graph", 17_442, "dependencies", _ONE_VL),
    _derived("detours-1", "one-hop detours in a line of 8 that one lane admits", 224, "paths", _SMALLER),
    _derived("detours-2", "one-hop detours in a line of 8 that two lanes admit", 336, "paths", _SMALLER),
    _derived(
        "free",
        "channels on a cycle, all detours of a line of 8 on one lane",
        at_least(2),
        "channels",
        changed("rules T1-DOR+ on one lane", free="T1-DOR+"),
    ),
    _derived(
        "orders-dependencies",
        "dependencies of both orders of 4 x 4 on one lane",
        288,
        "dependencies",
        changed("a mesh of 4 x 3", mesh=(4, 3)),
    ),
    _derived(
        "orders-cycle",
        "channels on a cycle, both orders of 4 x 4 on one lane",
        at_least(2),
        "channels",
        changed("rules T2-G", both="T2-G"),
    ),
    _derived(
        "share-2v",
        "orders of 4 dimensions that 2 lanes admit, all in one group",
        93.75,
        "%",
        changed("rules T1-UD", orders="T1-UD"),
        within=0.01,
    ),
    _derived(
        "fewest-2v",
        "orders of 4 dimensions that 2 lanes admit, fewest of a pair",
        20,
        "orders",
        changed("rules T1-UD", orders="T1-UD"),
    ),
    *(
        _derived(
            f"share-{len(dims)}",
            f"orders of {len(dims)} dimensions that one lane admits",
            share,
            "%",
            changed("rules T2-V", up_down="T2-V"),
            within=0.01,
        )
        for dims, share in (((8, 8), 75), ((8, 8, 4), 50), ((8, 8, 4, 4), 31.25))
    ),
)


def _run_rules(
    note: Progress,
    *,
    rules: str = "T2-G",
    size: int = 8,
    mesh: tuple[int, int] = (4, 4),
    free: str = "single-vl",
    both: str = "single-vl",
    orders: str = "T2-V",
    up_down: str = "T1-UD",
) -> Values:
    note("all paths of a rack", 0.0)
    rack, line = full_mesh((size, size)), full_mesh([size])
    paths = analyse(rack, rule_set(rules, rack))
    note("all detours of a line", 0.3)
    first, two, any_path = (analyse(line, rule_set(name, line), 2) for name in ("T1-DOR+", "T2-DOR", free))
    orders_graph = _both_orders(mesh, both)
    pod = full_mesh([8, 8, 4, 4], lanes=3)
    admitted = admitted_orders(pod, rule_set(orders, pod))
    shares: dict[str, float] = {}
    for dims in ([8, 8], [8, 8, 4], [8, 8, 4, 4]):
        fabric = full_mesh(dims, lanes=3)
        share = admitted_orders(fabric, rule_set(up_down, fabric)).share
        shares[f"share-{len(dims)}"] = float(100 * share)
    return {
        **{f"paths-{hops}": paths.count_paths(hops, paths.simple) for hops in (1, 2, 3)},
        "vls": paths.vls,
        "refused": sum(paths.simple.values()) - sum(paths.admitted.values()),
        "cycle": len(paths.cycle),
        "channels": paths.graph.channels,
        "dependencies": paths.graph.dependencies,
        "detours-1": first.admitted[PathClass.DETOUR, 2],
        "detours-2": two.admitted[PathClass.DETOUR, 2],
        "free": len(any_path.cycle),
        "orders-dependencies": orders_graph.dependencies,
        "orders-cycle": len(_cycle(orders_graph)),
        "share-2v": float(100 * admitted.share),
        "fewest-2v": Measured(admitted.fewest, detail=f"of {admitted.orders}"),
        **shares,
    }


def _cycle(graph: DependencyGraph) -> tuple[object, ...]:
    return tuple(find_cycle(graph) or ())


def _both_orders(dims: tuple[int, int], rules: str) -> DependencyGraph:
    mesh = full_mesh(dims)
    finder, names = PathFinder(mesh), [node.name for node in mesh.nodes]
    pairs = [(source, target) for source in names for target in names if source != target]
    paths = [path for pair in pairs for path in finder.paths_of_length(*pair, distance(mesh, *pair))]
    return path_graph(mesh, paths, rule_set(rules, mesh), entry_vls=(0,))


_IDEAL = {
    "t2-v": ("T2-V", "VALLEY", 672_768, ""),
    "t2-g": ("T2-G", "VALLEY", 543_744, ""),
    "t2-dor-step": ("T2-DOR", "STEP", 389_120, ", the second lane for a dimension's second hop"),
    "t2-dor-valley": ("T2-DOR", "VALLEY", 454_656, ", the second lane from a dimension's first valley on"),
}
_FABRICS = ("ub-rack-lrs", "ub-pod", "ub-superpod")

GRAPHS = (
    *(
        claim
        for name, (rules, _, count, how) in _IDEAL.items()
        for claim in (
            _derived(
                name,
                f"dependencies of all turns of 8 x 8 x 4 x 4 under {rules}{how}",
                count,
                "dependencies",
                changed("a last dimension of 3", last=3),
            ),
            _derived(
                f"{name}-cycle",
                f"channels on a cycle of all turns under {rules}{how}",
                0,
                "channels",
                changed("one lane", one_lane=True),
            ),
        )
    ),
    *(
        _derived(
            name,
            f"channels on a cycle, all turns of {name} with its switches under T2-G",
            0,
            "channels",
            changed("one lane", one_lane=True),
        )
        for name in _FABRICS
    ),
)


def _run_graphs(note: Progress, last: int = 4, *, one_lane: bool = False) -> Values:
    pod = full_mesh([8, 8, 4, last], lanes=3)
    result: dict[str, Measured | float] = {}
    for number, (key, (name, turn, _, _)) in enumerate(_IDEAL.items()):
        note(f"8 x 8 x 4 x {last}, {name}", number / 7)
        rules = rule_set("single-vl" if one_lane else name, pod)
        if not one_lane:
            rules = replace(rules, increment=VlIncrement[turn])
        graph = permitted_graph(pod, rules, entry_vls=(0,), u_turns=False)
        result[key] = Measured(graph.dependencies, detail=f"{graph.channels:,} channels")
        result[f"{key}-cycle"] = len(_cycle(graph))
    for number, name in enumerate(_FABRICS):
        note(name, (4 + number) / 7)
        fabric = build(name)
        graph = permitted_graph(fabric, rule_set("single-vl" if one_lane else "T2-G", fabric))
        words = (
            f"{len(fabric.nodes):,} nodes, {graph.channels:,} channels, {graph.dependencies:,} dependencies"
        )
        result[name] = Measured(len(_cycle(graph)), detail=words)
    return result


STOPS = (
    _derived(
        "stopped",
        "buffers that wait in a circle: 4 x 4, any path on one lane, lossless and full",
        at_least(2),
        "buffers",
        changed("rules T2-G", stopped="T2-G"),
    ),
    _stated(
        "lost",
        "frames that stall of 200,000: ub-rack, all paths of up to 3 hops, full buffers",
        0,
        "frames",
        _ONE_VL,
    ),
)


def _run_stops(note: Progress, *, rules: str = "T2-G", stopped: str = "single-vl") -> Values:
    note("1 VL", 0.0)
    circle = _stopped(stopped)
    note("2 VLs", 0.2)
    return {
        "stopped": Measured(len(circle.cycle), detail=f"{circle.received:,} frames had come"),
        "lost": _stalled("ub-rack", 200_000, rules, lambda share: note("2 VLs", 0.2 + 0.8 * share)),
    }


def _stopped(rules: str = "single-vl") -> SaturationResult:
    return saturate(full_mesh((4, 4)), rules, 100_000)


def _stopped_picture() -> str:
    drawing = cycle_svg(full_mesh((4, 4)), _stopped().cycle)
    return drawing.replace("</title>", f"</title><style>{CYCLE_STYLE}</style>", 1)


SATURATION = (
    _stated(
        "ub-rack",
        "frames that stall of ten million: ub-rack, all paths of up to 3 hops, full buffers",
        0,
        "frames",
        _ONE_VL,
    ),
    _stated(
        "ub-rack-lrs", "frames that stall of two million: ub-rack-lrs, through switches", 0, "frames", _ONE_VL
    ),
)


def _run_saturation(note: Progress, *, rules: str = "T2-G") -> Values:
    return {
        "ub-rack": _stalled(
            "ub-rack", 10_000_000, rules, lambda share: note("10 million frames", 0.7 * share)
        ),
        "ub-rack-lrs": _stalled(
            "ub-rack-lrs", 2_000_000, rules, lambda share: note("through switches", 0.7 + 0.3 * share)
        ),
    }


def _stalled(name: str, frames: int, rules: str, progress: Callable[[float], None]) -> Measured:
    """Return the frames that did not arrive."""
    done = saturate(build(name), rules, frames, progress=progress)
    words = f"{done.received:,} of {frames:,} frames over {done.paths:,} paths"
    return Measured(frames - done.received, detail=words)


CHECKS = (
    Check("turn-rules", "ub-mesh", "turn rules: paths admitted, lanes taken, no cycle", RULES, _run_rules),
    Check("dependency-graphs", "ub-mesh", "dependency graphs up to the SuperPod", GRAPHS, _run_graphs),
    Check(
        "deadlock",
        "ub-mesh",
        "a full lossless fabric on one lane and on two",
        STOPS,
        _run_stops,
        picture=_stopped_picture,
    ),
    Check("saturation", "ub-mesh", "ten million frames on two lanes", SATURATION, _run_saturation, long=True),
)
