# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh's freedom from deadlock on two lanes, by graphs and by full fabrics; its source-route header."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from papers.claims import Progress
from papers.claims.findings import Finding, FindingsCheck

if TYPE_CHECKING:
    from controller.deadlock.dependency_graph import DependencyGraph
    from lab.run.saturation import SaturationResult

__all__ = ["CHECKS"]

_PAPER = "UB-Mesh, TFC"
_DERIVED = "derived here"
_PUBLISHED = "The paper publishes the outline of its rules and no figures; these rules are this project's."


def _finding(claim: str, expected: str, ours: str, source: str = _DERIVED, reason: str = "") -> Finding:
    """Return the finding of an exact figure: it holds when it is equal."""
    same = expected == ours
    return Finding(claim, source, expected, ours, "holds" if same else "differs", reason if same else "")


def _counts(numbers: Iterable[int]) -> str:
    return " / ".join(f"{number:,}" for number in numbers)


def _in_words(graph: DependencyGraph) -> str:
    from controller.deadlock.dependency_graph import find_cycle

    ends = "cyclic" if find_cycle(graph) else "acyclic"
    return f"{graph.channels:,} channels, {graph.dependencies:,} dependencies, {ends}"


def _run_rules(note: Progress) -> Sequence[Finding]:
    from controller.deadlock.tfc import PathClass, analyse
    from controller.deadlock.turn_rules import rule_set
    from topologies import full_mesh, ub_rack

    note("all paths of a rack", 0.0)
    rack, line, small = ub_rack(), full_mesh([8]), full_mesh([4, 4])
    paths = analyse(rack, rule_set("T2-G", rack))
    note("all detours of a line", 0.3)
    item, two, free = (analyse(line, rule_set(name, line), 2) for name in ("T1-DOR+", "T2-DOR", "single-vl"))
    detours = [f"{result.admitted[PathClass.DETOUR, 2]} of 336" for result in (item, two)]
    shortest = analyse(small, rule_set("single-vl", small), 2)
    return (
        _finding(
            "paths of 1, 2 and 3 hops in a rack",
            "896 / 11,648 / 146,048",
            _counts(paths.count_paths(hops, paths.simple) for hops in (1, 2, 3)),
        ),
        Finding(
            "all-path routing with 2 VLs: all of these paths, in a graph without a cycle",
            _PAPER,
            "2 VLs",
            f"{paths.vls} VLs, {sum(paths.admitted.values()):,} admitted, {_in_words(paths.graph)}",
            "holds" if paths.vls == 2 and paths.admitted == paths.simple and not paths.cycle else "differs",
            _PUBLISHED,
        ),
        _finding(
            "their dependency graph", "1,790 channels, 17,442 dependencies, acyclic", _in_words(paths.graph)
        ),
        _finding(
            "one-hop detours in a line of 8 on 1 VL",
            "224 of 336, acyclic",
            f"{detours[0]}, {_cyclic(item.cycle)}",
        ),
        _finding(
            "one-hop detours in a line of 8 on 2 VLs",
            "336 of 336, acyclic",
            f"{detours[1]}, {_cyclic(two.cycle)}",
        ),
        _finding("all of them on 1 VL", "cyclic", _cyclic(free.cycle)),
        _finding("both orders of 4 x 4 on 1 VL", "96 channels, 288 dependencies, cyclic", _both_orders()),
        _finding("any path of 4 x 4 on 1 VL", "cyclic", _cyclic(shortest.cycle)),
        *_orders_of_dimensions(),
    )


def _cyclic(cycle: Sequence[object]) -> str:
    return "cyclic" if cycle else "acyclic"


def _both_orders() -> str:
    from controller.deadlock.dependency_graph import path_graph
    from controller.deadlock.turn_rules import rule_set
    from controller.routing.paths import PathFinder, distance
    from topologies import full_mesh

    mesh = full_mesh([4, 4])
    finder, names = PathFinder(mesh), [node.name for node in mesh.nodes]
    pairs = [(source, target) for source in names for target in names if source != target]
    paths = [path for pair in pairs for path in finder.paths_of_length(*pair, distance(mesh, *pair))]
    return _in_words(path_graph(mesh, paths, rule_set("single-vl", mesh), entry_vls=(0,)))


def _orders_of_dimensions() -> Iterable[Finding]:
    from controller.deadlock.tfc import admitted_orders
    from controller.deadlock.turn_rules import rule_set
    from topologies import full_mesh

    pod = full_mesh([8, 8, 4, 4], lanes=3)
    result = admitted_orders(pod, rule_set("T2-V", pod))
    yield _finding(
        "orders of 4 dimensions on 2 VLs, all in one group",
        "93.75 %, at least 20 of 24",
        f"{float(100 * result.share):g} %, at least {result.fewest} of {result.orders}",
        reason="With VLs that only rise, no rules can admit all 24 in 8 x 8 x 4 x 4 (derived, not checked).",
    )
    shares: list[Fraction] = []
    for dims in ([8, 8], [8, 8, 4], [8, 8, 4, 4]):
        mesh = full_mesh(dims, lanes=3)
        shares.append(admitted_orders(mesh, rule_set("T1-UD", mesh)).share)
    percent = " / ".join(f"{float(100 * share):g}" for share in shares)
    yield _finding("orders of 2, 3 and 4 dimensions on 1 VL, percent", "75 / 50 / 31.25", percent)


def _run_graphs(note: Progress) -> Sequence[Finding]:
    from controller.deadlock.dependency_graph import permitted_graph
    from controller.deadlock.turn_rules import VlIncrement, rule_set
    from topologies import full_mesh
    from topologies.families.registry import build

    pod = full_mesh([8, 8, 4, 4], lanes=3)
    expected = (
        ("T2-V", VlIncrement.VALLEY, "672,768", ""),
        ("T2-G", VlIncrement.VALLEY, "543,744", ""),
        ("T2-DOR", VlIncrement.STEP, "389,120", "the second lane for a dimension's second hop"),
        ("T2-DOR", VlIncrement.VALLEY, "454,656", "the second lane from a dimension's first valley on"),
    )
    result: list[Finding] = []
    for number, (name, turn, dependencies, how) in enumerate(expected):
        note(f"8 x 8 x 4 x 4, {name}", number / 8)
        rules = replace(rule_set(name, pod), increment=turn)
        graph = permitted_graph(pod, rules, entry_vls=(0,), u_turns=False)
        what = f"all turns of an ideal 8 x 8 x 4 x 4 under {name}" + (f", {how}" if how else "")
        words = f"40,960 channels, {dependencies} dependencies, acyclic"
        result.append(_finding(what, words, _in_words(graph)))
    for number, name in enumerate(("ub-rack-lrs", "ub-pod", "ub-superpod")):
        note(name, (4 + number) / 8)
        fabric = build(name)
        rules = rule_set("T2-G", fabric)
        graph = permitted_graph(fabric, rules)
        words = f"{len(fabric.nodes):,} nodes, {len(fabric.links):,} links: {_in_words(graph)}"
        good = words.endswith(" acyclic")
        result.append(
            Finding(
                f"all turns of {name} with its switches under T2-G, U-turns and responses included",
                _DERIVED,
                "acyclic",
                words,
                "holds" if good else "differs",
            )
        )
    note("one lane", 7 / 8)
    rack = build("ub-rack-lrs")
    free = permitted_graph(rack, rule_set("single-vl", rack), entry_vls=(0,), u_turns=False)
    verdict = _in_words(free).rsplit(" ", 1)[1]
    return (*result, _finding("all turns of ub-rack-lrs on 1 VL", "cyclic", verdict))


def _run_stops(note: Progress) -> Sequence[Finding]:
    note("1 VL", 0.0)
    stopped = _stopped()
    note("2 VLs", 0.2)
    return (
        Finding(
            "4 x 4, any path on 1 VL, lossless and full: it deadlocks",
            _DERIVED,
            "deadlock",
            f"{'deadlock' if stopped.cycle else 'none'}: {stopped.received:,} frames had come, "
            f"{len(stopped.cycle)} buffers wait in a circle",
            "holds" if stopped.cycle else "differs",
        ),
        _never_stops("ub-rack", 200_000, lambda share: note("2 VLs", 0.2 + 0.8 * share)),
    )


def _stopped() -> SaturationResult:
    from lab.run.saturation import saturate
    from topologies import full_mesh

    return saturate(full_mesh((4, 4)), "single-vl", 100_000)


def _stopped_picture() -> str:
    from lab.report.figures.deadlock_cycle import CYCLE_STYLE, cycle_svg
    from topologies import full_mesh

    drawing = cycle_svg(full_mesh((4, 4)), _stopped().cycle)
    return drawing.replace("</title>", f"</title><style>{CYCLE_STYLE}</style>", 1)


def _run_saturation(note: Progress) -> Sequence[Finding]:
    return (
        _never_stops("ub-rack", 10_000_000, lambda share: note("10 million frames", 0.7 * share)),
        _never_stops("ub-rack-lrs", 2_000_000, lambda share: note("through switches", 0.7 + 0.3 * share)),
    )


def _never_stops(name: str, frames: int, progress: Callable[[float], None]) -> Finding:
    from lab.run.saturation import saturate
    from topologies.families.registry import build

    done = saturate(build(name), "T2-G", frames, progress=progress)
    arrived = f"{done.received:,} of {frames:,} frames over {done.paths:,} paths"
    return Finding(
        f"{name}, all paths of 1 to 3 hops at random on 2 VLs, buffers of one frame, full: no stall",
        _PAPER,
        "free of deadlock",
        arrived + (f", then a deadlock of {len(done.cycle)} buffers" if done.cycle else ", none stalled"),
        "holds" if done.received == frames and not done.cycle else "differs",
        _PUBLISHED,
    )


def _run_headers(note: Progress) -> Sequence[Finding]:
    from lab.frames.header_vectors import HOPS, INSTRUCTIONS, put_every_header

    seen = put_every_header(lambda share: note("65,536 headers", share))
    wrong = sum(result != _defined(*header) for header, result in seen.decided.items())
    vectors = [", ".join(map(str, seen.along(bits))) for bits in ((1, 1, 0, 1), (0, 1, 0, 1))]
    seven = [header for header in seen.decided if header[1].bit_count() > 6 and header[0] < 12]
    return (
        _finding("source-route header", "8 bytes", f"{seen.pushed} bytes", "UB-Mesh, All-Path-Routing"),
        _finding("instructions used with a bitmap of 1, 1, 0, 1", "0, 1, tables, 2", vectors[0]),
        _finding("instructions used with a bitmap of 0, 1, 0, 1", "tables, 0, tables, 1", vectors[1]),
        _finding(
            "every bitmap at every ptr: the instruction used is the count of bits set before ptr",
            "65,536 of 65,536 headers",
            f"{len(seen.decided) - wrong:,} of {len(seen.decided):,} headers",
        ),
        _finding("ptr of what leaves", "one more", "one more" if seen.advanced else "something else"),
        _finding(
            "routes of seven steered hops or more refused",
            f"{len(seven):,} of {len(seven):,}",
            f"{seen.drops.get(INSTRUCTIONS, 0):,} of {len(seven):,}",
        ),
        _finding("ptr past 11 refused", f"{4 << 12:,}", f"{seen.drops.get(HOPS, 0):,}"),
    )


def _defined(ptr: int, bitmap: int) -> int | str:
    """Return the decision by the header's definition, computed on strings of bits."""
    bits = f"{bitmap:012b}"
    if ptr > 11 or bits.count("1") > 6:
        return "refused"
    return bits[:ptr].count("1") if bits[ptr] == "1" else "tables"


CHECKS = (
    FindingsCheck("turn-rules", "ub-mesh", "Turn rules: paths admitted, lanes taken, no cycle", _run_rules),
    FindingsCheck("dependency-graphs", "ub-mesh", "Dependency graphs up to the SuperPod", _run_graphs),
    FindingsCheck(
        "deadlock",
        "ub-mesh",
        "A full lossless fabric on one lane and on two",
        _run_stops,
        picture=_stopped_picture,
    ),
    FindingsCheck("saturation", "ub-mesh", "Ten million frames on two lanes", _run_saturation, long=True),
    FindingsCheck("source-route", "ub-mesh", "The source-route header in the P4 program", _run_headers),
)
