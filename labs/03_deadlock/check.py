# SPDX-License-Identifier: Apache-2.0
"""Check of lab 3: the student's turn rules as a table in every switch of a drawn full mesh."""

from __future__ import annotations

from typing import Any

from controller.deadlock.stages import rules_of_turns
from controller.deadlock.tfc import Analysis, analyse
from controller.deadlock.turn_rules import CLASS_VLS, HOST, Direction, RuleSet
from controller.paths.finder import PathFinder
from controller.plan.entry import hops_of
from controller.tables.turns import turn_entries
from emulation.embedded.testbed import EmbeddedTestbed
from emulation.traffic.host.saturate import steered_frame
from harness.lessons.attempt import Attempt, StudentError, Verdict, failed, passed
from harness.lessons.scripted_host import ScriptedHost
from harness.run.boot import filled, programs_of
from harness.run.saturation import saturate
from topologies import HOST_PORT, Fabric, full_mesh

# Meshes of which the seed draws: small, and no two dimensions of all are alike.
MESHES = ((4, 4), (3, 5), (5, 3), (4, 3), (3, 4))
MAX_HOPS = 3
FRAMES = 12_000
KEPT_PERCENT = 95

DIRECTIONS = tuple(Direction(dimension + 1, up) for dimension in (0, 1) for up in (False, True))


def acyclic(attempt: Attempt) -> Verdict:
    """Build the dependency graph of all paths that the rules admit, and look for a cycle."""
    expected = f"no cycle among the channels of all paths of up to {MAX_HOPS} hops that rules.py admits"
    analysis = _analysis(attempt)
    if not analysis.admitted:
        return failed(
            expected, "rules.py admits no path at all", "rules.py: what it returns for a frame from a host"
        )
    if analysis.cycle:
        waits = " -> ".join(
            f"{channel.link} to {channel.to} on lane {channel.vl}" for channel in analysis.cycle
        )
        return failed(
            expected,
            f"{len(analysis.cycle)} channels wait in a cycle on {_mesh(attempt).name}: {waits}",
            "the turns of this cycle, each with what rules.py returns for it",
        )
    return passed(expected, f"{analysis.channels} channels, {analysis.dependencies} waits, no cycle")


def delivered(attempt: Attempt) -> Verdict:
    """Keep the fabric full of frames on random admitted paths, buffers of a single frame."""
    fabric, rules = _mesh(attempt), _rules(attempt)
    seed = attempt.random("saturation").randrange(2**31)
    expected = f"{FRAMES} of {FRAMES} frames arrive, with room for one frame in each buffer"
    result = saturate(fabric, rules, FRAMES, seed=seed, max_hops=MAX_HOPS)
    observed = f"{result.received} of {FRAMES} frames arrived over {result.paths} paths of {fabric.name}"
    if result.received == FRAMES:
        return passed(expected, observed)
    if result.cycle:
        waits = ", ".join(f"{ends} on lane {vl}" for _, ends, vl in result.cycle)
        observed += f"; then nothing moved any more: {waits}"
        return failed(expected, observed, "the first stage: it names such a cycle before a frame is sent")
    return failed(
        expected, f"{observed}; switches dropped the others", "turns for which rules.py returns None"
    )


def kept(attempt: Attempt) -> Verdict:
    """Send a frame over every path between all pairs, with room for all, and count those that arrive."""
    fabric, rules = _mesh(attempt), _rules(attempt)
    expected = (
        f"a frame over every shortest path, and over {KEPT_PERCENT} % of detours of up to {MAX_HOPS} hops"
    )
    shortest, detours = _paths(fabric)
    arrived = _arrived(fabric, rules, [*shortest, *detours])
    lost = [path for number, path in enumerate(shortest) if number not in arrived]
    kept_detours = sum(number >= len(shortest) for number in arrived)
    observed = (
        f"{len(shortest) - len(lost)} of {len(shortest)} shortest paths and {kept_detours} of {len(detours)} "
        f"detours ({kept_detours / len(detours):.0%}) of {fabric.name}"
    )
    if lost:
        return failed(
            expected,
            f"{observed}; no frame came over {' '.join(lost[0])}",
            "the turns of this path in rules.py",
        )
    if 100 * kept_detours < KEPT_PERCENT * len(detours):
        example = next(path for number, path in enumerate(detours, len(shortest)) if number not in arrived)
        return failed(
            expected, f"{observed}; no frame came over {' '.join(example)}", "turns that rules.py forbids"
        )
    return passed(expected, observed)


def _mesh(attempt: Attempt) -> Fabric:
    dims = attempt.random("mesh").choice(MESHES)
    return attempt.shared("mesh", lambda: full_mesh(dims))


def _analysis(attempt: Attempt) -> Analysis:
    fabric, rules = _mesh(attempt), _rules(attempt)
    return attempt.shared("analysis", lambda: analyse(fabric, rules, MAX_HOPS, refused=False))


def _rules(attempt: Attempt) -> RuleSet:
    """Return the student's rules as a table, asked for once."""
    return attempt.shared("rules", lambda: _tabulated(attempt))


def _tabulated(attempt: Attempt) -> RuleSet:
    turns = [
        (arrives, leaves, lane)
        for arrives in (HOST, *DIRECTIONS)
        for leaves in DIRECTIONS
        for lane in range(1 if arrives == HOST else CLASS_VLS)
    ]
    calls = [(_spelled(arrives), _spelled(leaves), lane) for arrives, leaves, lane in turns]
    answers = attempt.call_each("rules.py", "next_lane", calls)
    table = {}
    for turn, call, lane in zip(turns, calls, answers, strict=True):
        if lane is None:
            continue
        if type(lane) is not int or not 0 <= lane < CLASS_VLS:
            raise StudentError(
                f"next_lane{call} returned {lane!r}, which is neither 0 nor 1 nor None", "rules.py, next_lane"
            )
        table[turn] = lane
    return rules_of_turns("rules.py", _mesh(attempt), table)


def _spelled(direction: Direction) -> dict[str, Any] | None:
    return None if direction == HOST else {"dimension": direction.group - 1, "up": direction.up}


def _paths(fabric: Fabric) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Return the shortest paths of all pairs, and the longer simple paths of up to MAX_HOPS hops."""
    finder = PathFinder(fabric)
    shortest, detours = [], []
    for source in fabric.nodes:
        for target in fabric.nodes:
            paths = [] if source is target else finder.paths_up_to(source.name, target.name, MAX_HOPS)
            least = min(map(len, paths), default=0)
            for path in paths:
                (shortest if len(path) == least else detours).append(path)
    return shortest, detours


def _arrived(fabric: Fabric, rules: RuleSet, paths: list[tuple[str, ...]]) -> set[int]:
    """Send a frame over each path; return the numbers of the paths whose frame reached its end."""
    frames: dict[str, list[bytes]] = {}
    for number, path in enumerate(paths):
        ports = [*(fabric.port_to(*hop) for hop in hops_of(path)), HOST_PORT]
        ends = fabric.node(path[0]).address, fabric.node(path[-1]).address
        frame = steered_frame(*ends, ports, 128)[:-4] + number.to_bytes(4)
        frames.setdefault(path[0], []).append(frame)
    hosts = {name: ScriptedHost(own) for name, own in frames.items()}
    entries = {node.name: turn_entries(rules, fabric, node.name) for node in fabric.nodes}
    testbed = EmbeddedTestbed(fabric, credit_bytes=1 << 22)
    with filled(testbed, programs_of(fabric), entries):
        for name, host in hosts.items():
            testbed.attach(name, host)
        testbed.run()
        return {
            number
            for name, host in hosts.items()
            for _, frame in host.arrived
            if paths[number := int.from_bytes(frame[-4:])][-1] == name
        }
