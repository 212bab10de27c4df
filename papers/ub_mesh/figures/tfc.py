# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh's deadlock freedom with two VLs: dependency graphs, and saturated fabrics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations

from controller.deadlock.dependency_graph import DependencyGraph, find_cycle, path_graph, permitted_graph
from controller.deadlock.tfc import PathClass, admitted_orders, analyse
from controller.deadlock.turn_rules import VlIncrement
from controller.paths.finder import PathFinder, distance
from controller.schemes.registry import rule_set
from harness.report.figures.deadlock_cycle import CYCLE_STYLE, cycle_svg
from harness.run.saturation import SaturationResult, saturate
from papers.claims import Measured, Progress, Values
from topologies import full_mesh
from topologies.families.registry import build


def turn_rules(
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
    """Count the paths, VLs, dependencies and cycles of full meshes under turn rules.

    Args:
        rules: turn rules for all paths of up to three hops in a mesh of `size` x `size`.
        size: NPUs of a board, and boards of a rack.
        mesh: dimensions of the mesh whose shortest paths take the dimensions in any order.
        free: turn rules for detours along a board, with a cycle.
        both: turn rules for `mesh`.
        orders: turn rules for the orders of dimensions in a Pod.
        up_down: turn rules for the share of admitted orders in meshes of two to four dimensions.
    """
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
        "orders-cycle": len(find_cycle(orders_graph) or ()),
        "share-2v": float(100 * admitted.share),
        "fewest-2v": Measured(admitted.fewest, detail=f"of {admitted.orders}"),
        **shares,
    }


def _both_orders(dims: tuple[int, int], rules: str) -> DependencyGraph:
    mesh = full_mesh(dims)
    finder, names = PathFinder(mesh), [node.name for node in mesh.nodes]
    pairs = permutations(names, 2)
    paths = [path for pair in pairs for path in finder.paths_of_length(*pair, distance(mesh, *pair))]
    return path_graph(mesh, paths, rule_set(rules, mesh), entry_vls=(0,))


_IDEAL = {
    "t2-v": ("T2-V", "VALLEY"),
    "t2-g": ("T2-G", "VALLEY"),
    "t2-dor-step": ("T2-DOR", "STEP"),
    "t2-dor-valley": ("T2-DOR", "VALLEY"),
}
_FABRICS = ("ub-rack-lrs", "ub-pod", "ub-superpod")


def dependency_graphs(note: Progress, last: int = 4, *, one_lane: bool = False) -> Values:
    """Count the dependencies of a Pod under turn rules, and the channels in cycles up to the SuperPod.

    `last` is the size of the Pod's last dimension. With `one_lane`, all paths use a single VL.
    """
    pod = full_mesh([8, 8, 4, last], lanes=3)
    result: dict[str, Measured | float] = {}
    for number, (key, (name, turn)) in enumerate(_IDEAL.items()):
        note(f"8 x 8 x 4 x {last}, {name}", number / 7)
        rules = rule_set("single-vl" if one_lane else name, pod)
        if not one_lane:
            rules = replace(rules, increment=VlIncrement[turn])
        graph = permitted_graph(pod, rules, entry_vls=(0,), u_turns=False)
        result[key] = Measured(graph.dependencies, detail=f"{graph.channels:,} channels")
        result[f"{key}-cycle"] = len(find_cycle(graph) or ())
    for number, name in enumerate(_FABRICS):
        note(name, (4 + number) / 7)
        fabric = build(name)
        graph = permitted_graph(fabric, rule_set("single-vl" if one_lane else "T2-G", fabric))
        words = (
            f"{len(fabric.nodes):,} nodes, {graph.channels:,} channels, {graph.dependencies:,} dependencies"
        )
        result[name] = Measured(len(find_cycle(graph) or ()), detail=words)
    return result


def deadlock(note: Progress, *, rules: str = "T2-G", stopped: str = "single-vl") -> Values:
    """Count the channels waiting in a cycle in a full mesh, and the undelivered frames of a full rack.

    The mesh has the turn rules `stopped`, by default with one VL; the rack has `rules`, with two VLs.
    """
    note("1 VL", 0.0)
    circle = _stopped(stopped)
    note("2 VLs", 0.2)
    return {
        "stopped": Measured(len(circle.cycle), detail=f"{circle.received:,} frames had come"),
        "lost": _stalled("ub-rack", 200_000, rules, lambda share: note("2 VLs", 0.2 + 0.8 * share)),
    }


def _stopped(rules: str = "single-vl") -> SaturationResult:
    return saturate(full_mesh((4, 4)), rules, 100_000)


def stopped_picture() -> str:
    """Return the cycle of a stopped mesh with one VL as SVG."""
    drawing = cycle_svg(full_mesh((4, 4)), _stopped().cycle)
    return drawing.replace("</title>", f"</title><style>{CYCLE_STYLE}</style>", 1)


def saturation(note: Progress, *, rules: str = "T2-G") -> Values:
    """Count the undelivered frames of two saturated racks: of NPUs alone, and with switches."""
    return {
        "ub-rack": _stalled(
            "ub-rack", 10_000_000, rules, lambda share: note("10 million frames", 0.7 * share)
        ),
        "ub-rack-lrs": _stalled(
            "ub-rack-lrs", 2_000_000, rules, lambda share: note("through switches", 0.7 + 0.3 * share)
        ),
    }


def _stalled(name: str, frames: int, rules: str, progress: Callable[[float], None]) -> Measured:
    """Return the number of undelivered frames in a saturated fabric."""
    done = saturate(build(name), rules, frames, progress=progress)
    words = f"{done.received:,} of {frames:,} frames over {done.paths:,} paths"
    return Measured(frames - done.received, detail=words)
